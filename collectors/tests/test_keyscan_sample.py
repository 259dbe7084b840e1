"""The sample of a walk: which keys it takes, and what is asked about them in which request."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from collectors.keyscan.details import Detail
from collectors.keyscan.fields import Fields
from collectors.keyscan.sample import Sample
from collectors.source import Reply

KEYS = [b"a", b"b", b"c"]
FIRST: list[Reply] = [b"hash", b"string", b"none", -1, 5_000, -2, b"listpack", b"raw", None, 1, 2, None]


def chosen(pages: Sequence[int], every: int, seed: int) -> list[int]:
    """Return the numbers of the keys that are taken of pages of these lengths."""
    sample, number = Sample(every, seed), 0
    for length in pages:
        sample.choose([b"%d" % n for n in range(number, number + length)], [1] * length)
        number += length
    return [int(key) for key, _size in sample._fresh]


@given(st.lists(st.integers(0, 120), max_size=30), st.integers(1, 60), st.integers(0, 1000))
def test_it_takes_every_so_manieth_key_whatever_the_pages(pages: list[int], every: int, seed: int) -> None:
    assert chosen(pages, every, seed) == list(range(seed % every, sum(pages), every))


def asked() -> Sample:
    sample = Sample(1, 0)
    sample.choose(KEYS, [10, 20, 30])
    sample.ask(Fields())
    return sample


def test_it_asks_for_fields_then_for_lengths() -> None:
    sample = Sample(1, 0)
    sample.choose(KEYS, [10, 20, 30])

    payload, count = sample.ask(Fields())
    assert (count, payload.count(b"TYPE"), payload.count(b"PTTL")) == (12, 3, 3)
    assert sample.take(FIRST) == []

    payload, count = sample.ask(Fields())
    assert (count, b"STRLEN" in payload, b"HLEN" in payload) == (2, True, True)
    assert sample.take([7, 4]) == [
        Detail(b"a", 10, "hash", -1, 1, "listpack", 4),
        Detail(b"b", 20, "string", 5_000, 2, "raw", 7),
    ]
    assert not sample


def test_it_asks_nothing_while_answers_are_under_way() -> None:
    sample = asked()
    sample.choose([b"d"], [5])

    assert sample.ask(Fields()) == (b"", 0)
    assert sample


def test_it_asks_again_for_what_was_lost() -> None:
    sample = asked()

    sample.ask_again()

    assert sample.ask(Fields())[1] == 12


def test_it_leaves_vanished_keys_out() -> None:
    sample = Sample(1, 0)
    sample.choose(KEYS, [10, None, None])

    assert sample.ask(Fields())[1] == 4


def test_it_tells_keys_whose_length_nobody_wants() -> None:
    sample, fields = Sample(1, 0), Fields({"type"})
    sample.choose(KEYS, [10, 20, 30])
    sample.ask(fields)
    sample.take([b"hash", b"set", b"none"])

    assert sample.ask(fields) == (b"", 0)
    assert [detail.key for detail in sample.take(())] == [b"a", b"b"]
    assert not sample


def test_it_asks_for_uses_where_the_server_counts_them() -> None:
    fields = Fields(counts_uses=True)

    assert list(fields.questions()) == ["type", "ttl", "encoding", "frequency"]
