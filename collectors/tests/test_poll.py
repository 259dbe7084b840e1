"""Polls of real servers and scripted ones, and what they leave in the tables."""

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from collectors import leases, poll
from collectors.models import CommandSupport, NodeFact, PollLease
from collectors.tests import peers
from collectors.tests.conftest import Poller, status_of
from collectors.tests.peers import Peer, Script
from fleet.models import Cache, Node
from fleet.secrets import Secret
from launcher.valkey import Valkey
from launcher.waiting import until

CacheAt = Callable[..., Cache]
StartPeer = Callable[[Script], Peer]
StartValkey = Callable[..., Valkey]


def test_it_writes_a_sample_of_a_standalone_server(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey
) -> None:
    cache = cache_at(valkey_server("--maxmemory", "64mb").url)

    poller.poll(cache)

    node = cache.nodes.get()
    assert poller.sample(node, "maxmemory", "is_primary", "keys", "maxclients") == (64 * 2**20, True, 0, 10000)
    assert status_of(cache).answered_at
    assert NodeFact.objects.get(node=node, name="maxmemory_policy").value == "noeviction"
    cache.refresh_from_db()
    assert (cache.engine, cache.topology) == ("valkey", "standalone")


def test_it_keeps_one_named_connection(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    server = valkey_server()
    cache = cache_at(server.url)

    asked = set()
    for _ in range(4):
        poller.poll(cache)
        asked.add(PollLease.objects.get(cache=cache).commands)

    clients = str(server.ask("CLIENT", "LIST"))
    assert clients.count("name=shardwatch") == 1
    lease = PollLease.objects.get(cache=cache)
    assert (lease.polls, lease.connections, lease.skipped) == (4, 1, 0)
    # INFO alone; which of the four asks more is told by the clock.
    assert min(asked) == 1


def test_it_reads_a_server_again_that_restarted(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    server.kill()
    poller.poll(cache)
    failing = status_of(cache).failing_since
    server.start()

    poller.poll(cache)

    assert failing
    assert status_of(cache).failing_since is None
    assert poller.sample(cache.nodes.get(), "is_primary") == (True,)


def test_it_takes_a_changed_password(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    server.ask("CONFIG", "SET", "requirepass", "new")
    poller.poll(cache)
    refused = status_of(cache).failed_step
    cache.password = Secret.of("new")
    cache.save()

    poller.poll(cache)

    assert refused == "auth"
    assert status_of(cache).failed_step == ""


def test_it_tells_how_far_a_replica_is_behind(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    primary = valkey_server()
    replica = valkey_server("--replicaof", f"127.0.0.1 {primary.port}")
    assert until(lambda: b"link_status:up" in bytes(str(replica.ask("INFO", "replication")), "utf-8"), 10)
    cache = cache_at(primary.url)
    poller.poll(cache)

    poller.poll(cache)

    node = cache.nodes.get(port=replica.port)
    assert (node.role, node.shard) == ("replica", cache.nodes.get(port=primary.port).shard)
    behind, seconds, link = (
        poller.sample(node, "replication_lag_bytes", "replication_lag_seconds", "master_link_up") or ()
    )
    assert 0 <= behind < 1000
    assert 0 <= seconds < 10
    assert link is True
    assert poller.sample(cache.nodes.get(port=primary.port), "replication_lag_bytes") == (None,)


def test_it_polls_listed_servers_as_shards(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    servers = [valkey_server(), valkey_server()]
    cache = cache_at(", ".join(server.url for server in servers))

    poller.poll(cache)

    assert [shard.nodes.get().port for shard in cache.shards.all()] == [server.port for server in servers]
    cache.refresh_from_db()
    assert cache.topology == "sharded"


def test_it_writes_details_rarely(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    cache = cache_at(valkey_server().url)

    # Five minutes.
    for _ in range(21):
        poller.poll(cache)

    assert poller.details(cache.nodes.get()) == 2


def test_one_slow_node_delays_nobody(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, short_timeouts: None
) -> None:
    servers = [valkey_server(), valkey_server()]
    slow, quick = [cache_at(server.url) for server in servers]
    poller.poll(slow, quick)
    servers[0].pause()
    poller.poll(slow, quick)
    began = time.monotonic()

    poller.poll(slow, quick)

    # The node that failed before is waited for no more.
    assert time.monotonic() - began < 0.45
    assert poller.sample(quick.nodes.get(), "is_primary") == (True,)
    assert status_of(slow).failed_step == "info"
    assert status_of(quick).failed_step == ""


def test_a_node_that_cannot_be_reached_holds_up_one_poll_only(
    poller: Poller, cache_at: CacheAt, short_timeouts: None
) -> None:
    with peers.full_backlog() as port:
        cache = cache_at(f"redis://127.0.0.1:{port}")
        poller.poll(cache)
        began = time.monotonic()

        poller.poll(cache)

    assert time.monotonic() - began < 0.45
    assert status_of(cache).failures == 2


def test_it_opens_no_new_connections_to_a_stuck_server(
    poller: Poller, cache_at: CacheAt, peer: StartPeer, short_timeouts: None
) -> None:
    stuck = peer(peers.stays_silent)
    cache = cache_at(stuck.url, password="x")

    for _ in range(4):
        poller.poll(cache)

    assert stuck.connections == 1
    assert status_of(cache).failures == 4


def test_it_reads_an_answer_that_comes_after_all(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey, short_timeouts: None
) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    server.pause()
    poller.poll(cache)
    server.resume()

    # The late answer itself is thrown away; the connection is of use again.
    assert until(lambda: poller.poll(cache) and not status_of(cache).failed_step, 5)
    assert str(server.ask("CLIENT", "LIST")).count("name=shardwatch") == 1


def test_it_remembers_what_a_server_refuses(poller: Poller, cache_at: CacheAt, peer: StartPeer) -> None:
    seen: list[str] = []
    old = peers.bulk(b"redis_version:4.0.9\r\nused_memory:5\r\nmaxmemory:0\r\nrole:master\r\n")
    server = peer(peers.answers({"INFO": old, "CLIENT": b"-NOPERM no\r\n"}, seen))
    cache = cache_at(server.url)

    for _ in range(3):
        poller.poll(cache)
        server.hang_up()

    support = dict(CommandSupport.objects.values_list("command", "state"))
    expected = {"INFO": "allowed", "CONFIG GET": "refused", "CLIENT SETNAME": "refused"}
    assert support.items() >= expected.items()
    assert seen.count("INFO") == 3
    assert seen.count("CLIENT SETNAME shardwatch") == 1
    assert seen.count("CONFIG GET maxclients") == 1
    assert poller.sample(cache.nodes.get(), "maxclients", "used_memory") == (None, 5)


def test_it_takes_limits_from_the_configuration_of_an_old_server(
    poller: Poller, cache_at: CacheAt, peer: StartPeer
) -> None:
    old = peers.bulk(b"redis_version:4.0.9\r\nused_memory:5\r\nrole:master\r\n")
    replies = {
        "INFO": old,
        "CONFIG GET maxclients": b"*2\r\n$10\r\nmaxclients\r\n$3\r\n777\r\n",
        "CONFIG GET maxmemory": b"*2\r\n$9\r\nmaxmemory\r\n$4\r\n4096\r\n",
    }
    cache = cache_at(peer(peers.answers(replies)).url)

    for _ in range(3):
        poller.poll(cache)

    # Asked for rarely, it stands for the polls in between.
    assert poller.sample(cache.nodes.get(), "maxclients", "maxmemory") == (777, 4096)


def test_it_survives_markup_and_control_bytes(poller: Poller, cache_at: CacheAt, peer: StartPeer) -> None:
    lines = [b"os:<img src=x onerror=alert(1)>\x00\x07", b"used_memory:1\x00", b"future_field:\xff\xfe", b"db0:keys=zz"]
    text = peers.bulk(b"\r\n".join([b"redis_version:9.9.9", b"role:master", *lines, b"connected_clients:3", b""]))
    cache = cache_at(peer(peers.answers({"INFO": text})).url)

    poller.poll(cache)

    node = cache.nodes.get()
    assert poller.sample(node, "used_memory", "connected_clients") == (None, 3)
    assert NodeFact.objects.get(node=node, name="os").value == "<img src=x onerror=alert(1)>"


def test_it_leaves_a_cache_alone_that_another_worker_polls(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey
) -> None:
    cache = cache_at(valkey_server().url)
    leases.make_missing([cache.pk])
    leases.claim([cache.pk], poll.current_tick(), "other")

    polled = poller.poll(cache)

    assert polled == []
    assert PollLease.objects.get(cache=cache).skipped == 1


def test_it_polls_a_tick_once(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    cache = cache_at(valkey_server().url)
    poller.poll(cache)

    again = poll.poll_caches([cache.pk], poller.tick, poller.pool, "other")

    assert again == []
    assert PollLease.objects.get(cache=cache).skipped == 0


def test_it_goes_on_after_the_clock_was_set_back(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    cache = cache_at(valkey_server().url)
    poller.poll(cache)
    poller.tick -= 3600

    polled = poller.poll(cache)

    assert polled == [cache.pk]
    assert poller.sample(cache.nodes.get(), "is_primary") == (True,)


def test_it_takes_over_the_lease_of_a_worker_that_died(
    poller: Poller, cache_at: CacheAt, valkey_server: StartValkey
) -> None:
    cache = cache_at(valkey_server().url)
    leases.make_missing([cache.pk])
    leases.claim([cache.pk], poll.current_tick(), "dead")
    PollLease.objects.update(until=timezone.now() - timedelta(minutes=1))

    assert poller.poll(cache) == [cache.pk]


def test_it_closes_connections_out_of_use(poller: Poller, cache_at: CacheAt, valkey_server: StartValkey) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    poller.poll(cache)
    (target,) = poller.pool.targets_of([cache.pk])
    target.used_at -= 3600

    poller.pool.sweep()

    assert until(lambda: "name=shardwatch" not in str(server.ask("CLIENT", "LIST")), 5)


def test_it_gives_a_cache_with_a_broken_address_no_nodes(poller: Poller, cache_at: CacheAt) -> None:
    cache = cache_at("http://nowhere")

    assert poller.poll(cache) == [cache.pk]
    assert not Node.objects.exists()


def test_it_polls_hundreds_of_dead_nodes_in_one_go(poller: Poller, cache_at: CacheAt) -> None:
    port = peers.closed_port()
    cache = cache_at(", ".join(f"redis://127.0.{i // 250}.{i % 250 + 1}:{port}" for i in range(300)))

    poller.poll(cache)

    assert cache.nodes.filter(status__failed_step="connect").count() == 300


@pytest.mark.parametrize("moment", [0.0, 14.999])
def test_the_tick_is_the_newest_point_of_the_grid(moment: float) -> None:
    assert poll.current_tick(1_700_000_100 + moment) == 1_700_000_100 + int(moment) // 5 * 5


def test_a_layout_that_cannot_be_written_costs_no_other_cache_its_lease(poller: Poller, cache_at: CacheAt) -> None:
    caches = [cache_at("redis://127.0.0.1:1"), cache_at("redis://127.0.0.1:2")]
    ids = [cache.pk for cache in caches]
    leases.make_missing(ids)
    begun = poll.Poll(leases.claim(ids, poller.tick, "test"), poller.tick, poller.pool, "test")
    broken = begun.watched[ids[0]]
    broken.cache = broken.cache._replace(address="redis://" + "a" * 999)

    begun.run()

    assert list(PollLease.objects.values_list("polls", flat=True)) == [1, 1]


def test_commands_that_were_never_sent_are_not_counted(poller: Poller, cache_at: CacheAt) -> None:
    cache = cache_at(f"redis://127.0.0.1:{peers.closed_port()}")

    poller.poll(cache)

    assert PollLease.objects.get(cache=cache).commands == 0


def test_what_a_server_did_not_understand_was_sent_to_it(
    poller: Poller, cache_at: CacheAt, peer: StartPeer, short_timeouts: None
) -> None:
    cache = cache_at(peer(peers.answers({"CLIENT": b"+OK\r\n"})).url)

    poller.poll(cache)

    assert status_of(cache).failing_since
    assert PollLease.objects.get(cache=cache).commands > 0


def test_a_cache_took_as_long_as_its_own_nodes(
    poller: Poller, cache_at: CacheAt, peer: StartPeer, valkey_server: StartValkey, short_timeouts: None
) -> None:
    quick, slow = cache_at(valkey_server().url), cache_at(peer(peers.stays_silent).url)

    poller.poll(quick, slow)

    took = {lease.cache_id: lease.duration_seconds or 0.0 for lease in PollLease.objects.all()}
    assert 0 < took[quick.pk] < 0.4 < took[slow.pk]
