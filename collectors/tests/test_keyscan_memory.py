"""A scan's memory does not follow the number of keys: what it holds is bounded, whatever the names are."""

import random
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from collectors.keyscan import details, prefixes, repeats
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.details import Detail

PAGE, PAGES = 500, 60
GROWTH_A_KEY, MOST_BYTES = 2.0, 4_000_000


def usual(rng: random.Random) -> bytes:
    return b"user:%d:%s" % (rng.randrange(10**9), rng.choice((b"profile", b"cart", b"session")))


def unique(rng: random.Random) -> bytes:
    """Return a name whose every part is its own."""
    return b":".join(rng.choice((b"ab%x", b"k%x", b"z%x")) % rng.getrandbits(40) for _ in range(4))


def long(rng: random.Random) -> bytes:
    return b"blob:%x:" % rng.getrandbits(60) + b"x" * 3_000


@pytest.fixture(autouse=True)
def small_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rooms that are bounded be full after few keys: a test of millions would take minutes."""
    monkeypatch.setattr(repeats, "WATCHED", 200)
    monkeypatch.setattr(prefixes, "PLACES", 200)
    monkeypatch.setattr(prefixes, "SHAPES", 100)
    monkeypatch.setattr(prefixes, "FANOUT", 50)
    monkeypatch.setattr(details, "SLOTS", 50)


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Give what says how many bytes were kept since."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def walk(whole: Aggregate, name: Callable[[random.Random], bytes], pages: int, rng: random.Random) -> None:
    for _ in range(pages):
        names = [name(rng) for _ in range(PAGE)]
        sizes = [rng.randrange(50, 90_000) for _ in names]
        whole.add(list(names), list(sizes))
        chosen = zip(names[::50], sizes[::50], strict=True)
        whole.detail([Detail(key, size, "string", -1, 5, "raw", size) for key, size in chosen])


@pytest.mark.parametrize("name", [usual, unique, long])
def test_it_grows_by_next_to_nothing_a_key(name: Callable[[random.Random], bytes]) -> None:
    rng, whole = random.Random(3), Aggregate(top=10, depth=2)
    with traced() as kept:
        walk(whole, name, PAGES // 2, rng)
        first = kept()
        walk(whole, name, PAGES // 2, rng)
        growth = (kept() - first) / (PAGE * PAGES / 2)

        assert kept() < MOST_BYTES
        assert growth < GROWTH_A_KEY


def test_ten_thousand_largest_keys_with_long_names_stay_within_their_room() -> None:
    rng, whole = random.Random(4), Aggregate(top=10_000, depth=2)
    with traced() as kept:
        walk(whole, long, 24, rng)

        # Names are cut to a kilobyte; beside the ranking there is room for as many again before it is sorted out.
        assert kept() < 64_000_000


def test_details_of_endless_names_are_kept_with_their_beginning() -> None:
    whole = Aggregate(top=10)

    whole.annotate([Detail(b"x" * 512 * 1024 + b"%d" % number, 5_000, "string") for number in range(20)])

    assert len(whole.state()) < 30_000
    assert all(len(note.key) < 1_100 for note in whole._notes.values())


def test_a_checkpoint_does_not_grow_either() -> None:
    rng, whole = random.Random(5), Aggregate(top=10, depth=2)
    walk(whole, usual, PAGES // 2, rng)
    first = len(whole.state())

    walk(whole, usual, PAGES // 2, rng)

    assert len(whole.state()) < first * 1.3
