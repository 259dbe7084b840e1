"""Reading client lists of real and scripted servers."""

import contextlib
import resource
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import client_lists, tasks
from collectors.models import ClientReading, ClientRows, ClientTurn, CommandSupport, NodeStatus
from collectors.tests import peers
from collectors.tests.conftest import Poller
from collectors.tests.peers import Peer, Script
from fleet.models import Cache
from launcher.valkey import Valkey

CacheAt = Callable[..., Cache]
StartServer = Callable[..., Valkey]
MANY, ROWS_STREAMED = 15_000, 64_000


@pytest.fixture(params=["valkey", "redis"])
def server(request: pytest.FixtureRequest) -> Valkey:
    """A Valkey of today, and Debian's Redis 7.0."""
    started: Valkey = request.getfixturevalue(f"{request.param}_server")("--protected-mode", "no")
    return started


def command(*words: str) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(peers.bulk(word.encode()) for word in words)


@contextlib.contextmanager
def connected(server: Valkey, number: int, *words: str, source: str = "127.0.0.1") -> Iterator[None]:
    """Hold connections from a source address, each of which sent one command."""
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            client = stack.enter_context(socket.create_connection(server.address, source_address=(source, 0)))
            client.sendall(command(*words))
            client.recv(100)
        yield


def groups(by: str) -> dict[str | None, int]:
    return {row[0]: row[1] for row in ClientReading.objects.latest("read_at").groups[by]}


def begin_anew() -> None:
    ClientTurn.objects.all().delete()


