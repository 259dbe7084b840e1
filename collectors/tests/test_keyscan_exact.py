"""Keys that may be larger than a sample shows: held back, told apart by type, measured whole."""

from typing import Any

import pytest

from collectors.keyscan import exact
from collectors.keyscan.exact import HELD_BYTES, HELD_KEYS, SAMPLES, SUSPECT_BYTES, Suspects
from collectors.keyscan.progress import State
from collectors.keyscan.walk import Walk
from collectors.tests.keyscan import brute_force, client_of, found_in, scan_of
from conftest import ValkeyFactory


def holding(*names: bytes) -> Suspects:
    suspects = Suspects(SAMPLES, 100_000)
    suspects.hold((name, 5_000 + number) for number, name in enumerate(names))
    return suspects


def test_it_asks_for_types_once() -> None:
    suspects = holding(b"a", b"b")

    payload, count = suspects.ask()

    assert (payload.count(b"TYPE"), count) == (2, 2)
    assert suspects.ask() == (b"", 0)


def test_it_lets_strings_go() -> None:
    suspects = holding(b"a", b"b", b"c")
    suspects.ask()

    assert suspects.take([b"string", b"hash", b"string"]) == [(b"a", 5_000), (b"c", 5_002)]
    assert suspects.held == {b"b": 5_001}


@pytest.mark.parametrize("kind", [b"hash", b"ReJSON-RL", b"none", None])
def test_it_keeps_whatever_is_no_string(kind: bytes | None) -> None:
    suspects = holding(b"a")
    suspects.ask()

    assert suspects.take([kind]) == []
    assert list(suspects.held) == [b"a"]


def test_a_key_that_scan_gives_again_is_held_once() -> None:
    suspects = holding(b"a")
    suspects.hold([(b"a", 6_000)])

    assert suspects.ask()[1] == 1
    assert suspects.take([b"string"]) == [(b"a", 6_000)]


def test_it_asks_again_for_what_a_lost_connection_took_along() -> None:
    suspects = holding(b"a", b"b")
    suspects.ask()
    suspects.take([b"hash", b"string"])
    suspects.hold([(b"c", 9_000)])
    suspects.ask()

    suspects.ask_again()

    payload, count = suspects.ask()
    assert (b"$1\r\nc\r\n" in payload, count) == (True, 1)


def test_strings_that_wait_for_their_type_end_no_stream() -> None:
    suspects = holding(*(b"%d" % number for number in range(HELD_KEYS + 1)))

    assert not suspects.are_due(streams=True)
    assert not suspects.are_due(streams=False)


def test_enough_collections_are_due() -> None:
    names = [b"%d" % number for number in range(HELD_KEYS)]
    suspects = holding(*names)
    suspects.ask()
    suspects.take([b"hash"] * len(names))

    assert suspects.are_due(streams=False)
    assert not suspects.are_due(streams=True)


def test_long_names_are_due_early() -> None:
    suspects = holding(b"x" * HELD_BYTES)

    assert suspects.are_due(streams=True)
    suspects.ask()
    suspects.take([b"string"])
    assert not suspects.are_due(streams=True)


@pytest.mark.parametrize(("kind", "expected"), [(b"set", None), (b"hash", None), (b"stream", 5_000)])
def test_a_collection_without_elements_was_renamed_meanwhile(kind: bytes, expected: int | None) -> None:
    settled = holding(b"a")._settled({b"a": kind}, {b"a": 0}, {b"a": 5_000})

    assert settled.sizes == [expected]


def test_no_collection_of_more_elements_is_below_what_is_held(valkey_server: ValkeyFactory) -> None:
    """What makes the first pass exact for all that is not held: the least that a server says of so many elements."""
    server = valkey_server()
    client: Any = client_of(server)
    count = SAMPLES + 1
    client.execute_command("CONFIG", "SET", "hash-max-listpack-entries", 0)
    client.execute_command("CONFIG", "SET", "set-max-listpack-entries", 0)
    client.execute_command("CONFIG", "SET", "zset-max-listpack-entries", 0)
    client.hset("hash", mapping={f"{n:x}": "" for n in range(count)})
    client.sadd("set", *(f"{n:x}x" for n in range(count)))
    client.zadd("zset", {f"{n:x}": 0 for n in range(count)})

    assert min(brute_force(server).values()) >= SUSPECT_BYTES


@pytest.mark.parametrize("brake", ["gentle", "brisk", "fast"])
def test_large_strings_among_giants_are_exact(
    valkey_server: ValkeyFactory, brake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "HELD_STREAMING", 20)
    server = valkey_server()
    pipe = client_of(server).pipeline(transaction=False)
    for number in range(3_000):
        pipe.set(f"page:{number}", "x" * (3_000 + number))
    for number in range(60):
        pipe.sadd(f"set:{number}", *(f"member:{n}" for n in range(300 + number)))
    pipe.execute()
    expected = brute_force(server)

    scan = scan_of([server], brake)

    assert (found_in(scan).keys, found_in(scan).bytes) == (len(expected), sum(expected.values()))
    assert all(entry.is_exact and entry.detail for entry in found_in(scan).entries())
    assert scan.nodes[0].state == State.DONE


def test_strings_are_settled_beside_pages(valkey_server: ValkeyFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    server = valkey_server()
    pipe = client_of(server).pipeline(transaction=False)
    for number in range(5_000):
        pipe.set(f"page:{number}", "x" * 5_000)
    pipe.execute()
    settled: list[int] = []
    settle = Walk._settle

    def counting(walk: Walk, asker: object) -> object:
        settled.append(len(walk.suspects.held))
        return settle(walk, asker)  # type: ignore[arg-type]

    monkeypatch.setattr(Walk, "_settle", counting)
    scan_of([server], "fast")

    # What was left when the walk ended.
    assert len(settled) <= 1
