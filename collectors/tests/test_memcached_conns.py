"""Who holds the connections of a Memcached, in the groups and rows that client lists of others make."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors import client_lists, client_presence
from collectors.client_list import ClientList
from collectors.failures import Cause
from collectors.memcached.conns import client_lines
from collectors.models import ClientReading, ClientRows, ClientTurn, CommandSupport
from collectors.tests.conftest import Poller
from collectors.tests.memcached import answers
from collectors.tests.peers import Peer, captured
from collectors.tests.test_memcached_poll import clients
from conftest import MemcachedFactory
from fleet.models import Cache

CONNS = captured("memcached-1.6/conns.txt")
STATS = captured("memcached-1.6/stats.txt") + b"END\r\n"
CacheAt = Callable[..., Cache]
PeerAt = Callable[..., Peer]


def conn(number: int, address: str, state: str = "conn_read", idle: object = 5) -> bytes:
    fields = {"addr": address, "state": state, "secs_since_last_cmd": idle}
    return b"".join(f"STAT {number}:{name} {value}\r\n".encode() for name, value in fields.items())


def groups_of(*conns: bytes) -> dict[str, dict[str | None, int]]:
    seen = ClientList()
    for line in client_lines(b"".join(conns)):
        seen.take(line)
    return {by: {row[0]: row[1] for row in rows} for by, rows in seen.groups().items()}


def test_each_connection_is_a_line_and_listeners_are_none() -> None:
    assert list(client_lines(CONNS)) == [
        b"addr=127.0.0.1:58638 idle=0 cmd=parse_cmd",
        b"addr=127.0.0.1:58640 idle=1 cmd=new_cmd",
    ]


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("tcp:10.0.7.9:4000", "10.0.7.0/24"),
        ("tcp6:[2001:db8::1]:4000", "2001:db8::/64"),
        ("unix:/run/memcached.sock", "unix socket"),
        ("unix:", "unix socket"),
    ],
)
def test_networks_are_told_by_the_address(address: str, network: str) -> None:
    assert groups_of(conn(30, address))["network"] == {network: 1}


def test_idle_times_and_states_make_groups() -> None:
    found = groups_of(
        conn(30, "tcp:10.0.0.1:1", idle=3),
        conn(31, "tcp:10.0.0.1:2", idle=700),
        conn(32, "tcp:10.0.0.2:3", "conn_swallow", idle=5),
    )

    assert found["idle"] == {"0-10 s": 2, "10-60 min": 1}
    assert found["command"] == {"read": 2, "swallow": 1}


@pytest.mark.parametrize(
    "line",
    [
        conn(30, "udp:0.0.0.0:11211"),
        conn(30, "tcp:10.0.0.1:1 name=shop user=x"),
        conn(30, ""),
        b"STAT 30:state conn_read\r\n",
        b"STAT x:addr tcp:10.0.0.1:1\r\n",
    ],
    ids=["udp", "blanks", "no address", "state alone", "no number"],
)
def test_what_is_nobodys_connection_is_passed_over(line: bytes) -> None:
    assert list(client_lines(line)) == []


@given(st.binary(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_lines_or_none(data: bytes) -> None:
    assert all(line.startswith(b"addr=") and line.count(b"=") >= 3 for line in client_lines(data))


@pytest.mark.django_db(transaction=True)
def test_a_real_server_tells_who_is_connected(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    server = memcached_server()
    cache = cache_at(server.url)
    poller.poll(cache)

    with clients(server, 12):
        assert client_lists.read(cache.pk)

    reading = ClientReading.objects.get()
    # The kept connection of the poller has no name that would tell it apart.
    assert (reading.failure, reading.connections, reading.own, reading.replication) == ("", 13, 1, 0)
    assert reading.groups["network"][0][:2] == ["127.0.0.0/24", 13]
    assert len(ClientRows.objects.get().rows) == 13


@pytest.mark.django_db(transaction=True)
def test_a_refusal_is_told_and_remembered(poller: Poller, cache_at: CacheAt, peer: PeerAt) -> None:
    seen: list[str] = []
    server = peer(answers({"stats conns": b"ERROR\r\n", "stats": STATS}, seen))
    cache = cache_at(f"memcached://127.0.0.1:{server.port}")
    poller.poll(cache)

    client_lists.read(cache.pk, is_demanded=True)
    ClientTurn.objects.all().delete()
    client_lists.read(cache.pk)

    assert "error" in ClientReading.objects.get().failure
    assert CommandSupport.objects.get(state="refused").command == "stats conns"
    assert seen.count("stats conns") == 2


@pytest.mark.django_db(transaction=True)
def test_a_list_without_our_own_connection_is_none(poller: Poller, cache_at: CacheAt, peer: PeerAt) -> None:
    server = peer(answers({"stats conns": b"END\r\n", "stats": STATS}))
    cache = cache_at(f"memcached://127.0.0.1:{server.port}")
    poller.poll(cache)

    client_lists.read(cache.pk, is_demanded=True)

    assert ClientReading.objects.get().failed_cause == Cause.NOT_STATS


@pytest.mark.django_db(transaction=True)
def test_a_switch_sees_which_hosts_are_still_connected(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    server = memcached_server()
    cache = cache_at(server.url)
    poller.poll(cache)

    with clients(server, 3):
        seen = client_presence.read(cache.pk, {"127.0.0.1"})

    assert seen.failure is None
    assert seen.present["127.0.0.1"].connections == 4