def test_it_counts_who_holds_the_connections(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    cache = cache_at(server.url)
    poller.poll(cache)
    with (
        connected(server, 30, "CLIENT", "SETNAME", "shop"),
        connected(server, 12, "CLIENT", "SETNAME", "mail", source="127.0.7.1"),
    ):
        server.ask("ACL", "SETUSER", "bot", "on", "nopass", "+@all", "~*")
        with connected(server, 5, "AUTH", "bot", "x"):
            own = str(server.ask("CLIENT", "LIST")).splitlines()

            client_lists.read(cache.pk)

    reading = ClientReading.objects.get()
    assert reading.failure == ""
    assert (reading.connections, reading.own) == (47, 2)
    assert reading.connections == sum("name=shardwatch" not in line and "cmd=client" not in line for line in own) + 42
    assert groups("name") == {"shop": 30, "mail": 12, "": 5}
    assert groups("network") == {"127.0.0.0/24": 35, "127.0.7.0/24": 12}
    assert groups("user") == {"default": 42, "bot": 5}
    assert {"client setname": 42, "auth": 5} == groups("command")
    assert len(ClientRows.objects.get().rows) == 47


def test_memory_is_what_the_server_says(poller: Poller, cache_at: CacheAt, valkey_server: StartServer) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    with connected(server, 3, "CLIENT", "SETNAME", "shop"):
        lines = [line for line in str(server.ask("CLIENT", "LIST")).splitlines() if "name=shop" in line]
        own = sum(int(part.removeprefix("tot-mem=")) for line in lines for part in line.split() if "tot-mem=" in part)

        client_lists.read(cache.pk)

    ((_, connections, _, _, tot_mem, _),) = ClientReading.objects.get().groups["name"]
    assert connections == 3
    assert tot_mem == own


def test_a_refusal_is_told_and_remembered(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    server.ask("ACL", "SETUSER", "default", "-client")
    cache = cache_at(server.url)
    poller.poll(cache)

    client_lists.read(cache.pk)
    begin_anew()
    client_lists.read(cache.pk)

    assert CommandSupport.objects.get(command="CLIENT LIST").state == "refused"
    assert "may not run this command" in ClientReading.objects.get().failure
    assert ClientReading.objects.count() == 1


def test_a_list_is_read_where_the_connection_may_not_be_named(
    poller: Poller, cache_at: CacheAt, valkey_server: StartServer
) -> None:
    server = valkey_server()
    server.ask("ACL", "SETUSER", "default", "-client|setname")
    cache = cache_at(server.url)
    poller.poll(cache)

    client_lists.read(cache.pk)

    reading = ClientReading.objects.get()
    # Known by its address; the poll's connection, which has no name, counts among the others.
    assert (reading.own, reading.failure) == (1, "")


def test_above_the_limit_it_reads_on_demand_only(
    poller: Poller, cache_at: CacheAt, valkey_server: StartServer, settings: Settings
) -> None:
    settings.CLIENTS_LIMIT = 5
    server = valkey_server()
    cache = cache_at(server.url)
    with connected(server, 10, "PING"):
        poller.poll(cache)
        client_lists.read(cache.pk)
        assert not ClientReading.objects.exists()
        begin_anew()

        client_lists.read(cache.pk, is_demanded=True)

    assert ClientReading.objects.get().connections == 10


def test_one_list_is_not_read_twice_at_once(poller: Poller, cache_at: CacheAt, valkey_server: StartServer) -> None:
    cache = cache_at(valkey_server().url)
    poller.poll(cache)
    now = timezone.now()

    assert client_lists.read(cache.pk)
    assert not client_lists.read(cache.pk, is_demanded=True)
    ClientTurn.objects.update(begun_at=now - timedelta(seconds=30), ended_at=None)
    assert not client_lists.read(cache.pk)
    ClientTurn.objects.update(begun_at=now - timedelta(minutes=5))
    assert client_lists.read(cache.pk)


def test_nodes_that_do_not_answer_are_left_alone(poller: Poller, cache_at: CacheAt, valkey_server: StartServer) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    NodeStatus.objects.update(failing_since=timezone.now())

    client_lists.read(cache.pk)

    assert not ClientReading.objects.exists()


def test_a_list_that_takes_too_long_is_left(
    poller: Poller, cache_at: CacheAt, valkey_server: StartServer, settings: Settings
) -> None:
    cache = cache_at(valkey_server().url)
    poller.poll(cache)
    settings.CLIENTS_TIMEOUT_SECONDS = 0

    client_lists.read(cache.pk)

    assert ClientReading.objects.get().failure


def test_on_demand_it_says_why_a_node_cannot_be_read(cache_at: CacheAt, short_timeouts: None) -> None:
    cache = cache_at(f"redis://127.0.0.1:{peers.closed_port()}")
    Poller().poll(cache)

    client_lists.read(cache.pk, is_demanded=True)

    assert "Nothing listens" in ClientReading.objects.get().failure


@pytest.mark.parametrize("reply", [b"+OK\r\n", b"$50\r\nid=1 addr=1.2.3.4:5", b"-ERR unknown command\r\n", b"junk"])
def test_it_says_what_is_wrong_with_an_answer(
    reply: bytes, cache_at: CacheAt, peer: Callable[[Script], Peer], short_timeouts: None
) -> None:
    def script(connection: socket.socket) -> None:
        for words in peers.commands(connection):
            connection.sendall(reply if words[:2] == ["CLIENT", "LIST"] else peers.OK)
            if words[:2] == ["CLIENT", "LIST"]:
                return

    server = peer(script)
    cache = cache_at(server.url)
    cache.nodes.create(identity="x", host="127.0.0.1", port=server.port)

    client_lists.read(cache.pk, is_demanded=True)

    reading = ClientReading.objects.get()
    assert reading.failure
    assert reading.groups == {}


def streamed(connection: socket.socket) -> None:
    """Answer CLIENT LIST with 64,000 connections, made while they are sent."""
    row = b"id=%07d addr=10.0.%03d.7:5000 name=<b>%07d age=5 idle=%03d qbuf=1 omem=0 tot-mem=2 cmd=get user=default\n"
    size = len(row % (0, 0, 0, 0))
    for words in peers.commands(connection):
        if words[:2] != ["CLIENT", "LIST"]:
            connection.sendall(peers.OK)
            continue
        connection.sendall(b"$%d\r\n" % (size * ROWS_STREAMED))
        for first in range(0, ROWS_STREAMED, 500):
            connection.sendall(b"".join(row % (n, n % 200, n, n % 1000) for n in range(first, first + 500)))
        connection.sendall(b"\r\n")


def memory_bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def test_it_never_holds_a_long_list_whole(cache_at: CacheAt, peer: Callable[[Script], Peer]) -> None:
    server = peer(streamed)
    cache = cache_at(server.url)
    cache.nodes.create(identity="x", host="127.0.0.1", port=server.port)

    # Begin the high-water mark of this process anew.
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_bytes("VmRSS")

    client_lists.read(cache.pk, is_demanded=True)

    grown = memory_bytes("VmHWM") - before

    reading = ClientReading.objects.get()
    assert (reading.connections, reading.failure) == (ROWS_STREAMED, "")
    assert reading.bytes_read > 6_000_000
    assert grown < reading.bytes_read / 2
    assert len(reading.groups["name"]) == 51


def test_it_reads_15000_real_connections(
    poller: Poller, cache_at: CacheAt, valkey_server: StartServer, settings: Settings
) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    server = valkey_server("--maxclients", str(MANY + 100), "--tcp-backlog", "1024")
    cache = cache_at(server.url)
    poller.poll(cache)
    with contextlib.ExitStack() as stack:
        for number in range(MANY):
            source = (f"127.0.{number % 3 + 1}.1", 0)
            stack.enter_context(socket.create_connection(server.address, source_address=source))

        client_lists.read(cache.pk, is_demanded=True)
        poller.poll(cache)

    reading = ClientReading.objects.get()
    assert (reading.connections, reading.failure) == (MANY, "")
    assert groups("network") == {f"127.0.{number}.0/24": MANY // 3 for number in (1, 2, 3)}
    assert poller.sample(cache.nodes.get(), "connected_clients") == (MANY + 1,)


def test_single_connections_are_forgotten_after_minutes(
    poller: Poller, cache_at: CacheAt, valkey_server: StartServer
) -> None:
    cache = cache_at(valkey_server().url)
    poller.poll(cache)
    client_lists.read(cache.pk)

    client_lists.due_caches(timezone.now() + timedelta(minutes=11))

    assert not ClientRows.objects.exists()
    assert ClientReading.objects.exists()


def test_what_is_paused_or_out_of_reach_is_not_due(cache_at: CacheAt) -> None:
    cache_at("redis://127.0.0.1:2", is_paused=True)
    cache_at("redis://127.0.0.1:3", reach="service")

    assert client_lists.due_caches() == []


def test_groups_are_forgotten_after_days(poller: Poller, cache_at: CacheAt, valkey_server: StartServer) -> None:
    cache = cache_at(valkey_server().url)
    poller.poll(cache)
    client_lists.read(cache.pk)

    client_lists.forget_old(timezone.now() + timedelta(days=15))

    assert not ClientReading.objects.exists()


def test_the_task_reads(poller: Poller, cache_at: CacheAt, valkey_server: StartServer) -> None:
    cache = cache_at(valkey_server().url)
    poller.poll(cache)

    tasks.read_clients_of(cache.pk)

    assert ClientReading.objects.exists()
    assert client_lists.due_caches() == [cache.pk]
    tasks.read_client_lists()
