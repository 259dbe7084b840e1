"""The commands of a scan as bytes, against the ordinary way of packing them."""

import hiredis
import pytest

from collectors.keyscan.fields import TYPE
from collectors.keyscan.text import biggest, columns, size_text
from collectors.keyscan.wire import Pages, Question, memory_usage, pack

NAMES = (b"", b"a", b"user:1", b"%d %s %%", b"\r\n$5\r\n", b"\x00\xff", b"k" * 255, b"k" * 256, b"k" * 300_000)


@pytest.mark.parametrize("key", NAMES, ids=range(len(NAMES)))
def test_it_packs_one_question_as_anybody_does(key: bytes) -> None:
    assert memory_usage(1000).about([key]) == pack("MEMORY", "USAGE", key, "SAMPLES", "1000")
    assert TYPE.about([key]) == pack("TYPE", key)


def test_it_packs_many_questions_one_after_the_other() -> None:
    packed = memory_usage(0).about(NAMES)

    assert packed == b"".join(pack("MEMORY", "USAGE", key, "SAMPLES", "0") for key in NAMES)


def test_it_keeps_percent_signs_of_the_command() -> None:
    assert Question(b"50%", after=(b"%d",)).about([b"a", b"b"]) == pack("50%", "a", "%d") + pack("50%", "b", "%d")


def test_it_asks_nothing_about_no_keys() -> None:
    assert TYPE.about([]) == b""


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        (Pages(), ["SCAN", "7", "COUNT", "10"]),
        (Pages(b"user:*"), ["SCAN", "7", "COUNT", "10", "MATCH", "user:*"]),
        (Pages(kind="zset"), ["SCAN", "7", "COUNT", "10", "TYPE", "zset"]),
        (Pages(b"\xff*", "hash"), ["SCAN", "7", "COUNT", "10", "MATCH", b"\xff*", "TYPE", "hash"]),
    ],
)
def test_it_asks_for_pages_with_the_filters_of_the_scan(pages: Pages, words: list[bytes | str]) -> None:
    assert pages.ask(b"7", 10) == hiredis.pack_command(tuple(words))  # type: ignore[arg-type]


def test_it_prints_redis_clis_line() -> None:
    line = biggest(0.0322, "string", b"user_cache", 10_000)

    assert line == '[03.22%] Biggest string found so far "user_cache" with 10000 bytes'


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (b'say "hi"', 'say \\"hi\\"'),
        (b"\x1b[31m", "\\x1b[31m"),
        (b"two\nlines", "two\\x0alines"),
        (b"\xff", "\\xff"),
        ("\u202etxt".encode(), "\\xe2\\x80\\xaetxt"),
    ],
)
def test_it_prints_hostile_names_harmlessly(key: bytes, shown: str) -> None:
    assert f'"{shown}"' in biggest(0.5, "hash", key, 1)


def test_it_cuts_names_of_half_a_megabyte() -> None:
    assert len(biggest(0.5, "hash", b"k" * 512 * 1024, 1)) < 300


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (1024, "1.00 KiB"), (5 << 30, "5.00 GiB"), (1 << 60, "1,048,576.00 TiB")],
)
def test_it_writes_sizes_in_the_unit_that_fits(size: int, text: str) -> None:
    assert size_text(size) == text


def test_it_aligns_columns() -> None:
    assert columns([["bytes", "key"], ["1", "a"], ["1,000", "bb"]], "rl") == ["bytes  key", "    1  a", "1,000  bb"]
