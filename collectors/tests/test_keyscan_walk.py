"""The walk through one node: exact, whatever the keys are and whoever changes them meanwhile."""

import random

import pytest

from collectors.keyscan.progress import State
from collectors.keyscan.walk import Plan
from collectors.tests.keyscan import brute_force, client_of, found_in, largest, scan_of
from conftest import ValkeyFactory
from launcher.valkey import Valkey

BRAKES = ("gentle", "brisk", "fast")


def fill(server: Valkey, keys: int = 3_000, seed: int = 5) -> None:
    """Write keys of every type, some of them larger than a sample shows."""
    rng, pipe = random.Random(seed), client_of(server).pipeline(transaction=False)
    for number in range(keys):
        pipe.set(f"user_cache:{number}", rng.randbytes(int(min(rng.paretovariate(0.8) * 20, 40_000))))
    for number in range(20):
        pipe.rpush(f"list:{number}", *(b"x" * (n % 300) for n in range(40 + number * 90)))
        pipe.sadd(f"set:{number}", *(f"member:{n}" for n in range(3 + number * 150)))
        pipe.zadd(f"zset:{number}", {f"player:{n}": n for n in range(3 + number * 150)})
        pipe.hset(f"hash:{number}", mapping={f"f{n}": "v" * (n % 90) for n in range(3 + number * 150)})
        pipe.xadd(f"stream:{number}", {"what": "x" * 500 * number})
    # One field holds nearly all of it, among as many as hide it from a sample.
    pipe.hset("hidden", mapping={f"f{n}": "v" for n in range(5_000)})
    pipe.hset("hidden", "large", b"x" * 900_000)
    pipe.execute()


@pytest.mark.parametrize("brake", BRAKES)
def test_it_equals_brute_force_to_the_byte(valkey_server: ValkeyFactory, brake: str) -> None:
    server = valkey_server()
    fill(server)
    expected = brute_force(server)

    found = found_in(scan_of([server], brake))

    assert (found.keys, found.bytes, found.vanished) == (len(expected), sum(expected.values()), 0)
    assert found.top.entries() == largest(expected)
    assert all(entry.is_exact for entry in found.entries())


def test_it_equals_brute_force_on_redis(redis_server: ValkeyFactory) -> None:
    server = redis_server()
    fill(server)
    expected = brute_force(server)

    found = found_in(scan_of([server]))

    assert (found.keys, found.bytes) == (len(expected), sum(expected.values()))
    assert found.top.entries() == largest(expected)


def test_it_finds_nothing_in_an_empty_server(valkey_server: ValkeyFactory) -> None:
    scan = scan_of([valkey_server()])

    assert scan.nodes[0].state == State.DONE
    assert (found_in(scan).keys, found_in(scan).bytes) == (0, 0)


def test_it_reads_type_length_and_ttl_of_the_largest(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    client_of(server).set("lasting", "x" * 2_000)
    client_of(server).set("passing", "x" * 3_000, ex=1_000)
    client_of(server).zadd("board", {"a": 1, "b": 2})

    entries = found_in(scan_of([server])).entries()

    details = {entry.name: entry.detail for entry in entries}
    assert [(d.type, d.elements, d.encoding) for d in details.values() if d] == [
        ("string", 3_000, "raw"),
        ("string", 2_000, "raw"),
        ("zset", 2, "listpack"),
    ]
    assert details[b"lasting"].ttl_ms == -1  # type: ignore[union-attr]
    assert 0 < details[b"passing"].ttl_ms <= 1_000_000  # type: ignore[union-attr, operator]


def test_it_keeps_the_estimate_of_a_giant_and_says_so(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    client_of(server).hset("giant", mapping={f"f{n}": "v" for n in range(3_000)})
    client_of(server).hset("below", mapping={f"f{n}": "v" for n in range(1_500)})

    found = found_in(scan_of([server], plan=Plan(guard=2_000)))

    assert {entry.name: entry.is_exact for entry in found.entries()} == {b"giant": False, b"below": True}


def test_it_reads_every_database(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    client_of(server).set("here", "x")
    client_of(server, db=3).set("there", "x" * 100)

    scan = scan_of([server])

    parts = {part.db: [name for name, _size in part.aggregate.top.entries()] for part in scan.nodes[0].parts}
    assert parts == {0: [b"here"], 3: [b"there"]}


HOSTILE = (
    b"<script>alert(1)</script>",
    b"\x1b[31mred\x1b[0m",
    b"two\r\nlines\n$5\r\n",
    b"\xff\xfe not UTF-8",
    "\u202eright to left".encode(),
    b"percent %d %b %s",
    b"\x00",
    b"",
    b"k" * 512 * 1024,
)


@pytest.mark.parametrize("brake", BRAKES)
def test_it_takes_any_bytes_for_a_name(valkey_server: ValkeyFactory, brake: str) -> None:
    server = valkey_server()
    for key in HOSTILE:
        client_of(server).set(key, b"x" * 20_000)
    expected = brute_force(server)

    found = found_in(scan_of([server], brake))

    assert (found.keys, found.bytes) == (len(expected), sum(expected.values()))
    assert {name for name, _size in found.top.entries()} >= set(HOSTILE[:-1])
