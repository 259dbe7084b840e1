"""How a scan behaves to a server: what it asks and never asks, when it holds back, and that others count the same."""

import re
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from collectors.connections import Access
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.fields import NAMES
from collectors.keyscan.guards import HoldCause, Limits
from collectors.keyscan.progress import State
from collectors.keyscan.scan import Scan
from collectors.keyscan.walk import Plan
from collectors.tests.keyscan import brute_force, client_of, found_in, job, largest, scan_of, target_of
from collectors.tests.peers import OK, Peer, Script, answers, bulk
from conftest import PATIENCE_SECONDS, ValkeyFactory
from launcher.valkey import Valkey
from launcher.waiting import until

# What tells sizes, types and times, and what a connection needs.
ASKED = {"scan", "memory|usage", "type", "pttl", "object|encoding", "object|idletime", "object|freq", "info", "ping"}
ASKED |= {"strlen", "hlen", "llen", "scard", "zcard", "xlen", "client|setname", "client|no-touch", "select", "auth"}
ASKED |= {"readonly"}


def filled(server: Valkey, keys: int = 200) -> dict[bytes, int]:
    """Write small keys of every type, which any number of samples measures whole."""
    pipe = client_of(server).pipeline(transaction=False)
    for number in range(keys):
        pipe.set(f"string:{number}", "x" * number * 40)
        pipe.hset(f"hash:{number}", mapping={f"f{n}": "v" for n in range(1 + number % 20)})
        pipe.rpush(f"list:{number}", *range(1 + number % 30))
        pipe.sadd(f"set:{number}", *range(1 + number % 40))
        pipe.zadd(f"zset:{number}", {str(n): n for n in range(1 + number % 20)})
        pipe.xadd(f"stream:{number}", {"a": "b"})
    pipe.execute()
    return brute_force(server)


@pytest.mark.parametrize("plan", [Plan(), Plan(all_fields=True)])
def test_it_never_reads_a_value(valkey_server: ValkeyFactory, plan: Plan) -> None:
    server = valkey_server()
    filled(server)
    client: Any = client_of(server)
    client.config_resetstat()

    scan_of([server], plan=plan, wanted=frozenset(NAMES))

    asked = {name.removeprefix("cmdstat_").lower() for name in client.info("commandstats")}
    assert asked - ASKED - {"config|resetstat", "client|setinfo"} == set()


def test_it_does_not_look_into_a_giant_unless_told_to(peer: Callable[[Script], Peer]) -> None:
    seen: list[str] = []
    page = b"*2\r\n" + bulk(b"0") + b"*1\r\n" + bulk(b"giant")
    replies = {"INFO": bulk(b"run_id:a\r\nrole:master\r\ndb0:keys=1,expires=0\r\n"), "CLIENT": OK, "PING": b"+PONG\r\n"}
    replies |= {"SCAN": page, "MEMORY USAGE": b":1073741824\r\n", "TYPE": b"+hash\r\n", "HLEN": b":20000000\r\n"}
    server = peer(answers({**replies, "PTTL": b":-1\r\n", "OBJECT": bulk(b"hashtable")}, seen))

    (entry,) = found_in(scan_of([Valkey(server.port, directory=None)])).entries()  # type: ignore[arg-type]

    assert (entry.size, entry.is_exact) == (1 << 30, False)
    assert not [line for line in seen if line.endswith("SAMPLES 0")]


def test_it_holds_back_while_memory_is_full_and_goes_on_by_itself(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    expected = filled(server)
    client: Any = client_of(server)
    client.config_set("maxmemory", int(client.info("memory")["used_memory"] * 1.01))
    made = job("gentle", limits=Limits(latency_seconds=60, cpu_ratio=99, command_share=2))
    made.control.pause()
    scan = Scan(made, [target_of(server)])
    node = scan.nodes[0]
    thread = threading.Thread(target=scan.run)
    thread.start()
    try:
        assert until(lambda: node.gate.hold is not None, PATIENCE_SECONDS)
        made.control.resume()
        assert node.gate.hold is not None
        assert (node.gate.hold.cause, found_in(scan).keys) == (HoldCause.MEMORY, 0)
    finally:
        client.config_set("maxmemory", 0)
        thread.join(PATIENCE_SECONDS)

    assert node.state == State.DONE
    assert found_in(scan).keys == len(expected)


def test_it_reads_a_server_that_takes_no_writes(valkey_server: ValkeyFactory) -> None:
    server = valkey_server("--save", "3600 1", "--dbfilename", "missing.rdb")
    expected = filled(server, keys=20)
    client: Any = client_of(server)
    Path(client.config_get("dir")["dir"], "missing.rdb").mkdir()
    client.bgsave()
    assert until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", PATIENCE_SECONDS)
    with pytest.raises(Exception, match="MISCONF"):
        client.set("new", 1)

    scan = scan_of([server])

    assert (scan.nodes[0].state, found_in(scan).keys) == (State.DONE, len(expected))


def test_it_counts_what_redis_cli_counts(redis_server: ValkeyFactory) -> None:
    server = redis_server()
    filled(server)

    found = found_in(scan_of([server], plan=Plan(all_fields=True), make_aggregate=full))

    ours = {kind: (tally.keys, tally.bytes) for kind, tally in found.details.tallies.items()}
    assert ours == told_by_redis_cli(server)
    assert found.top.entries() == largest(brute_force(server))


def full(_target: object, _db: int) -> Aggregate:
    made = Aggregate()
    made.is_full = True
    return made


def told_by_redis_cli(server: Valkey) -> Mapping[str, tuple[int, int]]:
    """Return keys and bytes by type as redis-cli --memkeys sums them up at its end."""
    # It comes with Debian's server.
    command = ["redis-cli", "-p", str(server.port), "--memkeys"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    rows = re.findall(r"^(\d+) (\w+?)s? with (\d+) bytes", said, re.M)
    return {{"hashe": "hash"}.get(kind, kind): (int(keys), int(size)) for keys, kind, size in rows if int(keys)}


@pytest.mark.parametrize("rule", ["-readonly", "-object|idletime", "-xlen"])
def test_it_says_what_was_refused_and_does_without(valkey_server: ValkeyFactory, rule: str) -> None:
    server = valkey_server()
    expected = filled(server, keys=20)
    client: Any = client_of(server)
    client.execute_command("ACL", "SETUSER", "scanner", "on", ">secret", "~*", "+@all", rule)

    scan = scan_of([server], access=Access(tls=False, username="scanner", password="secret"))

    assert (found_in(scan).keys, found_in(scan).bytes) == (len(expected), sum(expected.values()))
    assert scan.nodes[0].abilities is not None
    missing = rule[1:].replace("|", " ").upper()
    # Outside of clusters nobody needs READONLY.
    assert scan.nodes[0].abilities.missing == ([] if missing == "READONLY" else [missing])
