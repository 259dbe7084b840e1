"""What is stored of a scan: bounded rows whose sums add up, shares and skew, and damage that storing survives."""

import random
from collections import defaultdict
from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.keyscan import results, summary
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.details import Detail
from collectors.keyscan.digests import digest, path_digest
from collectors.keyscan.models import Scan, ScanKey, ScanPrefix, ScanShard, ScanState
from collectors.keyscan.prefixes import PrefixRow, PrefixTree
from collectors.keyscan.reasons import Reason
from collectors.keyscan.results import Ending, Found, kept_rows
from collectors.keyscan.shapes import Separators
from collectors.tests.cast import cache_with_nodes

DONE = Ending(ScanState.DONE, Reason.ALL_WALKED, {})
NAMES = st.lists(st.sampled_from([b"a", b"b", b"user", b"7", b"x9", b""]), min_size=1, max_size=5).map(b":".join)


def tree_of(keys: list[tuple[bytes, int]]) -> PrefixTree:
    tree = PrefixTree(6, Separators((b":",)))
    tree.add([name for name, _size in keys], [size for _name, size in keys])
    return tree


def assert_adds_up(rows: list[PrefixRow]) -> None:
    below: dict[tuple[bytes, ...], list[PrefixRow]] = defaultdict(list)
    for row in rows:
        if row.parts:
            below[row.parts[:-1]].append(row)
    whole = {row.parts: row for row in rows}
    for parts, children in below.items():
        assert sum(child.size for child in children) == whole[parts].size
        assert sum(child.keys for child in children) == whole[parts].keys


@given(st.lists(st.tuples(NAMES, st.integers(0, 1_000)), max_size=60), st.integers(1, 30))
@settings(max_examples=80)
def test_kept_prefixes_add_up_however_few_are_kept(keys: list[tuple[bytes, int]], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "PREFIXES_KEPT", limit)
        rows = kept_rows(list(tree_of(keys).rows()))

    assert_adds_up(rows)
    assert len({row.parts for row in rows}) == len(rows)
    assert (rows[0].keys, rows[0].size) == (len(keys), sum(size for _name, size in keys))


def test_the_heaviest_prefixes_are_kept() -> None:
    rows = list(tree_of([(b"light:%c:x" % letter, 1) for letter in b"ghijkl"] + [(b"heavy:x", 900)]).rows())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "PREFIXES_KEPT", 3)
        kept = {row.prefix for row in kept_rows(rows) if not row.is_other}

    assert kept == {b"", b"heavy:", b"heavy:x"}


def test_a_prefix_and_what_is_other_below_it_have_numbers_of_their_own() -> None:
    assert path_digest((b"a:",)) != path_digest((b"a:", b""))
    assert path_digest((b"a:", b"b")) != path_digest((b"a:b",))
    assert -(2**63) <= digest(b"anything") < 2**63


def scan_and_shards(count: int = 1) -> tuple[Scan, list[ScanShard]]:
    cache = cache_with_nodes(count)
    scan = Scan.objects.create(cache=cache)
    nodes = list(cache.nodes.all())
    shards = [
        ScanShard.objects.create(scan=scan, number=number, node=node, address=node.address, checkpoint=b"x")
        for number, node in enumerate(nodes, 1)
    ]
    return scan, shards


def aggregate_of(rows: list[Detail], top: int = 100) -> Aggregate:
    whole = Aggregate(top=top)
    whole.is_full = True
    whole.add([row.key for row in rows], [row.size for row in rows])
    whole.detail(rows)
    return whole


@pytest.mark.django_db
def test_it_stores_a_million_prefixes_in_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "PREFIXES_KEPT", 200)
    dice = random.Random(2)
    names = [
        bytes(dice.choices(b"ghijklmnop", k=8)) + b":" + bytes(dice.choices(b"ghijklmnop", k=4)) for _ in range(20_000)
    ]
    scan, (shard,) = scan_and_shards()
    whole = Aggregate(top=10)
    for first in range(0, len(names), 1_000):
        whole.add(list(names[first : first + 1_000]), [50] * 1_000)

    results.store(scan, [Found(shard, 0, whole)], DONE, {})

    assert scan.prefixes.count() <= 400
    root = scan.prefixes.get(depth=0)
    assert (root.keys, root.size) == (20_000, 1_000_000)


@pytest.mark.django_db
def test_it_stores_the_largest_of_every_shard_type_and_length() -> None:
    scan, shards = scan_and_shards(2)
    first = aggregate_of([Detail(b"a%d" % n, 1_000 + n, "string") for n in range(200)], top=5)
    second = aggregate_of([Detail(b"h%d" % n, 10 + n, "hash", elements=n) for n in range(200)], top=5)

    results.store(scan, [Found(shards[0], 0, first), Found(shards[1], 3, second, in_cluster=True)], DONE, {})

    assert scan.top_keys.filter(shard=1).count() == 5
    hashes = scan.top_keys.filter(shard=2, type="hash").order_by("-size")
    assert [bytes(row.name) for row in hashes] == [b"h199", b"h198", b"h197", b"h196", b"h195"]
    assert (hashes[0].db, hashes[0].elements, hashes[0].slot is not None) == (3, 199, True)
    assert scan.top_keys.filter(shard=1)[0].slot is None


