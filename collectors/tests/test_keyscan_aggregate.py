"""One walk's sums: the largest keys exactly, estimates with errors, checkpoints, merging over nodes."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.keyscan.aggregate import Aggregate, UnreadableStateError
from collectors.keyscan.details import Detail, Details, rest, share, slot_of
from collectors.keyscan.histograms import Band, Histogram
from collectors.keyscan.names import is_cut
from collectors.keyscan.repeats import WATCHED, Repeats
from collectors.keyscan.top import Top

PAIRS = st.lists(st.tuples(st.binary(max_size=6), st.integers(0, 50)), max_size=120)


def ranked(pairs: Sequence[tuple[bytes, int]], limit: int) -> list[tuple[bytes, int]]:
    """Return the largest as a person would find them: each name once, with the largest number it had."""
    largest: dict[bytes, int] = {}
    for name, number in pairs:
        largest[name] = max(number, largest.get(name, 0))
    return sorted(largest.items(), key=lambda item: (-item[1], item[0]))[:limit]


def top_of(pairs: Sequence[tuple[bytes, int]], limit: int, batch: int = 5) -> Top:
    top = Top(limit)
    for first in range(0, len(pairs), batch):
        page = pairs[first : first + batch]
        top.add([name for name, _number in page], [number for _name, number in page])
    return top


def aggregate_of(pairs: Sequence[tuple[bytes, int | None]], top: int = 10) -> Aggregate:
    whole = Aggregate(top=top)
    for first in range(0, len(pairs), 10):
        page = pairs[first : first + 10]
        whole.add([name for name, _size in page], [size for _name, size in page])
    return whole


@given(PAIRS, st.integers(0, 20))
def test_it_ranks_as_sorting_everything_would(pairs: list[tuple[bytes, int]], limit: int) -> None:
    assert top_of(pairs, limit).entries() == ranked(pairs, limit)


def test_it_ranks_exactly_when_it_sorts_out_many_times() -> None:
    dice = random.Random(3)
    pairs = [(b"%d" % dice.randrange(4_000), dice.randrange(300)) for _ in range(20_000)]

    assert top_of(pairs, 50, batch=100).entries() == ranked(pairs, 50)


@given(st.lists(PAIRS, min_size=3, max_size=3), st.integers(1, 10))
def test_it_merges_rankings_in_any_order(parts: list[list[tuple[bytes, int]]], limit: int) -> None:
    left, right = top_of(parts[0], limit), top_of(parts[2], limit)
    left.merge(top_of(parts[1], limit))
    left.merge(top_of(parts[2], limit))
    right.merge(top_of(parts[1], limit))
    right.merge(top_of(parts[0], limit))

    assert left.entries() == right.entries() == ranked([pair for part in parts for pair in part], limit)


def test_it_holds_names_of_bounded_length() -> None:
    top = Top(3)

    top.add([b"x" * 524_288, b"y"], [9, 5])

    (long, _number), _short = top.entries()
    assert is_cut(long)
    assert len(long) < 1_100


@given(st.lists(st.integers(0, 2**62), max_size=50))
def test_it_counts_every_value_in_the_band_it_lies_in(values: list[int]) -> None:
    histogram = Histogram()
    histogram.add(values)

    for band in histogram.bands():
        assert band.count == sum(band.least <= value < band.below for value in values)
    assert histogram.total == len(values)


def test_it_shows_bands_without_values_between_others() -> None:
    histogram = Histogram()
    histogram.add([1, 5])

    assert histogram.bands() == [Band(1, 2, 1), Band(2, 4, 0), Band(4, 8, 1)]


@pytest.mark.parametrize(("bits", "count"), [(0, 4), (10, 2), (11, 1), (30, 0)])
def test_it_counts_values_from_a_power_of_two_on(bits: int, count: int) -> None:
    histogram = Histogram()
    histogram.add([0, 1, 1_023, 1_024, 5_000])

    assert histogram.at_least(bits) == count


@settings(max_examples=50)
@given(st.lists(st.tuples(st.binary(max_size=8), st.none() | st.integers(0, 2**40)), max_size=80))
def test_it_adds_up_keys_and_bytes_and_those_that_vanished(pairs: list[tuple[bytes, int | None]]) -> None:
    whole = aggregate_of(pairs)

    sizes = [size for _name, size in pairs if size is not None]
    assert (whole.keys, whole.bytes, whole.vanished) == (len(sizes), sum(sizes), len(pairs) - len(sizes))
    assert next(iter(whole.prefixes.rows())).size == whole.bytes
    assert whole.sizes.total == whole.keys


@settings(max_examples=40)
@given(st.lists(PAIRS, min_size=2, max_size=2))
def test_it_merges_nodes_to_what_one_walk_would_have_found(parts: list[list[tuple[bytes, int]]]) -> None:
    merged, other = aggregate_of(parts[0]), aggregate_of(parts[1])
    merged.merge(other)

    whole = aggregate_of(parts[0] + parts[1])
    assert (merged.keys, merged.bytes) == (whole.keys, whole.bytes)
    assert merged.entries() == whole.entries()
    assert merged.sizes.counts == whole.sizes.counts


@settings(max_examples=40)
@given(PAIRS)
def test_it_goes_on_from_a_checkpoint_as_if_nothing_had_been(pairs: list[tuple[bytes, int]]) -> None:
    half = len(pairs) // 2
    stopped = Aggregate.from_state(aggregate_of(pairs[:half]).state())
    stopped.add([name for name, _size in pairs[half:]], [size for _name, size in pairs[half:]])

    straight = aggregate_of(pairs)
    assert stopped.entries() == straight.entries()
    assert set(stopped.prefixes.rows()) == set(straight.prefixes.rows())
    assert (stopped.keys, stopped.bytes) == (straight.keys, straight.bytes)


def test_it_keeps_everything_in_a_checkpoint() -> None:
    whole = aggregate_of([(b"a:%d" % n, n) for n in range(50)])
    whole.add([b"giant"], [10**9], inexact=[b"giant"])
    whole.detail([Detail(b"a:1", 1, "string", -1, 5, "raw", 100, 3), Detail(b"giant", 10**9, "hash", 9_000)])

    again = Aggregate.from_state(whole.state())

    assert again.entries() == whole.entries()
    assert not again.entries()[0].is_exact
    assert again.entries("hash") == whole.entries("hash") != []
    assert again.details.to_json() == whole.details.to_json()


@pytest.mark.parametrize("damaged", [b"", b"nonsense", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_it_refuses_a_damaged_checkpoint(damaged: bytes) -> None:
    with pytest.raises(UnreadableStateError):
        Aggregate.from_state(damaged)


def test_it_writes_checkpoints_of_bounded_size() -> None:
    whole = Aggregate(top=1_000)
    for page in range(100):
        names = [
            b"%d:%032x" % (page, n * 2654435761 % 2**128) + b"x" * 900 for n in range(page * 100, page * 100 + 100)
        ]
        whole.add(names, list(range(1, 101)))

    assert len(whole.state()) < 8_000_000


def test_it_takes_an_empty_page() -> None:
    whole = aggregate_of([])
    whole.add([], [])

    assert (whole.keys, whole.entries(), whole.longest()) == (0, [], [])


def test_it_says_what_the_server_only_estimated() -> None:
    whole = aggregate_of([])
    whole.add([b"exact", b"guess"], [5, 9], inexact=[b"guess"])

    assert [(entry.name, entry.is_exact) for entry in whole.entries()] == [(b"guess", False), (b"exact", True)]


def test_it_ranks_a_type_only_as_far_down_as_none_is_missing() -> None:
    whole = aggregate_of([(b"k%d" % n, n) for n in range(2_000)], top=10)
    whole.entries()

    whole.annotate([Detail(b"k1999", 1_999, "hash"), Detail(b"k1995", 1_995, "hash"), Detail(b"k1998", 1_998, "set")])
    whole.detail([Detail(b"k5", 5, "hash")])

    assert [entry.name for entry in whole.entries("hash")] == [b"k1999", b"k1995"]


def test_it_ranks_a_type_wholly_when_every_key_was_read() -> None:
    whole = aggregate_of([(b"a", 3), (b"b", 2)])
    whole.is_full = True

    whole.detail([Detail(b"a", 3, "hash"), Detail(b"b", 2, "hash")])

    assert [entry.size for entry in whole.entries("hash")] == [3, 2]


def test_it_ranks_by_elements_and_leaves_strings_out() -> None:
    whole = aggregate_of([(b"a", 3), (b"b", 2), (b"s", 1)])

    whole.annotate(
        [
            Detail(b"a", 3, "hash", elements=5),
            Detail(b"b", 2, "set", elements=9),
            Detail(b"s", 1, "string", elements=99),
        ]
    )

    assert [entry.name for entry in whole.longest()] == [b"b", b"a"]


def test_it_bounds_notes_of_keys_that_are_in_no_ranking() -> None:
    whole = Aggregate(top=5)
    for n in range(5_000):
        whole.add([b"k%d" % n], [n])
        whole.annotate([Detail(b"k%d" % n, n)])

    assert len(whole._notes) < 2_500
    assert whole.entries()[0].detail == Detail(b"k4999", 4_999)


def test_it_finds_no_repeats_where_there_are_none() -> None:
    repeats = Repeats()
    for page in range(200):
        repeats.add([b"%d" % n for n in range(page * 100, page * 100 + 100)])

    assert repeats.estimate == 0


def test_it_estimates_how_many_keys_came_again() -> None:
    repeats, again = Repeats(), 40_000
    for first in [*range(0, 400_000, 1_000), *range(0, again, 1_000)]:
        repeats.add([b"key:%d" % n for n in range(first, first + 1_000)])

    assert again * 0.7 < repeats.estimate < again * 1.3
    assert len(repeats._watched) <= WATCHED


def test_it_finds_repeats_of_later_pages_by_those_that_stand_for_others() -> None:
    repeats = Repeats()
    for first in range(0, 200_000, 1_000):
        repeats.add([b"key:%d" % n for n in range(first, first + 1_000)])

    for first in range(0, 40_000, 1_000):
        repeats.add([b"key:%d" % n for n in range(first, first + 1_000)])

    assert 40_000 * 0.5 < repeats.estimate < 40_000 * 1.5


def test_it_ranks_each_type_though_most_keys_are_passed_over() -> None:
    rng, whole = random.Random(8), Aggregate(top=5)
    whole.is_full = True
    rows = [
        Detail(b"%d" % n, rng.randrange(9_999), rng.choice(("hash", "set")), elements=n % 997) for n in range(9_000)
    ]

    for first in range(0, len(rows), 50):
        whole.detail(rows[first : first + 50])

    for kind in ("hash", "set"):
        pairs = [(row.key, row.size) for row in rows if row.type == kind]
        assert [(entry.name, entry.size) for entry in whole.entries(kind)] == ranked(pairs, 5)
    assert [entry.name for entry in whole.longest()] == [
        n for n, _e in ranked([(r.key, r.elements or 0) for r in rows], 5)
    ]


def details_of(rows: Sequence[Detail]) -> Details:
    details = Details()
    details.add(rows)
    return details


def test_it_estimates_shares_with_an_error_that_holds_what_is_true() -> None:
    dice, held = random.Random(7), 0
    everything = [
        Detail(b"%d" % n, 50 if n % 10 else 5_000, "string" if n % 10 else "hash", -1 if n % 4 else 5)
        for n in range(20_000)
    ]
    truth = sum(row.size for row in everything if row.type == "hash") / sum(row.size for row in everything)
    for _round in range(40):
        details = details_of(dice.sample(everything, 400))
        kinds, sizes, lasting = (
            details.share_of_keys("hash", 20_000),
            details.share_of_bytes("hash", 20_000),
            details.without_ttl(20_000),
        )
        assert lasting is not None
        held += kinds.low <= 0.1 <= kinds.high
        held += sizes.low <= truth <= sizes.high
        held += lasting.low <= 0.75 <= lasting.high

    assert held >= 0.9 * 120


def test_it_makes_no_error_where_every_key_was_read() -> None:
    assert share(3, 10, 10).error == 0
    assert details_of([Detail(b"a", 5, "hash"), Detail(b"b", 5, "set")]).share_of_bytes("hash", 2).error == 0


@pytest.mark.parametrize(("read", "of", "left"), [(0, 0, 1.0), (10, 10, 0.0), (12, 10, 0.0), (0, 10, 1.0)])
def test_it_knows_how_much_of_an_error_is_left(read: int, of: int, left: float) -> None:
    assert rest(read, of) == left


def test_it_does_not_take_what_was_not_read_for_zero() -> None:
    details = details_of([Detail(b"a", 5)])

    assert details.without_ttl(1) is None
    assert details.idle_seconds.total == details.ttl_seconds.total == 0
    assert Details().share_of_keys("hash", 5).error == 1


def test_it_reckons_the_overhead_of_strings() -> None:
    details = details_of([Detail(b"key", 100, "string", elements=47), Detail(b"h", 900, "hash", elements=3)])

    assert (details.tallies["string"].held, details.tallies["string"].payload) == (100, 50)


def test_it_bounds_the_types_of_strange_modules() -> None:
    details = details_of([Detail(b"a", 1, f"module-{n}") for n in range(100)])

    assert len(details.tallies) <= 25
    assert details.keys == 100


@pytest.mark.parametrize(
    ("key", "slot"),
    [
        (b"123456789", 12_739),
        (b"foo", 12_182),
        (b"{user1000}.following", 3_443),
        (b"{user1000}.followers", 3_443),
        (b"foo{}{bar}", 8_363),
        (b"foo{{bar}}zap", 4_015),
        (b"foo{bar}{zap}", 5_061),
        (b"", 0),
    ],
)
def test_it_knows_the_slot_of_a_key(key: bytes, slot: int) -> None:
    assert slot_of(key) == slot


def test_it_merges_details_to_what_one_reading_gives() -> None:
    rows = [Detail(b"%d" % n, n, ("hash", "set")[n % 2], n - 2, n, "enc", n) for n in range(20)]
    first, second = details_of(rows[:9]), details_of(rows[9:])

    first.merge(second)

    whole = details_of(rows)
    assert first.tallies == whole.tallies
    assert first.encodings == whole.encodings
    assert first.slot_bytes == whole.slot_bytes
