"""Memory by prefix: sums that add up whatever the names are, levels, ids, and bounds."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.keyscan import prefixes
from collectors.keyscan.prefixes import FANOUT, OTHER, PLACES, PrefixRow, PrefixTree, walk
from collectors.keyscan.shapes import Separators, collapse, label

COLON = (b":",)
PARTS = st.sampled_from([b"a", b"b", b"user", b"7", b"42", b"x9", b""])
NAMES = st.lists(PARTS, min_size=1, max_size=5).map(b":".join)
KEYS = st.lists(st.tuples(NAMES, st.integers(1, 10**6)), max_size=60)


def tree_of(keys: Iterable[tuple[bytes, int]], depth: int = 6, batch: int = 7) -> PrefixTree:
    tree, pairs = PrefixTree(depth, Separators(COLON)), list(keys)
    for first in range(0, len(pairs), batch):
        page = pairs[first : first + batch]
        tree.add([name for name, _size in page], [size for _name, size in page])
    return tree


def by_prefix(tree: PrefixTree) -> dict[bytes, PrefixRow]:
    return {row.prefix: row for row in tree.rows() if not row.is_other}


def naive(keys: Sequence[tuple[bytes, int]], depth: int) -> dict[tuple[bytes, ...], tuple[int, int, int]]:
    """Return keys, bytes and the largest by prefix, one name after the other."""
    counts: Counter[tuple[bytes, ...]] = Counter()
    sums: Counter[tuple[bytes, ...]] = Counter()
    largest: dict[tuple[bytes, ...], int] = {}
    for name, size in keys:
        *heads, last = name.split(b":")
        parts = [label(collapse(piece)) + b":" for piece in heads] + ([label(collapse(last))] if last else [])
        for level in range(len(parts[:depth]) + 1):
            place = tuple(parts[:level])
            counts[place] += 1
            sums[place] += size
            largest[place] = max(largest.get(place, 0), size)
    return {place: (counts[place], sums[place], largest[place]) for place in counts}


@given(KEYS, st.integers(1, 6))
def test_it_counts_what_a_naive_walk_counts(keys: list[tuple[bytes, int]], depth: int) -> None:
    rows = {row.parts: (row.keys, row.size, row.largest) for row in tree_of(keys, depth).rows()}

    assert rows == (naive(keys, depth) or {(): (0, 0, 0)})


@given(st.lists(KEYS, min_size=3, max_size=3))
def test_it_merges_in_any_order(parts: list[list[tuple[bytes, int]]]) -> None:
    first, second, third = map(tree_of, parts)
    first.merge(second)
    first.merge(third)
    a, b, c = map(tree_of, parts)
    c.merge(b)
    a.merge(c)

    assert set(first.rows()) == set(a.rows()) == set(tree_of(pair for part in parts for pair in part).rows())


@given(KEYS)
def test_it_comes_back_whole_from_a_checkpoint(keys: list[tuple[bytes, int]]) -> None:
    tree = tree_of(keys)

    again = PrefixTree.of_json(orjson.loads(orjson.dumps(tree.to_json())))

    assert list(again.rows()) == list(tree.rows())
    assert again.places == tree.places


@settings(max_examples=30)
@given(st.lists(st.tuples(st.binary(max_size=60), st.integers(0, 2**40)), max_size=80))
def test_it_adds_up_to_the_whole_with_any_names(keys: list[tuple[bytes, int]]) -> None:
    rows = list(tree_of(keys).rows())

    assert rows[0].keys == len(keys)
    assert rows[0].size == sum(size for _name, size in keys)


def test_it_shows_many_levels_of_one_family() -> None:
    rows = by_prefix(tree_of([(b"shop:%d:cart:%d" % (n, n), 10) for n in range(50)]))

    assert [rows[prefix].keys for prefix in (b"shop:", b"shop:*:", b"shop:*:cart:", b"shop:*:cart:*")] == [50] * 4


def test_it_keeps_a_key_apart_from_the_family_of_its_name() -> None:
    rows = by_prefix(tree_of([(b"user", 5), (b"user:1", 7), (b"user:", 9)]))

    assert (rows[b"user"].size, rows[b"user:"].size, rows[b"user:*"].size) == (5, 16, 7)


def test_it_waits_for_enough_names_to_learn_separators_from() -> None:
    tree = PrefixTree(6)

    for number in range(120):
        tree.add([b"img/%d" % (number * 10 + n) for n in range(10)], [1] * 10)

    assert tree.separators.chosen == (b"/",)
    assert by_prefix(tree)[b"img/*"].keys == 1_200


def test_it_learns_from_a_few_names_when_the_walk_ends_early() -> None:
    tree = PrefixTree(6)
    tree.add([b"a|1", b"a|2"], [1, 2])

    assert by_prefix(tree)[b"a|*"].size == 3


def test_it_learns_on_after_a_checkpoint_that_came_early() -> None:
    tree = PrefixTree(6)
    tree.add([b"plain"], [1])
    tree.note_ttl(b"a/7", True)
    again = PrefixTree.of_json(orjson.loads(orjson.dumps(tree.to_json())))

    again.add([b"a/%d" % n for n in range(1_000)], [1] * 1_000)

    assert again.separators.chosen == (b"/",)
    assert (by_prefix(again)[b"a/*"].keys, by_prefix(again)[b"a/*"].lasting) == (1_000, 1)
    assert by_prefix(again)[b""].keys == 1_001


def test_it_takes_in_what_waited_when_another_node_learnt_first() -> None:
    shared = Separators()
    slow, quick = PrefixTree(6, shared), PrefixTree(6, shared)
    slow.add([b"a:1"], [5])
    quick.add([b"a:%d" % n for n in range(1_000)], [1] * 1_000)

    slow.add([b"a:2"], [5])

    assert by_prefix(slow)[b"a:*"].keys == 2


def test_it_lets_nodes_share_what_was_learnt() -> None:
    shared = Separators()
    first, second = PrefixTree(6, shared), PrefixTree(6, shared)

    first.add([b"a/%d" % n for n in range(1_000)], [1] * 1_000)
    second.add([b"b/1"], [1])

    assert by_prefix(second)[b"b/*"].keys == 1


def test_it_folds_the_names_of_a_level_with_too_many_and_keeps_the_heavy_one() -> None:
    letters = random.Random(1)
    names = [bytes(letters.choices(b"ghijklmnopqrstuvwxyz", k=10)) + b":x" for _ in range(3 * FANOUT)]
    names += [b"user_cache:x"] * FANOUT
    letters.shuffle(names)

    tree = tree_of([(name, 1) for name in names], batch=1_000)

    rows = by_prefix(tree)
    assert set(rows) == {b"", b"*:", b"*:x", b"user_cache:", b"user_cache:x"}
    assert rows[b"user_cache:"].keys == FANOUT
    assert rows[b"*:x"].keys == 3 * FANOUT


def test_it_folds_below_folded_names_too() -> None:
    pairs = [(b"%b:%b" % (word(one), word(two)), 1) for one in range(FANOUT + 5) for two in (one, one + 10_000)]

    rows = by_prefix(tree_of(pairs, batch=500))

    assert set(rows) == {b"", b"*:", b"*:*"}
    assert rows[b"*:*"].keys == len(pairs)


def word(number: int) -> bytes:
    """Return a number in letters that are no hexadecimal."""
    return bytes(ord("g") + int(digit) for digit in str(number + 100_000))


def test_it_stays_within_its_places_when_every_name_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefixes, "PLACES", 500)

    tree = tree_of([(b"%b:%b:%b" % (word(n % 40), word(n), word(n + 7)), 3) for n in range(5_000)], batch=100)

    rows = list(tree.rows())
    # One place for OTHER may come on top, below each place that there is.
    assert tree.places <= 1_000
    assert tree.places == sum(1 for _place in walk(tree.root))
    assert rows[0].size == 15_000
    assert any(row.is_other for row in rows)
    assert sum(row.size for row in rows if len(row.parts) == 1) == 15_000


def test_it_prunes_to_its_places_when_trees_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    first = tree_of([(b"a:" + word(n), n + 1) for n in range(300)])
    second = tree_of([(b"b:" + word(n), n + 1) for n in range(300)])
    monkeypatch.setattr(prefixes, "PLACES", 400)

    first.merge(second)

    rows = by_prefix(first)
    assert first.places <= 400
    assert first.places == sum(1 for _place in walk(first.root))
    assert rows[b""].size == 2 * sum(range(1, 301))
    assert rows[b"a:"].size == sum(range(1, 301))
    assert rows[b"a:" + word(299)].size == 300


def test_it_bounds_a_million_names_that_are_all_different() -> None:
    tree = tree_of(((b"%032x" % (n * 2654435761 % 2**128), 1) for n in range(100_000)), batch=1_000)

    assert tree.places < PLACES
    assert next(iter(tree.rows())).keys == 100_000


def test_it_counts_the_sampled_keys_without_a_ttl() -> None:
    tree = tree_of([(b"user:1", 5), (b"user:2", 5)])

    tree.note_ttl(b"user:1", True)
    tree.note_ttl(b"user:2", False)

    assert (by_prefix(tree)[b"user:*"].sampled, by_prefix(tree)[b"user:*"].lasting) == (2, 1)


def test_it_takes_a_name_of_nothing_but_separators() -> None:
    rows = by_prefix(tree_of([(b":" * 2_000, 5), (b"", 3)], batch=2))

    assert rows[b""].size == 8
    assert rows[b"::::::"].size == 5


def test_it_does_not_take_an_empty_name_for_other() -> None:
    assert not any(row.is_other for row in tree_of([(b"", 3)]).rows())
    assert OTHER not in tree_of([(b"", 3)]).root.children
