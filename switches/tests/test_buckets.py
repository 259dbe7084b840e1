"""Buckets: the same for us, for Unleash and for PHP."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from switches import buckets

# From the tables that come with the algorithm, and from Unleash's client specification.
HASHES = [(b"", 0), (b"a", 0x3C2569B2), (b"ab", 0x9BBFD75F), (b"abc", 0xB3DD93FA), (b"abcd", 0x43ED676A)]
PUBLISHED = [("gr1", "123", 73), ("groupX", "999", 25)]


@pytest.mark.parametrize(("data", "expected"), HASHES, ids=["0", "1", "2", "3", "4"])
def test_it_hashes_every_length_of_the_rest(data: bytes, expected: int) -> None:
    assert buckets.murmur3(data) == expected


@pytest.mark.parametrize(("group", "name", "expected"), PUBLISHED)
def test_it_agrees_with_published_buckets(group: str, name: str, expected: int) -> None:
    assert buckets.bucket(group, name) == expected


@given(some.text(), some.text())
def test_every_name_has_a_bucket(key: str, name: str) -> None:
    assert 1 <= buckets.bucket(key, name) <= 100


def test_thousands_spread_over_all_buckets() -> None:
    found = {buckets.bucket("user-cache", f"pod-{number}") for number in range(2_000)}

    assert len(found) == 100


def test_another_key_means_another_order() -> None:
    names = [f"pod-{number}" for number in range(20)]

    orders = {tuple(sorted(names, key=lambda name: buckets.rank(key, name))) for key in ("a", "b", "c")}

    assert len(orders) == 3
