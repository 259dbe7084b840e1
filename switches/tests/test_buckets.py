"""Buckets: the same for us, for Unleash and for PHP."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from switches import buckets

# PHP's own hash is held against it, too: clients/tests/test_php_buckets.py. The first two buckets are of Unleash's
# client specification.
VECTORS: dict[str, Any] = orjson.loads((Path(__file__).parent / "murmur3.json").read_bytes())
HASHES: dict[str, str] = VECTORS["published"] | VECTORS["others"]


@pytest.mark.parametrize("data", HASHES, ids=lambda data: data or "nothing")
def test_it_hashes_as_published(data: str) -> None:
    assert f"{buckets.murmur3(bytes.fromhex(data)):08x}" == HASHES[data]


def test_every_length_up_to_four_blocks_is_tried() -> None:
    assert {len(data) // 2 for data in HASHES} >= set(range(17))


@pytest.mark.parametrize(("group", "name", "expected"), VECTORS["buckets"], ids=["gr1", "groupX", "not ASCII"])
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
