"""Stored scans from start to results: on real servers, steered by people, and through faults."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db import OperationalError, connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import samples
from collectors.keyscan import holding, results, runner, starting
from collectors.keyscan.brake import BRAKES, GENTLE
from collectors.keyscan.models import Scan, ScanKey, ScanShard, ScanState
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.reasons import Reason, ScanRefusedError
from collectors.models import NodeStatus
from collectors.tests.cast import cache_with_nodes, reading
from collectors.tests.keyscan import client_of, fill
from collectors.worker import Identity
from conftest import PATIENCE_SECONDS, ClusterFactory, ValkeyFactory
from fleet.models import Cache, Node
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db(transaction=True)
ANY_NODE = ScanOptions(may_use_primary=True)


# Three of four keys have a time to live.
EXPIRE = "for n = 0, tonumber(ARGV[1]) - 1 do if n % 4 > 0 then redis.call('EXPIRE', 'user:' .. n, 1000) end end"


def filled(server: Valkey, keys: int) -> redis.Redis:
    fill(server, keys=keys, prefix="user:", least=1, sizes=97)
    client = client_of(server)
    client.eval(EXPIRE, 0, keys)
    pipe = client.pipeline(transaction=False)
    pipe.hset("cart:1", mapping={f"field{n}": "v" * 50 for n in range(500)})
    pipe.set("blob:giant", b"z" * 200_000)
    pipe.execute()
    return client


def cache_of(*servers: Valkey, name: str = "game") -> Cache:
    cache = cache_with_nodes(len(servers), name=name)
    for node, server in zip(cache.nodes.all(), servers, strict=True):
        Node.objects.filter(pk=node.pk).update(port=server.port)
    Cache.objects.filter(pk=cache.pk).update(address=f"redis://127.0.0.1:{servers[0].port}")
    return Cache.objects.get(pk=cache.pk)


def until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.05)


def in_background(scan: Scan) -> threading.Thread:
    def go() -> None:
        runner.run(scan.pk)
        connection.close()

    thread = threading.Thread(target=go)
    thread.start()
    return thread


def is_walking(scan: Scan) -> bool:
    return any(shard.keys > 0 for shard in ScanShard.objects.filter(scan=scan))


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let gentle scans take their time: a machine with nothing else to do ends them before a test can interfere."""
    monkeypatch.setitem(BRAKES, "gentle", replace(GENTLE, share=0.02))


@pytest.fixture(autouse=True)
def keep_working() -> Iterator[None]:
    Identity.stopping.clear()
    yield
    Identity.stopping.clear()


@pytest.fixture
def server(valkey_server: ValkeyFactory) -> Valkey:
    return valkey_server()


def test_it_stores_what_it_found(server: Valkey) -> None:
    filled(server, 3_000)
    scan = starting.start(cache_of(server), ANY_NODE, "fast", "ada")

    runner.run(scan.pk)

    scan.refresh_from_db()
    assert (scan.state, scan.keys) == (ScanState.DONE, 3_002)
    first = scan.top_keys.order_by("-size")[0]
    assert (bytes(first.name), first.type, first.is_exact, first.ttl_ms) == (b"blob:giant", "string", True, -1)
    assert first.size > 200_000
    assert [change.cause for change in scan.changes.all()] == [Reason.ASKED, Reason.TAKEN_UP, Reason.ALL_WALKED]


def test_it_finds_the_same_as_asking_for_every_key_one_by_one(server: Valkey) -> None:
    client = filled(server, 1_000)
    scan = starting.start(cache_of(server), ScanOptions(may_use_primary=True, top=50), "brisk")

    runner.run(scan.pk)

    sizes = {key: client.memory_usage(key, samples=0) or 0 for key in client.scan_iter(count=1000)}
    expected = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:50]
    found = [(bytes(row.name), row.size) for row in scan.top_keys.order_by("-size", "name")[:50]]
    assert found == expected
    scan.refresh_from_db()
    assert scan.bytes == sum(sizes.values())


def test_it_keeps_prefixes_whose_sums_add_up(server: Valkey) -> None:
    filled(server, 2_000)
    scan = starting.start(cache_of(server), ANY_NODE, "fast")

    runner.run(scan.pk)

    scan.refresh_from_db()
    rows = list(scan.prefixes.all())
    root = next(row for row in rows if row.depth == 0)
    assert (root.keys, root.size) == (scan.keys, scan.bytes)
    for row in rows:
        below = [child for child in rows if child.parent == row.digest]
        if below:
            assert sum(child.size for child in below) == row.size
            assert sum(child.keys for child in below) == row.keys
    assert next(row for row in rows if bytes(row.prefix) == b"user:*").keys == 2_000


