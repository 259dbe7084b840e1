"""Drills of alerting on the demo fleet: who is paged of what, how soon, and that nobody is paged of nothing."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from signal import SIGCONT, SIGSTOP, SIGTERM

from bench import drills
from bench.drills import Drill, DrillError
from bench.receivers import PAGERDUTY_PATH, SLACK_PATH
from launcher import resp

# Issue-wide promises: what the road may take beside the polls.
ROAD_SECONDS = 5.0
# Rules of silence: three intervals, and a minute at least; `for` of the rule for nodes.
SILENT_INTERVALS, SILENT_SECONDS, HOLD_SECONDS = 3, 60, 1
# Over when false for so long, then the poll that sees it.
KEPT_SECONDS = 15
CHANNELS = """
import json
from alerts.models import Channel, Route
from fleet.secrets import Secret
for name, kind, settings in {channels!r}:
    made = Channel.objects.filter(name=name).first() or Channel(name=name, kind=kind)
    made.settings = Secret.of(json.dumps(settings))
    made.save()
root, _ = Route.objects.get_or_create(name="root", parent=None)
root.channels.set(Channel.objects.all())
"""
INCIDENTS = (
    "SELECT i.id, i.title FROM alerts_incident i JOIN alerts_alert a ON a.incident_id = i.id"
    " WHERE i.opened_at > to_timestamp(%s) AND a.node_address = %s AND a.rule_key = 'node-down'"
)
FIRING = "SELECT rule_key, cache_name, node_address FROM alerts_alert WHERE state NOT IN ('resolved', 'pending')"
REPLICAS = (
    "SELECT n.host, n.port FROM fleet_node n JOIN fleet_cache c ON c.id = n.cache_id"
    " WHERE c.name = 'game-cache' AND n.role = 'replica' AND n.left_at IS NULL ORDER BY n.port"
)
# Those that the demo fleet starts again when they end.
NODES = (
    "SELECT n.host, n.port FROM fleet_node n JOIN fleet_cache c ON c.id = n.cache_id"
    " WHERE n.left_at IS NULL AND c.reach = 'nodes' AND c.engine IN ('redis', 'valkey') ORDER BY n.cache_id, n.port"
)


def prepare(drill: Drill) -> None:
    """Make both channels and let everything go to them; wait until nothing fires."""
    url = drill.receivers.url
    channels = [
        ("drill-pagerduty", "pagerduty", {"routing_key": "d" * 32}),
        ("drill-slack", "slack", {"url": f"{url}{SLACK_PATH}"}),
    ]
    drill.product.manage("shell", "-c", CHANNELS.format(channels=channels))
    drill.require(lambda: not drill.product.ask(FIRING), "nothing fires before the fault", 900)


def paged(drill: Drill, since: float, address: str) -> Callable[[], bool]:
    """Return the claim that both services were told that this node is down."""

    def claim() -> bool:
        told = [one for one in drill.receivers.since(since) if one.names(address)]
        return {PAGERDUTY_PATH, SLACK_PATH} <= {one.path for one in told}

    return claim


def require_page(drill: Drill, since: float, address: str, limit: float) -> None:
    """Wait for the pages of a dead node, which must come in time and belong to an incident that names it."""
    drill.require(paged(drill, since, address), f"pages of {address}", limit + drill.lengths.patience_seconds)
    first = {
        path: min(one.at for one in drill.receivers.since(since) if one.path == path and one.names(address))
        for path in (PAGERDUTY_PATH, SLACK_PATH)
    }
    took = round(max(first.values()) - since, 1)
    drill.facts["paged_after_seconds"], drill.facts["page_limit_seconds"] = took, limit
    if took > limit:
        raise DrillError(f"the pages took {took} s, more than {limit:.0f} s")
    rows = drill.product.ask(INCIDENTS, since - drill.lengths.interval_seconds, address)
    if len(rows) != 1 or "down" not in rows[0][1].lower():
        raise DrillError(f"{len(rows)} incidents tell of {address}: {rows}")


def require_end(drill: Drill, since: float, address: str) -> None:
    """Wait until both services were told that it is over."""
    keys = {one.body["dedup_key"] for one in drill.receivers.pages(since) if one.names(address)}

    def ended() -> bool:
        after = drill.receivers.since(since)
        resolved = {
            one.body["dedup_key"]
            for one in after
            if one.path == PAGERDUTY_PATH and one.body["event_action"] == "resolve"
        }
        return keys <= resolved and any(one.path == SLACK_PATH and one.names("Over:") for one in after)

    took = drill.require(ended, "the end is told", KEPT_SECONDS + 60 + drill.lengths.patience_seconds)
    drill.facts["over_after_seconds"] = took


def node_kill(drill: Drill) -> None:
    """A primary is killed, as `drills.node_kill` does it: pages within two polls and 5 s, and word of its return."""
    prepare(drill)
    drills.node_kill(drill)
    killed, dead = drill.facts.pop("killed_at"), drill.facts["dead"]
    require_page(drill, killed, dead, 2 * drill.lengths.interval_seconds + ROAD_SECONDS)
    require_end(drill, killed, dead)


def silent_node_page(drill: Drill) -> None:
    """A node hangs: both are paged once its silence is evidence, and told when it goes on."""
    prepare(drill)
    host, port = drill.product.ask(REPLICAS)[0]
    limit = max(SILENT_INTERVALS * drill.lengths.interval_seconds, SILENT_SECONDS) + HOLD_SECONDS + ROAD_SECONDS
    stopped = time.time()
    with halted(host, port):
        require_page(drill, stopped, f"{host}:{port}", limit)
    require_end(drill, stopped, f"{host}:{port}")


@contextmanager
def halted(host: str, port: int) -> Iterator[None]:
    pid = process_of(host, port)
    os.kill(pid, SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, SIGCONT)


def process_of(host: str, port: int) -> int:
    said = str(resp.ask((host, port), "INFO", "server"))
    return next(int(line.partition(":")[2]) for line in said.splitlines() if line.startswith("process_id:"))


def quiet_hour(drill: Drill) -> None:
    """The healthy fleet under its load pages nobody for an hour, nor while each node is restarted in turn."""
    prepare(drill)
    begun = time.time()
    time.sleep(drill.lengths.quiet_seconds)
    drill.facts["quiet_seconds"] = round(time.time() - begun)
    require_no_page(drill, begun, "the healthy fleet")
    for host, port in drill.product.ask(NODES):
        before = process_of(host, port)
        moment = datetime.now(UTC)
        os.kill(before, SIGTERM)
        drill.require(lambda host=host, port=port, before=before: restarted(host, port, before), "it is back")  # type: ignore[misc]
        drill.require(drill.all_sampled_since(moment), "samples of all nodes")
        time.sleep(2 * drill.lengths.interval_seconds)
    drill.facts["restarts"] = len(drill.product.ask(NODES))
    require_no_page(drill, begun, "a rolling restart")


def restarted(host: str, port: int, before: int) -> bool:
    try:
        return process_of(host, port) != before
    except (OSError, resp.ReplyError):
        return False


def require_no_page(drill: Drill, since: float, what: str) -> None:
    found = [one.body["payload"]["summary"] for one in drill.receivers.pages(since)]
    drill.facts["pages"] = len(found)
    if found:
        raise DrillError(f"{what} paged: {json.dumps(found[:5])}")


DRILLS: dict[str, Callable[[Drill], None]] = {
    "node-kill": node_kill,
    "silent-node-page": silent_node_page,
    "quiet-hour": quiet_hour,
}
