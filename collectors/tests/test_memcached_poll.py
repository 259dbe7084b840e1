"""Memcached servers polled like any other: real ones, and peers that do what real ones do wrong."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from collectors.event import Event, Kind
from collectors.failures import Cause
from collectors.models import CommandSupport, NodeFact
from collectors.tests.conftest import Poller, status_of
from collectors.tests.memcached import answers, open_to_all
from collectors.tests.peers import Peer, captured, hangs_up, says, stays_silent
from conftest import MemcachedFactory, ValkeyFactory
from fleet.engines import Engine
from fleet.models import Cache, Node, Topology
from launcher.memcached import Memcached

pytestmark = pytest.mark.django_db(transaction=True)
STATS = captured("memcached-1.6/stats.txt") + b"END\r\n"
PATIENCE_SECONDS = 10.0

CacheAt = Callable[..., Cache]
PeerAt = Callable[..., Peer]


def at(peer: Peer) -> str:
    return f"memcached://127.0.0.1:{peer.port}"


@contextmanager
def clients(server: Memcached, count: int) -> Iterator[list[socket.socket]]:
    """Hold so many connections open."""
    with ExitStack() as stack:
        place = ("127.0.0.1", server.port)
        yield [stack.enter_context(socket.create_connection(place, PATIENCE_SECONDS)) for _ in range(count)]


def fill(server: Memcached, values: int, size: int = 1_000) -> None:
    server.ask(*(f"set key{number} 0 0 {size} noreply\r\n{'x' * size}" for number in range(values)))


def test_a_real_server_is_read(poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory) -> None:
    server = memcached_server("-m", "64", "-c", "200")
    fill(server, 10)
    server.ask("get key1", "get nothing")
    cache = cache_at(server.url)

    poller.poll(cache)

    node = cache.nodes.get()
    assert poller.sample(node, "keys", "maxmemory", "maxclients", "keyspace_hits", "keyspace_misses", "is_primary") == (
        10,
        64 * 2**20,
        200,
        1,
        1,
        True,
    )
    assert poller.sample(node, "connected_slaves", "master_repl_offset", "used_memory_rss") == (None, None, None)
    assert poller.details(node) == 1


def test_the_cache_knows_what_it_is(poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory) -> None:
    cache = cache_at(memcached_server().url)

    poller.poll(cache)

    cache.refresh_from_db()
    facts = dict(NodeFact.objects.filter(node__cache=cache).values_list("name", "value"))
    assert (cache.engine, cache.topology) == (Engine.MEMCACHED, Topology.STANDALONE)
    assert (facts["memcached_version"][:4], facts["maxmemory_policy"]) == ("1.6.", "allkeys-lru")


def test_a_list_is_sharded_by_its_clients(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    one, other = memcached_server(), memcached_server()
    cache = cache_at(f"{one.url}, {other.url}")

    poller.poll(cache)

    cache.refresh_from_db()
    assert cache.topology == Topology.SHARDED
    assert cache.shards.count() == 2
    assert set(cache.nodes.values_list("role", flat=True)) == {Node.Role.PRIMARY}


def test_one_kept_connection_serves_all_polls(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    cache = cache_at(memcached_server().url)
    poller.poll(cache)
    first = poller.sample(cache.nodes.get(), "total_connections_received")

    for _ in range(3):
        poller.poll(cache)

    assert poller.sample(cache.nodes.get(), "total_connections_received") == first


def test_a_restart_is_told_once(poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory) -> None:
    server = memcached_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    poller.poll(cache)

    server.kill()
    server.start()
    poller.poll(cache)
    poller.poll(cache)

    assert Event.objects.filter(cache=cache, kind=Kind.RESTART).count() == 1


def test_a_server_that_is_gone_is_told(poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory) -> None:
    server = memcached_server()
    cache = cache_at(server.url)
    poller.poll(cache)

    server.kill()
    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.REFUSED


def test_evictions_are_counted(poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory) -> None:
    server = memcached_server("-m", "2")
    cache = cache_at(server.url)
    poller.poll(cache)

    fill(server, 4_000)
    poller.poll(cache)

    (evicted,) = poller.sample(cache.nodes.get(), "evicted_keys") or (0,)
    assert evicted > 0


def test_a_full_server_says_why_it_turns_us_away(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    # It keeps twenty descriptors for itself.
    cache = cache_at(memcached_server("-c", "24").url)

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.MAX_CONNS


def test_refused_connections_are_counted(poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory) -> None:
    server = memcached_server("-c", "32")
    cache = cache_at(server.url)
    poller.poll(cache)

    with clients(server, 20) as held:
        turned_away = held[-1].recv(100)
        poller.poll(cache)

    assert turned_away.startswith(b"ERROR Too many open connections")
    (rejected,) = poller.sample(cache.nodes.get(), "rejected_connections") or (0,)
    assert rejected > 0


@pytest.fixture
def logins(tmp_path: Path) -> Path:
    path = tmp_path / "logins"
    path.write_text("watch:secret\n")
    open_to_all(tmp_path)
    return path


@pytest.mark.parametrize(
    ("username", "password", "cause"),
    [
        ("watch", "secret", ""),
        ("watch", "wrong", Cause.USER_OR_PASSWORD_WRONG),
        ("", "", Cause.PASSWORD_MISSING),
    ],
)
def test_it_signs_in_over_the_text_protocol(
    poller: Poller,
    cache_at: CacheAt,
    memcached_server: MemcachedFactory,
    logins: Path,
    username: str,
    password: str,
    cause: str,
) -> None:
    cache = cache_at(memcached_server("-Y", str(logins)).url, password, username=username)

    poller.poll(cache)

    assert status_of(cache).failed_cause == cause


def test_a_password_is_never_stored_in_a_server_that_wants_none(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    server = memcached_server()
    cache = cache_at(server.url, "secret", username="watch")

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.PASSWORD_UNEXPECTED
    assert "secret" not in server.ask("get shardwatch")
    assert "STAT cmd_set 0" in server.ask("stats")


def test_a_server_with_sasl_says_what_to_do(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory, sasl: tuple[str, ...]
) -> None:
    cache = cache_at(memcached_server(*sasl).url, "secret", username="watch")

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_cause) == ("auth", Cause.SASL_EXPECTED)
    assert "Start Memcached without -S; with -Y FILE" in status_of(cache).failed_reason


def test_a_server_that_speaks_binary_only_is_told(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    cache = cache_at(memcached_server("-B", "binary").url)

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.BINARY_EXPECTED


def test_a_redis_address_that_meets_memcached_says_what_to_write(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    cache = cache_at(memcached_server().url.replace("memcached", "redis"))

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.MEMCACHED
    assert "memcached://" in status_of(cache).failed_reason


def test_a_memcached_address_that_meets_redis_says_what_to_write(
    poller: Poller, cache_at: CacheAt, valkey_server: ValkeyFactory
) -> None:
    cache = cache_at(valkey_server().url.replace("redis", "memcached"))

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.NOT_MEMCACHED
    assert "redis://" in status_of(cache).failed_reason


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (b"ERROR\r\n", Cause.ERROR_REPLY),
        (b"END\r\n", Cause.NOT_STATS),
        (b"STAT pid 1\r\nEND\r\n", Cause.NOT_STATS),
        (b"VERSION 1.6.18\r\n", Cause.NOT_STATS),
        (b"hello\r\n", Cause.GARBAGE),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", Cause.HTTP),
        (b"STAT x" + b"y" * 90_000, Cause.TOO_LONG),
    ],
    ids=["error", "nothing", "no numbers", "version", "garbage", "web", "flood"],
)
def test_what_is_no_stats_is_told(
    poller: Poller,
    cache_at: CacheAt,
    peer: PeerAt,
    settings: Settings,
    reply: bytes,
    cause: Cause,
) -> None:
    settings.POLL_REPLY_LIMIT_BYTES = 65_536
    cache = cache_at(at(peer(answers({"": reply}))))

    poller.poll(cache)

    assert status_of(cache).failed_cause == cause


def test_a_server_that_hangs_up_in_the_middle_is_told(poller: Poller, cache_at: CacheAt, peer: PeerAt) -> None:
    cache = cache_at(at(peer(says(STATS[:900]))))

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.CUT


def test_a_server_that_says_nothing_at_all_is_told(poller: Poller, cache_at: CacheAt, peer: PeerAt) -> None:
    cache = cache_at(at(peer(hangs_up)))

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_cause) == ("tls", Cause.TLS_EXPECTED)
    assert "memcacheds://" in status_of(cache).failed_reason


def test_a_full_memcached_is_known_at_a_redis_address(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    cache = cache_at(memcached_server("-c", "24").url.replace("memcached", "redis"))

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.MEMCACHED


@pytest.mark.parametrize(
    "said",
    [b"hello\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"STAT x" + b"y" * 90_000],
    ids=["garbage", "web", "flood"],
)
def test_nobody_speaks_of_redis_to_whoever_wrote_a_memcached_address(
    poller: Poller, cache_at: CacheAt, peer: PeerAt, settings: Settings, said: bytes
) -> None:
    settings.POLL_REPLY_LIMIT_BYTES = 65_536
    cache = cache_at(at(peer(answers({"": said}))))

    poller.poll(cache)

    reason = status_of(cache).failed_reason
    assert reason
    assert "Redis" not in reason


@pytest.mark.usefixtures("short_timeouts")
def test_a_server_that_stays_silent_is_told(poller: Poller, cache_at: CacheAt, peer: PeerAt) -> None:
    cache = cache_at(at(peer(stays_silent)))

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_cause) == ("auth", Cause.SILENT)


def test_a_refused_command_is_remembered_and_left_out(poller: Poller, cache_at: CacheAt, peer: PeerAt) -> None:
    seen: list[str] = []
    cache = cache_at(at(peer(answers({"stats conns": b"ERROR\r\n", "stats": STATS}, seen))))

    for _ in range(3):
        poller.poll(cache)

    assert seen.count("stats conns") == 1
    assert status_of(cache).failed_cause == ""
    refused = CommandSupport.objects.filter(node__cache=cache, state=CommandSupport.State.REFUSED)
    assert list(refused.values_list("command", flat=True)) == ["stats conns"]


def test_malformed_numbers_leave_gaps_only(poller: Poller, cache_at: CacheAt, peer: PeerAt) -> None:
    text = STATS.replace(b"STAT curr_items 3671", b"STAT curr_items many").replace(b"uptime 3", b"uptime -3")
    cache = cache_at(at(peer(answers({"stats": text}))))

    poller.poll(cache)

    assert poller.sample(cache.nodes.get(), "keys", "uptime_in_seconds", "used_memory") == (None, None, 3_312_873)


def test_nothing_of_redis_is_sent(poller: Poller, cache_at: CacheAt, peer: PeerAt) -> None:
    seen: list[str] = []
    cache = cache_at(at(peer(answers({"stats": STATS}, seen))))

    poller.poll(cache)

    assert seen == ["version", "stats", "stats settings", "stats slabs", "stats items", "stats conns"]
