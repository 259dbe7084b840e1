"""The road of an alert on the running parts: from the sample that crosses to the request at the pager, and a storm."""

import json
import time
from dataclasses import dataclass

from django.db import connection

from alerts.models import Alert, Channel, Delivery, Route, Rule
from alerts.spec_form import read_spec
from bench.application import Application, application
from bench.database import Database
from bench.receivers import Received, Receivers, receivers
from bench.report import Report, Row
from bench.targets import NODES_A_CACHE, Targets, targets
from bench.timing import percentile
from fleet.models import Cache, Node
from fleet.secrets import Secret
from launcher import resp
from launcher.waiting import until

INTERVAL_SECONDS = 15
ROAD_BAR_SECONDS, STORM_BAR_SECONDS = 2.0, 5.0
PATIENCE_SECONDS = 240.0
JUMP, FILL = 5_000, "for i = 1, 6000 do redis.call('SET', 'jump:' .. i, 1) end"
STORM_METRICS = ("used_memory", "used_memory_rss", "uptime_in_seconds", "maxclients", "connected_clients")
READ_AT = """
    SELECT c.name, extract(epoch FROM s.at)::float8 + s.read_after_ms / 1000.0 FROM sample s
    JOIN fleet_node n ON n.id = s.node_id JOIN fleet_cache c ON c.id = n.cache_id WHERE s.at = %s AND s.keys > %s
"""


@dataclass(frozen=True, slots=True)
class Scale:
    """How many nodes are polled, and how many servers cross their bound one after the other."""

    nodes: int
    crossings: int


FULL = Scale(1_000, 20)
QUICK = Scale(120, 2)


def run(report: Report, scale: Scale, database: Database) -> None:
    with receivers() as heard, targets(database.directory, scale.nodes) as servers:
        caches = servers.register()[: scale.nodes // NODES_A_CACHE]
        _route()
        with application(database, heard.settings()) as app:
            app.start("poller", "worker", "judge", "sender", "beat")
            nodes = _polled(app, caches)
            _crossings(report, scale, servers, heard, nodes)
            _storm(report, heard, nodes)


def _route() -> None:
    channel = Channel(name="pager", kind="pagerduty")
    channel.settings = Secret.of(json.dumps({"routing_key": "0" * 32}))
    channel.save()
    Route.objects.get_or_create(name="root", parent=None)[0].channels.add(channel)


def _rule(key: str, metric: str, level: str, bound: float) -> None:
    Rule.of(read_spec({"rule": key, "when": {"metric": metric, level: bound}})).save()


def _polled(app: Application, caches: list[Cache]) -> int:
    """Poll the caches; return how many nodes answer. Raise RuntimeError where not all do."""
    ids = [cache.pk for cache in caches]
    Cache.objects.filter(pk__in=ids).update(is_paused=False, poll_interval_seconds=INTERVAL_SECONDS)
    nodes = len(ids) * NODES_A_CACHE
    answering = Node.objects.filter(cache_id__in=ids, left_at=None, status__answered_at__isnull=False)
    if not until(lambda: answering.count() == nodes, PATIENCE_SECONDS, step=0.5):
        raise RuntimeError(f"Not all of {nodes} nodes answered; {app.directory}/poller.log says why.")
    return nodes


def _crossings(report: Report, scale: Scale, servers: Targets, heard: Receivers, nodes: int) -> None:
    """Let servers cross a bound, each under all of its addresses, and time what arrives.

    Each has a rule of its own: further incidents of a rule that has many would be told together.
    """
    delays: list[float] = []
    # Servers whose caches are all polled, whatever the scale.
    for number in range(scale.crossings):
        _between_ticks()
        begun = time.time()
        _rule(f"jump-{number}", "keys", "critical", JUMP)
        resp.ask(servers.servers[number].address, "EVAL", FILL, 0)
        if not until(lambda begun=begun: bool(heard.pages(begun)), 3 * INTERVAL_SECONDS, step=0.2):  # type: ignore[misc]
            raise RuntimeError("No page came of a crossing.")
        time.sleep(INTERVAL_SECONDS / 3)
        delays += _delays(heard.pages(begun))
        resp.ask(servers.servers[number].address, "FLUSHDB")
        Rule.objects.filter(key=f"jump-{number}").delete()
    name = f"{nodes} nodes every {INTERVAL_SECONDS} s: from the sample that crosses to the request"
    report.add(Row(f"{name}, median", "s", percentile(delays, 0.5), runs=len(delays)))
    late = percentile(delays, 0.99)
    report.add(Row(f"{name}, 99th percentile", "s", late, runs=len(delays), bar=ROAD_BAR_SECONDS, bar_on="ours"))


def _between_ticks() -> None:
    """Sleep until the middle between two polls, so that a change is seen whole by the next."""
    time.sleep((1.5 * INTERVAL_SECONDS - time.time() % INTERVAL_SECONDS) % INTERVAL_SECONDS)


def _delays(pages: list[Received]) -> list[float]:
    """Return how long after its sample each page came."""
    delays = []
    ticks = {page.body["payload"]["timestamp"] for page in pages}
    for tick in ticks:
        with connection.cursor() as cursor:
            cursor.execute(READ_AT, [tick, JUMP])
            read_at: dict[str, float] = {}
            for cache, moment in cursor.fetchall():
                read_at[cache] = max(moment, read_at.get(cache, moment))
        told = [page for page in pages if page.body["payload"]["timestamp"] == tick]
        delays += [page.at - read_at[page.source] for page in told if page.source in read_at]
    return delays


def _storm(report: Report, heard: Receivers, nodes: int) -> None:
    """Let five rules fire on every node at one tick."""
    before, expected = Delivery.objects.count(), nodes * len(STORM_METRICS)
    _between_ticks()
    for number, metric in enumerate(STORM_METRICS):
        _rule(f"storm-{number}", metric, "warning" if number else "critical", 0)
    tick = (int(time.time()) // INTERVAL_SECONDS + 1) * INTERVAL_SECONDS
    firing = Alert.objects.firing().filter(rule_key__startswith="storm-")
    if not until(lambda: firing.count() == expected, PATIENCE_SECONDS, step=0.5):
        raise RuntimeError(f"Only {firing.count()} of {expected} instances fired.")
    if not until(lambda: bool(_critical(heard, tick)), PATIENCE_SECONDS, step=0.1):
        raise RuntimeError("No critical page came of the storm.")
    first = min(page.at for page in _critical(heard, tick))
    name = f"{expected:,} instances fire at once"
    report.add(Row(f"{name}: not recorded", "", expected - firing.count(), bar=0, bar_on="ours"))
    report.add(Row(f"{name}: messages", "", Delivery.objects.count() - before))
    report.add(
        Row(f"{name}: first critical page after the tick", "s", first - tick, bar=STORM_BAR_SECONDS, bar_on="ours")
    )


def _critical(heard: Receivers, since: float) -> list[Received]:
    return [page for page in heard.pages(since) if page.body["payload"]["severity"] == "critical"]