def test_it_tells_shares_and_histograms(server: Valkey) -> None:
    filled(server, 2_000)
    scan = starting.start(cache_of(server), ScanOptions(may_use_primary=True, fields=("type", "ttl", "len")), "fast")

    runner.run(scan.pk)

    scan.refresh_from_db()
    summary = scan.summary
    assert summary["is_full"] is True
    assert {row["type"]: row["keys"] for row in summary["types"]} == {"string": 2_001, "hash": 1}
    assert summary["without_ttl"][0] == pytest.approx(502 / 2_002, abs=1e-6)
    assert summary["total"] == 2_002
    assert sum(count for _bits, count in summary["sizes"]) == 2_002
    assert 0 < summary["overhead"]["payload"] < summary["overhead"]["held"]


def test_it_scans_an_empty_server(server: Valkey) -> None:
    scan = starting.start(cache_of(server), ANY_NODE, "gentle")

    runner.run(scan.pk)

    scan.refresh_from_db()
    assert (scan.state, scan.keys, scan.bytes) == (ScanState.DONE, 0, 0)


def test_it_goes_to_every_shard(valkey_server: ValkeyFactory) -> None:
    servers = [valkey_server(), valkey_server()]
    filled(servers[0], 100)
    filled(servers[1], 300)
    scan = starting.start(cache_of(*servers), ANY_NODE, "fast")

    runner.run(scan.pk)

    assert [(shard.number, shard.keys, shard.state) for shard in scan.shards.all()] == [
        (1, 102, "done"),
        (2, 302, "done"),
    ]
    assert {key.shard for key in scan.top_keys.all()} == {1, 2}


def test_it_scans_only_what_was_asked_for(server: Valkey) -> None:
    filled(server, 500)
    scan = starting.start(cache_of(server), ScanOptions(match="cart:*", may_use_primary=True), "fast")

    runner.run(scan.pk)

    scan.refresh_from_db()
    assert scan.keys == 1
    assert not scan.cache.scan_metrics.exists()


def test_it_is_run_by_one_worker_only(server: Valkey) -> None:
    filled(server, 10)
    scan = starting.start(cache_of(server), ANY_NODE, "fast")
    assert holding.claim(scan.pk, "somebody") is not None

    runner.run(scan.pk)

    scan.refresh_from_db()
    assert (scan.state, scan.worker, scan.attempts) == (ScanState.RUNNING, "somebody", 1)


@pytest.mark.parametrize("state", [ScanState.DONE, ScanState.PAUSED, ScanState.STOPPED, ScanState.FAILED])
def test_it_leaves_scans_alone_that_are_not_to_run(server: Valkey, state: ScanState) -> None:
    scan = starting.start(cache_of(server), ANY_NODE, "fast")
    Scan.objects.filter(pk=scan.pk).update(state=state)

    runner.run(scan.pk)

    scan.refresh_from_db()
    assert (scan.state, scan.attempts) == (state, 0)


def walking_scan(server: Valkey, keys: int = 20_000) -> Scan:
    """Return a scan that takes its time: gently, behind a limit of its own."""
    filled(server, keys)
    return starting.start(cache_of(server), ANY_NODE, "gentle")


def test_it_is_cancelled_within_two_seconds_and_keeps_what_was_found(server: Valkey) -> None:
    scan = walking_scan(server, 60_000)
    thread = in_background(scan)
    until(lambda: is_walking(scan), "the scan walks")

    asked = time.monotonic()
    starting.cancel(scan, "ada")
    thread.join(PATIENCE_SECONDS)

    assert time.monotonic() - asked < 2.5
    scan.refresh_from_db()
    assert scan.state == ScanState.STOPPED
    assert 0 < scan.keys < 60_002
    assert not ScanShard.objects.filter(is_active=True).exists()


def test_it_pauses_and_goes_on(server: Valkey) -> None:
    scan = walking_scan(server, 60_000)
    thread = in_background(scan)
    until(lambda: is_walking(scan), "the scan walks")
    starting.pause(scan, "ada")
    until(lambda: ScanShard.objects.get(scan=scan).state == "paused", "the shard is paused")
    before = ScanShard.objects.get(scan=scan).keys
    until(lambda: ScanShard.objects.get(scan=scan).progress["keys_per_second"] == 0, "nothing moves")

    starting.set_brake(scan, "fast", "ada")
    starting.resume(scan, "ada")
    thread.join(PATIENCE_SECONDS)

    scan.refresh_from_db()
    assert (scan.state, scan.keys) == (ScanState.DONE, 60_002)
    assert before < 60_002
    assert Reason.BRAKE in [change.cause for change in scan.changes.all()]


