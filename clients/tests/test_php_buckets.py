"""The bucket of a reader that decides by itself: PHP's built-in hash is the one that the server has."""

from pathlib import Path

import orjson

from clients.tests.scripts import RunPhp
from switches.tests import test_buckets

FILE = Path(test_buckets.__file__).parent / "murmur3.json"


def test_php_hashes_as_published(run_php: RunPhp) -> None:
    shown = run_php(
        f"""
        $vectors = json_decode(file_get_contents('{FILE}'), true);
        $hashes = [];
        foreach ($vectors['published'] + $vectors['others'] as $data => $expected) {{
            $hashes[] = hash('murmur3a', hex2bin((string) $data)) === $expected;
        }}
        show([count($hashes), array_sum($hashes)]);
        """
    )

    assert shown == [[len(test_buckets.HASHES), len(test_buckets.HASHES)]]


def test_php_finds_the_same_buckets(run_php: RunPhp) -> None:
    shown = run_php(
        f"""
        foreach (json_decode(file_get_contents('{FILE}'), true)['buckets'] as [$key, $name, $expected]) {{
            show(hexdec(hash('murmur3a', "$key:$name")) % 100 + 1);
        }}
        """
    )

    assert shown == [expected for _key, _name, expected in orjson.loads(FILE.read_bytes())["buckets"]]
