"""Classes of chunks, each of them, read from real and scripted servers while somebody waits."""

from collections.abc import Callable

import hiredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.failures import Cause, ReadError
from collectors.memcached import classes
from collectors.memcached.classes import SlabClass, rows_of
from collectors.tests.conftest import Poller
from collectors.tests.memcached import answers
from collectors.tests.peers import Peer, captured, closed_port, stays_silent
from conftest import MemcachedFactory
from fleet.models import Cache, Node, Shard

SLABS, ITEMS = captured("memcached-1.6/slabs.txt"), captured("memcached-1.6/items.txt")
CacheAt = Callable[..., Cache]
PeerAt = Callable[..., Peer]


def row(**told: int) -> SlabClass:
    return SlabClass(1, *(told.get(name) for name in SlabClass._fields[1:]))


def test_each_class_has_its_row() -> None:
    rows = rows_of(SLABS, ITEMS)

    assert [one.number for one in rows] == sorted({one.number for one in rows})
    first = rows[0]
    assert (first.number, first.chunk_size, first.used_chunks, first.free_chunks) == (4, 192, 800, 4_661)
    assert (first.items, first.requested_bytes, first.oldest_seconds, first.hits) == (800, 130_978, 1, 115)


def test_a_row_tells_what_its_class_holds_and_wastes() -> None:
    one = row(chunk_size=100, used_chunks=30, free_chunks=10, requested_bytes=2_400)

    assert (one.bytes, one.used_ratio) == (4_000, 0.75)
    assert one.wasted_ratio == pytest.approx(0.2)


@pytest.mark.parametrize(
    "told", [{}, {"chunk_size": 100}, {"used_chunks": 0, "free_chunks": 0}, {"requested_bytes": 5, "chunk_size": 100}]
)
def test_what_is_not_told_is_not_made_up(told: dict[str, int]) -> None:
    one = row(**told)

    assert (one.bytes, one.used_ratio, one.wasted_ratio) == (None, None, None)


def test_more_bytes_than_chunks_hold_waste_nothing() -> None:
    assert row(chunk_size=100, used_chunks=1, free_chunks=0, requested_bytes=500).wasted_ratio == 0


def test_older_servers_tell_the_bytes_with_the_chunks() -> None:
    (one,) = rows_of(b"STAT 1:chunk_size 96\r\nSTAT 1:mem_requested 77\r\n", b"STAT items:1:number 2\r\n")

    assert (one.requested_bytes, one.items) == (77, 2)


def test_a_class_of_one_list_alone_is_shown() -> None:
    assert [one.number for one in rows_of(b"STAT 2:chunk_size 96\r\n", b"STAT items:1:number 2\r\n")] == [1, 2]


@pytest.mark.parametrize("replies", [(SLABS, hiredis.ReplyError("ERROR")), (hiredis.ReplyError("ERROR"), ITEMS)])
def test_a_refusal_is_told(replies: tuple[bytes, bytes]) -> None:
    with pytest.raises(ReadError) as caught:
        rows_of(*replies)

    assert caught.value.cause is Cause.ERROR_REPLY


@given(st.binary(max_size=200), st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_bytes_make_rows_or_none(slabs: bytes, items: bytes) -> None:
    assert all(0 < one.number <= 255 for one in rows_of(slabs, items))


@pytest.mark.django_db(transaction=True)
def test_a_real_server_is_looked_at(poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory) -> None:
    server = memcached_server()
    server.ask(*(f"set key{number} 0 0 500 noreply\r\n{'x' * 500}" for number in range(20)), "get key1")
    cache = cache_at(server.url)
    poller.poll(cache)

    seen = classes.read(Cache.objects.get(), cache.nodes.get().pk)

    assert seen.failure is None
    (one,) = [one for one in seen.rows if one.items]
    assert (one.items, one.hits, one.writes, one.evicted) == (20, 1, 20, 0)
    assert (one.chunk_size or 0) >= 500


def node_at(cache_at: CacheAt, port: int) -> tuple[Cache, int]:
    cache = cache_at(f"memcached://127.0.0.1:{port}")
    shard = Shard.objects.create(cache=cache, identity="a", number=1)
    node = Node.objects.create(cache=cache, shard=shard, identity="a", host="127.0.0.1", port=port)
    return Cache.objects.get(), node.pk


@pytest.mark.django_db(transaction=True)
def test_a_server_that_is_gone_is_told(cache_at: CacheAt) -> None:
    seen = classes.read(*node_at(cache_at, closed_port()))

    assert (seen.rows, seen.failure and seen.failure.cause) == ((), Cause.REFUSED)


@pytest.mark.usefixtures("short_timeouts")
@pytest.mark.django_db(transaction=True)
def test_nobody_waits_long_for_a_silent_server(cache_at: CacheAt, peer: PeerAt) -> None:
    seen = classes.read(*node_at(cache_at, peer(stays_silent).port))

    assert seen.failure
    assert seen.failure.cause is Cause.SILENT


@pytest.mark.django_db(transaction=True)
def test_only_what_was_asked_for_is_sent(cache_at: CacheAt, peer: PeerAt) -> None:
    seen: list[str] = []
    replies = {"stats slabs": SLABS + b"END\r\n", "stats items": ITEMS + b"END\r\n", "version": b"VERSION 1.6.18\r\n"}

    found = classes.read(*node_at(cache_at, peer(answers(replies, seen)).port))

    assert seen == ["version", "stats slabs", "stats items"]
    assert found.rows == rows_of(SLABS, ITEMS)


@pytest.mark.django_db(transaction=True)
def test_a_node_that_left_has_no_classes(cache_at: CacheAt) -> None:
    cache = cache_at("memcached://127.0.0.1:1")

    assert classes.read(cache, 987_654_321) == classes.Classes()
