"""Slow and command logs of real servers as polls keep them, held against the servers' own answers."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from collectors.models import CommandSupport, NodeStatus, SlowEntry
from collectors.tests import peers
from collectors.tests.conftest import Poller, status_of
from collectors.tests.peers import Peer, Script
from fleet.models import Cache
from launcher.valkey import Valkey

CacheAt = Callable[..., Cache]
StartServer = Callable[..., Valkey]
ALL_SLOW = ("--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000")


@pytest.fixture(autouse=True)
def at_every_poll(settings: Settings) -> None:
    settings.SLOWLOG_INTERVAL_SECONDS = settings.POLL_INTERVAL_SECONDS


def own_entries(server: Valkey, *command: str) -> dict[int, int]:
    """Return what the server itself says: usec or bytes by id."""
    reply: Any = server.ask(*(command or ("SLOWLOG", "GET", "1000")))
    return {entry[0]: entry[2] for entry in reply}


def kept(log: str = "slow") -> dict[int, int]:
    return dict(SlowEntry.objects.filter(log=log).values_list("entry_id", "amount"))


@pytest.mark.parametrize("kind", ["valkey", "redis"])
def test_it_keeps_what_the_server_logged(
    kind: str, poller: Poller, cache_at: CacheAt, request: pytest.FixtureRequest
) -> None:
    server: Valkey = request.getfixturevalue(f"{kind}_server")(*ALL_SLOW)
    cache = cache_at(server.url)
    poller.poll(cache)
    server.ask("MSET", *[word for number in range(40) for word in (f"player:{number}:items", "a secret value")])
    server.ask("SET", "session:0123456789abcdef", "\x00\x01" * 2**19)
    own = own_entries(server)

    poller.poll(cache)

    assert kept().items() >= {number: own[number] for number in kept().keys() & own.keys()}.items()
    assert len(kept().keys() & own.keys()) == len(own)
    mset = SlowEntry.objects.get(command="MSET")
    assert (mset.arguments, mset.key_prefix) == (80, "player:*")
    assert "secret" not in repr(list(SlowEntry.objects.values()))


def test_it_notices_what_it_came_too_late_for(poller: Poller, cache_at: CacheAt, valkey_server: StartServer) -> None:
    server = valkey_server("--slowlog-log-slower-than", "0", "--slowlog-max-len", "5")
    cache = cache_at(server.url)
    for _ in range(2):
        poller.poll(cache)
    seen = max(kept())
    for number in range(50):
        server.ask("SET", f"k{number}", "x")

    poller.poll(cache)

    gap = SlowEntry.objects.get(missed__gt=0, entry_id__gt=seen)
    assert gap.missed == gap.entry_id - seen - 1 >= 45


def test_it_keeps_large_requests_and_replies(poller: Poller, cache_at: CacheAt, valkey_server: StartServer) -> None:
    large = ("--commandlog-request-larger-than", "1000", "--commandlog-reply-larger-than", "50000")
    server = valkey_server(*large)
    cache = cache_at(server.url)
    poller.poll(cache)
    server.ask("SET", "map:7:tiles", "x" * 100_000)
    server.ask("GET", "map:7:tiles")

    poller.poll(cache)

    for log, command in (("large-request", "SET"), ("large-reply", "GET")):
        assert kept(log) == own_entries(server, "COMMANDLOG", "GET", "100", log)
        assert SlowEntry.objects.get(log=log).command == command


@pytest.mark.parametrize("kind", ["valkey", "redis"])
def test_a_refusal_is_remembered(kind: str, poller: Poller, cache_at: CacheAt, request: pytest.FixtureRequest) -> None:
    server: Valkey = request.getfixturevalue(f"{kind}_server")(*ALL_SLOW)
    server.ask("ACL", "SETUSER", "default", "-slowlog")
    cache = cache_at(server.url)
    for _ in range(3):
        poller.poll(cache)

    assert CommandSupport.objects.get(command="SLOWLOG GET").state == "refused"
    assert status_of(cache).failures == 0
    # Valkey has a newer name for the same log.
    assert bool(kept()) == (kind == "valkey")


def test_where_everything_is_refused_samples_go_on(
    poller: Poller, cache_at: CacheAt, valkey_server: StartServer
) -> None:
    server = valkey_server()
    server.ask("ACL", "SETUSER", "default", "-slowlog", "-commandlog", "-client", "-latency", "-config")
    cache = cache_at(server.url)
    for _ in range(2):
        poller.poll(cache)

    assert poller.sample(cache.nodes.get(), "is_primary") == (True,)
    assert not kept()


def test_a_log_that_is_too_long_costs_one_poll(
    poller: Poller, cache_at: CacheAt, peer: Callable[[Script], Peer], settings: Settings
) -> None:
    settings.POLL_REPLY_LIMIT_BYTES = 2**20
    entry = b"*4\r\n:1\r\n:1700000000\r\n:5\r\n*2\r\n$3\r\nSET\r\n" + peers.bulk(b"\xff" * 2**20)
    seen: list[str] = []
    answers = {"SLOWLOG": b"*1\r\n" + entry, "INFO": peers.INFO, "CLIENT": peers.OK}
    server = peer(peers.answers(answers, seen))
    cache = cache_at(server.url)
    for _ in range(4):
        poller.poll(cache)

    assert sum(line.startswith("SLOWLOG") for line in seen) == 1
    assert NodeStatus.objects.get(node__port=server.port).failing_since is None
