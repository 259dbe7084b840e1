"""Snapshots: what the database says, in a file and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from switches.snapshot import KnownSwitch, SnapshotUnreadableError, packed, parse, unpacked
from switches.tests.cast import row, snapshot


def known(**fields: object) -> KnownSwitch:
    return snapshot(row(**fields)).switches["user-cache"]  # type: ignore[arg-type]


def test_it_comes_out_of_a_file_as_it_went_in() -> None:
    before = snapshot(row(percent=25, instances={"pod-1": True, "pod-ü": False}), row("b"), epoch=3, serial=9)

    after = unpacked(packed(before))

    assert (after.place, after.switches, after.keys) == (before.place, before.switches, before.keys)


@given(some.integers(0, 400), some.integers(1, 255))
def test_a_file_with_one_wrong_byte_counts_as_none(at: int, change: int) -> None:
    content = bytearray(packed(snapshot()))
    content[at % len(content)] ^= change

    with pytest.raises(SnapshotUnreadableError):
        unpacked(bytes(content))


@pytest.mark.parametrize("content", [b"", b"\n", b"shardwatch", packed(snapshot())[:-1]], ids=["0", "1", "2", "cut"])
def test_a_cut_file_counts_as_none(content: bytes) -> None:
    with pytest.raises(SnapshotUnreadableError):
        unpacked(content)


@pytest.mark.parametrize("document", [b"[]", b"{}", b'{"epoch": 1, "serial": "x", "switches": [], "keys": []}'])
def test_it_refuses_what_is_no_snapshot(document: bytes) -> None:
    with pytest.raises(SnapshotUnreadableError):
        parse(document)


def test_an_endpoint_never_holds_credentials() -> None:
    switch = known(address="rediss://ann:secret@cache.example:7000", topology="cluster")

    assert switch.endpoint == {"host": "cache.example", "port": 7000, "tls": True, "cluster": True}


@pytest.mark.parametrize("address", [None, "", "redis://", "http://x"])
def test_an_address_that_cannot_be_read_gives_no_endpoint(address: str | None) -> None:
    assert known(address=address).endpoint is None


@pytest.mark.parametrize(("percent", "expected"), [(0, False), (100, True)])
def test_off_and_on_are_the_same_for_everybody(percent: int, expected: bool) -> None:
    switch = known(percent=percent, instances={"pod-1": not expected})

    assert {switch.allows(name) for name in ("", "pod-1", "pod-2")} == {expected}


def test_a_canary_follows_the_list_of_known_instances() -> None:
    switch = known(percent=99, instances={"pod-1": True, "pod-2": False})

    assert [switch.allows(name) for name in ("pod-1", "pod-2", "pod-3", "")] == [True, False, False, True]


def test_a_canary_without_reports_goes_by_buckets() -> None:
    switch = known(percent=10)

    assert 150 < sum(switch.allows(f"pod-{number}") for number in range(2_000)) < 250


@pytest.mark.parametrize(
    ("scope", "expected"), [([], True), (["user-cache"], True), (["user-*"], True), (["user"], False), (["*-x"], False)]
)
def test_a_scope_says_what_a_key_reads(scope: list[str], expected: bool) -> None:
    (key,) = snapshot(scope=scope).keys.values()

    assert key.reads("user-cache") is expected