def test_it_leaves_a_paused_scan_to_others(server: Valkey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PAUSE_HELD_SECONDS", 0.5)
    scan = walking_scan(server, 60_000)
    thread = in_background(scan)
    until(lambda: is_walking(scan), "the scan walks")

    starting.pause(scan)
    thread.join(PATIENCE_SECONDS)

    scan.refresh_from_db()
    shard = scan.shards.get()
    assert (scan.state, bool(shard.checkpoint), shard.is_active) == (ScanState.PAUSED, True, True)
    assert starting.waiting() == []
    starting.resume(scan)
    assert starting.waiting() == [scan.pk]
    starting.set_brake(scan, "fast")
    runner.run(scan.pk)
    scan.refresh_from_db()
    assert (scan.state, scan.keys) == (ScanState.DONE, 60_002)


def test_it_hands_over_when_its_worker_is_told_to_stop(server: Valkey) -> None:
    scan = walking_scan(server, 60_000)
    thread = in_background(scan)
    until(lambda: is_walking(scan), "the scan walks")

    Identity.stopping.set()
    thread.join(PATIENCE_SECONDS)

    Identity.stopping.clear()
    assert starting.waiting() == [scan.pk]
    starting.set_brake(scan, "fast")
    runner.run(scan.pk)
    scan.refresh_from_db()
    assert (scan.state, scan.keys, scan.attempts) == (ScanState.DONE, 60_002, 2)
    assert [change.cause for change in scan.changes.all()][2] == Reason.HANDED_OVER


def test_it_goes_on_where_a_killed_worker_was(server: Valkey, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = walking_scan(server, 60_000)
    program = (
        "import django; django.setup(); from collectors.keyscan import brake, runner; "
        "brake.BRAKES['gentle'] = brake.Brake('gentle', slice_seconds=0.00012, share=0.02); "
        f"runner.CHECKPOINT_SECONDS = 0.2; runner.run({scan.pk})"
    )
    database = connection.settings_dict
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": url_of(database)}
    worker = subprocess.Popen([sys.executable, "-c", program], env=environment)
    until(lambda: bool(ScanShard.objects.get(scan=scan).checkpoint), "a checkpoint is written")

    worker.send_signal(signal.SIGKILL)
    worker.wait()

    seen = ScanShard.objects.get(scan=scan).keys
    assert 0 < seen < 60_002
    assert starting.waiting() == []
    Scan.objects.filter(pk=scan.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert starting.waiting() == [scan.pk]
    starting.set_brake(scan, "fast")
    runner.run(scan.pk)
    scan.refresh_from_db()
    assert (scan.state, scan.keys, scan.attempts) == (ScanState.DONE, 60_002, 2)
    assert scan.shards.get().restarts == 0
    assert next(row for row in scan.prefixes.all() if row.depth == 0).keys == 60_002


def url_of(database: dict[str, Any]) -> str:
    base = os.environ["DATABASE_URL"]
    head, _slash, rest = base.rpartition("/")
    query = rest.partition("?")[2]
    return f"{head}/{database['NAME']}" + (f"?{query}" if query else "")


def test_it_begins_a_shard_anew_whose_checkpoint_is_damaged(server: Valkey) -> None:
    filled(server, 500)
    scan = starting.start(cache_of(server), ANY_NODE, "fast")
    ScanShard.objects.filter(scan=scan).update(checkpoint=b"nonsense")

    runner.run(scan.pk)

    scan.refresh_from_db()
    assert (scan.state, scan.keys) == (ScanState.DONE, 502)


def test_it_ends_without_a_word_when_another_worker_took_over(server: Valkey) -> None:
    scan = walking_scan(server, 60_000)
    thread = in_background(scan)
    until(lambda: is_walking(scan), "the scan walks")

    Scan.objects.filter(pk=scan.pk).update(worker="another", attempts=7)
    thread.join(PATIENCE_SECONDS)

    scan.refresh_from_db()
    assert (scan.state, scan.worker) == (ScanState.RUNNING, "another")
    assert not ScanKey.objects.filter(scan=scan).exists()


def test_it_says_which_shard_could_not_be_walked(valkey_server: ValkeyFactory, settings: Settings) -> None:
    settings.POLL_CONNECT_TIMEOUT_SECONDS = 0.3
    servers = [valkey_server(), valkey_server("--requirepass", "secret")]
    filled(servers[0], 50)
    scan = starting.start(cache_of(*servers), ANY_NODE, "fast")

    runner.run(scan.pk)

    scan.refresh_from_db()
    ending = scan.changes.last()
    assert ending is not None
    assert (scan.state, scan.keys) == (ScanState.INCOMPLETE, 52)
    assert (ending.cause, ending.data) == (Reason.SHARDS_FAILED, {"count": 1, "shards": 2})
    assert [shard.failed_cause for shard in scan.shards.all()] == ["", "password_missing"]


def test_it_gives_up_on_a_scan_that_no_worker_survives(server: Valkey) -> None:
    scan = starting.start(cache_of(server), ANY_NODE, "fast")
    Scan.objects.filter(pk=scan.pk).update(attempts=runner.ATTEMPTS)

    runner.run(scan.pk)

    scan.refresh_from_db()
    ending = scan.changes.last()
    assert ending is not None
    assert (scan.state, ending.cause) == (ScanState.FAILED, Reason.CRASHED)
    assert not ScanShard.objects.filter(is_active=True).exists()


def test_it_stops_when_the_budget_of_a_node_is_spent(server: Valkey, settings: Settings) -> None:
    settings.SCAN_BUDGET_SECONDS = 100
    scan = walking_scan(server, 60_000)
    earlier = Scan.objects.create(cache=scan.cache, state=ScanState.DONE)
    ScanShard.objects.create(scan=earlier, number=1, node=scan.shards.get().node, is_active=False, busy_seconds=99.9999)

    runner.run(scan.pk)

    scan.refresh_from_db()
    ending = scan.changes.last()
    assert ending is not None
    assert (scan.state, ending.cause) == (ScanState.INCOMPLETE, Reason.BUDGET_SPENT)


def test_it_walks_on_while_the_database_is_away(server: Valkey, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = walking_scan(server, 30_000)
    thread = in_background(scan)
    until(lambda: is_walking(scan), "the scan walks")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )

    starting.set_brake(scan, "fast")
    thread.join(PATIENCE_SECONDS)

    scan.refresh_from_db()
    assert (scan.state, scan.keys) == (ScanState.DONE, 30_002)


def test_it_keeps_results_until_a_full_database_has_room(server: Valkey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "STORE_RETRY_SECONDS", 0.05)
    filled(server, 50)
    scan = starting.start(cache_of(server), ANY_NODE, "fast")
    tries: list[int] = []
    store = results.store

    def full(*given: Any) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError("could not extend file: No space left on device")
        store(*given)

    monkeypatch.setattr(results, "store", full)
    runner.run(scan.pk)

    scan.refresh_from_db()
    assert (len(tries), scan.state, scan.keys) == (3, ScanState.DONE, 52)


def cluster_cache(servers: list[Valkey]) -> Cache:
    """Return the cache of a cluster of three primaries and their replicas, in the order of start_cluster."""
    cache = cache_with_nodes(3, replicas=1)
    Cache.objects.filter(pk=cache.pk).update(address=f"redis://127.0.0.1:{servers[0].port}", topology="cluster")
    for number, shard in enumerate(cache.shards.all()):
        shard.slots = [[number * 5_461, number * 5_461 + 5_460]]
        shard.save()
        for role, server in (("primary", servers[number]), ("replica", servers[number + 3])):
            Node.objects.filter(shard=shard, role=role).update(port=server.port)
    replicas = cache.nodes.filter(role="replica")
    samples.write([reading(node, master_link_up=True, replication_lag_bytes=0) for node in replicas])
    return Cache.objects.get(pk=cache.pk)


def test_it_goes_to_another_node_when_the_one_it_reads_is_killed(own_valkey_cluster: ClusterFactory) -> None:
    servers = own_valkey_cluster()
    fill(*servers[:3], keys=30_000, prefix="user:", least=30, replicas=1)
    cache = cluster_cache(servers)
    scan = starting.start(cache, ANY_NODE, "gentle")
    thread = in_background(scan)
    until(lambda: ScanShard.objects.get(scan=scan, number=1).keys > 0, "the first shard is walked")

    assert servers[3].process
    servers[3].process.kill()
    lost = cache.nodes.get(port=servers[3].port)
    NodeStatus.objects.create(node=lost, failing_since=timezone.now())
    starting.set_brake(scan, "fast")
    thread.join(PATIENCE_SECONDS)

    scan.refresh_from_db()
    shards = list(scan.shards.all())
    assert (scan.state, scan.keys) == (ScanState.DONE, 30_000)
    assert [shard.is_replica for shard in shards] == [False, True, True]
    assert shards[0].address == f"127.0.0.1:{servers[0].port}"


def test_two_scans_started_at_once_are_one(server: Valkey) -> None:
    cache = cache_of(server)
    begun: list[Scan] = []
    refused: list[str] = []
    gate = threading.Barrier(4)

    def begin() -> None:
        gate.wait()
        try:
            begun.append(starting.start(cache, ANY_NODE, "fast"))
        except ScanRefusedError as error:
            refused.append(str(error))
        connection.close()

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(begun), len(refused)) == (1, 3)
    assert refused[0] == f"127.0.0.1:{server.port} is being scanned already, by scan {begun[0].pk}."