@pytest.mark.django_db
def test_it_frees_nodes_and_checkpoints_at_the_end() -> None:
    scan, (shard,) = scan_and_shards()

    results.store(scan, [Found(shard, 0, Aggregate())], DONE, {"missing": ["OBJECT"]})

    shard.refresh_from_db()
    assert (shard.is_active, shard.checkpoint) == (False, None)
    assert (scan.state, scan.summary["missing"], scan.finished_at is not None) == (ScanState.DONE, ["OBJECT"], True)


@pytest.mark.django_db
def test_storing_again_replaces_what_an_earlier_attempt_wrote() -> None:
    scan, (shard,) = scan_and_shards()

    for size in (10, 20):
        results.store(scan, [Found(shard, 0, aggregate_of([Detail(b"a", size, "string")]))], DONE, {})

    assert [row.size for row in ScanKey.objects.filter(scan=scan)] == [20]
    assert ScanPrefix.objects.filter(scan=scan, depth=0).count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("name", [b"", b"\x00", b"\xff\xfe", b"x" * 524_288, "\u202e".encode(), b"a\nb"])
def test_it_stores_names_of_any_bytes(name: bytes) -> None:
    scan, (shard,) = scan_and_shards()

    results.store(scan, [Found(shard, 0, aggregate_of([Detail(name, 9, "bad\x00type", encoding="\x1b[0m")]))], DONE, {})

    row = ScanKey.objects.get(scan=scan)
    assert bytes(row.name)[:900] == name[:900]
    assert (row.type, row.encoding) == ("bad type", "[0m")


@pytest.mark.django_db
def test_an_earlier_scan_is_one_of_the_same_question() -> None:
    cache = cache_with_nodes(1)

    def made(days: int, state: str = ScanState.DONE, keys: int = 5, **options: object) -> Scan:
        usual: dict[str, object] = {"match": "", "type": "", "shards": []}
        at = timezone.now() - timedelta(days=days)
        return Scan.objects.create(cache=cache, state=state, keys=keys, options={**usual, **options}, created_at=at)

    newest, near, far = made(0), made(1), made(3)
    for other in ({"match": "a*"}, {"type": "hash"}, {"shards": [1]}, {"state": ScanState.FAILED}, {"keys": 0}):
        made(2, **other)

    assert list(newest.before()) == [near, far]
    assert list(far.before()) == []


def test_types_are_counted_among_the_largest_and_estimated_for_the_rest() -> None:
    whole = Aggregate(top=2)
    small = [Detail(b"s%d" % n, 10, "string", -1) for n in range(1_000)]
    giants = [Detail(b"g1", 10**6, "hash", 5), Detail(b"g2", 10**6, "hash", 5)]
    rows = small + giants
    whole.add([row.key for row in rows], [row.size for row in rows])
    whole.entries()
    whole.annotate(giants)
    whole.detail(small[::10])

    found = {row["type"]: row for row in summary.types(whole)}

    assert (found["hash"]["keys"], found["hash"]["bytes"], found["hash"]["without_ttl"]) == (2, 2 * 10**6, 0.0)
    assert (found["string"]["keys"], found["string"]["bytes"]) == (1_000, 10_000)
    assert 0 < found["string"]["keys_error"] < 100


@pytest.mark.parametrize(
    ("sizes", "factor"), [([], None), ([5], None), ([0, 0], None), ([10, 10], 1.0), ([30, 10], 1.5)]
)
def test_skew_is_how_far_the_heaviest_is_above_the_mean(sizes: list[int], factor: float | None) -> None:
    assert summary.skew(sizes) == factor


def test_a_summary_of_nothing_holds_no_surprises() -> None:
    told = summary.summarize(Aggregate())

    assert (told["keys"], told["types"], told["without_ttl"], told["overhead"]) == (0, [], None, None)


def test_the_biggest_of_each_type_and_of_all_are_known_while_it_walks() -> None:
    whole = Aggregate(top=10)
    whole.add([b"a", b"b", b"c"], [1, 2, 9])
    whole.annotate([Detail(b"a", 1, "hash"), Detail(b"b", 2, "set")])

    assert summary.biggest_by_type(whole) == [("", b"c", 9), ("set", b"b", 2), ("hash", b"a", 1)]
    whole.annotate([Detail(b"c", 9, "zset")])
    assert summary.biggest_by_type(whole)[0] == ("zset", b"c", 9)


def test_it_estimates_types_where_all_keys_have_one_size() -> None:
    whole = Aggregate(top=10)
    names = [b"k%d" % number for number in range(2_000)]
    for first in range(0, len(names), 100):
        whole.add(names[first : first + 100], [120] * 100)
        whole.detail([Detail(name, 120, "string", -1) for name in names[first : first + 10]])

    [row] = [row for row in summary.types(whole) if row["type"] == "string"]

    # Those of the ranking whose details were not read have no type.
    assert 1_990 <= row["keys"] <= 2_000
    assert (row["bytes"], row["without_ttl"]) == (120 * row["keys"], 1.0)
