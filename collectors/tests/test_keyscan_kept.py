"""Which keys are stored: the largest of all in any case, bounded for each shard, with the size where a ranking ends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.keyscan import kept
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.details import Detail
from collectors.keyscan.kept import Kept, kept_of

SIZES = st.lists(st.integers(1, 40), max_size=30)


def part_of(sizes: list[int], top: int, name: str = "k", kind: str = "") -> Aggregate:
    made = Aggregate(top=top)
    keys = [f"{name}{number:03}".encode() for number in range(len(sizes))]
    made.add(list(keys), list(sizes))
    if kind:
        made.is_full = True
        made.detail([Detail(key, size, kind) for key, size in zip(keys, sizes, strict=True)])
    return made


@given(st.lists(SIZES, min_size=1, max_size=4), st.integers(1, 30))
@settings(max_examples=80)
def test_the_largest_of_all_are_kept_however_few_a_shard_may_keep(shards: list[list[int]], top: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "KEYS_OF_A_SHARD", 2)
        patch.setattr(kept, "KEYS_KEPT", 2)
        found = kept_of([part_of(sizes, top, f"s{n}:") for n, sizes in enumerate(shards)], top)

    stored = [(-entry.size, entry.name) for one in found for entry in one.entries()]
    every = [(-size, f"s{n}:{at:03}".encode()) for n, sizes in enumerate(shards) for at, size in enumerate(sizes)]
    assert sorted(stored)[:top] == sorted(every)[:top]
    assert len(stored) <= top + 2 * len(shards)


def test_each_key_is_kept_once() -> None:
    (one,) = kept_of([part_of([5, 4, 3], 10, kind="hash")], 10)

    assert [entry.name for entry in one.entries()] == [b"k000", b"k001", b"k002"]


@pytest.mark.parametrize(("count", "end"), [(3, 0), (5, 0), (6, 2), (50, 46)])
def test_a_ranking_is_complete_down_to_its_last_key(count: int, end: int) -> None:
    (one,) = kept_of([part_of(list(range(1, count + 1)), 5)], 5)

    assert one.complete_from == end


def test_a_type_is_complete_as_far_down_as_types_were_read() -> None:
    sampled, full = part_of(list(range(1, 51)), 5), part_of(list(range(1, 51)), 5, kind="set")

    assert Kept(sampled, sampled.entries(), 5).typed_from == 46
    assert Kept(full, full.entries(), 5).typed_from == 46
    assert Kept(full, full.entries(), 3).typed_from == 48


def test_types_of_few_keys_are_complete() -> None:
    few = part_of([7, 6], 5, kind="set")

    assert (Kept(few, few.entries(), 5).typed_from, Kept(few, few.entries(), 5).complete_from) == (0, 0)


def test_nothing_is_kept_of_nothing() -> None:
    assert kept_of([], 100) == []
    assert not list(kept_of([Aggregate()], 100)[0].entries())
