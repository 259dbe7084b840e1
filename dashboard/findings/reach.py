"""Findings about nodes that do not answer, clusters that do not hold, and replicas that do not follow."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.event import Kind
from dashboard.findings.finding import Finding, State, page_of, ranked, subject
from dashboard.templatetags.units import count, duration, grouped
from dashboard.watched import Watched, WatchedNode
from fleet.models import Node

RESTARTED_SECONDS = 600
LAG_SECONDS = 10
CLUSTER_SLOTS = 16_384
# Where the finding is explained: not on the cache's page.
STUCK = "own-health"


def unreachable(watched: Watched) -> Finding | None:
    """Nodes that do not answer. Does not apply to paused caches."""
    failing = [node for node in watched.nodes if node.is_failing and node.status]
    if not failing or watched.cache.is_paused:
        return None
    first = min(failing, key=lambda node: (not node.is_primary, not node.is_former_primary, node.status.failing_since))  # type: ignore[union-attr]
    parts: dict[str, object] = {"name": watched.cache.name, "reason": failure_reason(first)}
    parts["since"] = failing_for(watched, first)
    if len(failing) == len(watched.nodes):
        sentence = _("%(name)s has not answered for %(since)s: %(reason)s") % parts
        return Finding(State.UNREACHABLE, sentence, failed_step(first), failing_for(watched, first), "nodes")
    name = f"{first.name} ({first.node.address})" if first.name != first.node.address else first.name
    parts |= {"node": name, "failing": len(failing), "nodes": len(watched.nodes)}
    sentence = _("%(name)s %(node)s has not answered for %(since)s: %(reason)s") % parts
    if first.is_former_primary and (successor := successor_of(first, watched)):
        parts["successor"] = successor.node.address
        sentence = _("%(name)s %(node)s has not answered for %(since)s; replica %(successor)s took over") % parts
    short = ngettext(
        "%(failing)s of %(nodes)s nodes is silent", "%(failing)s of %(nodes)s nodes are silent", len(failing)
    )
    state = State.CRITICAL if any(leaves_a_gap(node, watched) for node in failing) else State.WARNING
    figure = f"{len(failing)}/{len(watched.nodes)}"
    return Finding(state, sentence, short % parts, figure, "nodes", url=story_of(first, watched))


def leaves_a_gap(node: WatchedNode, watched: Watched) -> bool:
    """Whether no other primary of the shard answers: after a failover the old primary is missed no more."""
    others = (other for other in watched.primaries() if other.node.shard_id == node.node.shard_id)
    return node.is_primary and all(other.is_failing for other in others)


def successor_of(node: WatchedNode, watched: Watched) -> WatchedNode | None:
    """Return the primary that answers in a node's shard."""
    found = (one for one in watched.primaries() if one.node.shard_id == node.node.shard_id and not one.is_failing)
    return next(found, None)


def story_of(node: WatchedNode, watched: Watched) -> str:
    """Return the page of the failover that took a node's place, "" where there was none lately."""
    told = (event for event in watched.recent if event.kind == Kind.FAILOVER)
    return next((event.get_absolute_url() for event in told if event.data["from"]["id"] == node.node.pk), "")


def failure_reason(node: WatchedNode) -> str:
    status = node.status
    return (
        f"{status.get_failed_step_display()}: {status.failed_reason}"
        if status and status.failed_step
        else _("no answer")
    )


def failed_step(node: WatchedNode) -> str:
    step = node.status.get_failed_step_display() if node.status else ""
    return _("%s failed") % step if step else _("no answer")


def failing_for(watched: Watched, node: WatchedNode) -> str:
    since = node.status.failing_since if node.status else None
    return duration(max(1, (watched.now - since).total_seconds())) if since else ""


def stale(watched: Watched) -> Finding | None:
    """No new samples though no node is known to fail: the polling itself stands still. Not where nobody polls."""
    is_ours = watched.is_stale and not watched.is_remote
    if not is_ours or any(node.is_failing for node in watched.nodes) or watched.latest is None:
        return None
    age = duration((watched.now - watched.latest.at).total_seconds()) if watched.latest.at else ""
    sentence = _("%(name)s has no new sample for %(age)s: Shardwatch itself may be stuck, see its health page") % {
        "name": watched.cache.name,
        "age": age,
    }
    return Finding(State.WARNING, sentence, _("old figures"), age, STUCK)


def slots_uncovered(watched: Watched) -> Finding | None:
    """Slots without a working primary. Applies to clusters."""
    seen = watched.latest
    if seen is None or not watched.is_clustered or seen.cluster_state_ok is None:
        return None
    missing = CLUSTER_SLOTS - seen.slots_ok if seen.slots_ok is not None else 0
    if seen.cluster_state_ok and missing <= 0:
        return None
    parts = {"name": watched.cache.name, "missing": grouped(missing), "slots": grouped(CLUSTER_SLOTS)}
    page = page_of(watched, "cache-internals", "cluster")
    if missing <= 0:
        return Finding(
            State.CRITICAL,
            _("%(name)s: a node calls the cluster failed") % parts,
            _("cluster state fail"),
            "",
            "nodes",
            url=page,
        )
    text = ngettext(
        "%(name)s: %(missing)s of %(slots)s slots has no working primary",
        "%(name)s: %(missing)s of %(slots)s slots have no working primary",
        missing,
    )
    short = ngettext("%s slot uncovered", "%s slots uncovered", missing) % grouped(missing)
    return Finding(State.CRITICAL, text % parts, short, grouped(missing), "nodes", url=page)


def replica_link_down(watched: Watched) -> Finding | None:
    """Replicas that lost their primary."""
    down = watched.latest.links_down if watched.latest else 0
    if not down:
        return None
    text = ngettext(
        "%(name)s: %(down)s replica has lost the link to its primary",
        "%(name)s: %(down)s replicas have lost the link to their primary",
        down,
    )
    sentence = text % {"name": watched.cache.name, "down": down}
    page = page_of(watched, "cache-internals", "replication")
    return Finding(State.WARNING, sentence, _("replica link down"), str(down), "replication", url=page)


def replica_lag(watched: Watched) -> Finding | None:
    """A replica that has not acknowledged for long though its link is up."""
    ranking = ranked(watched.nodes, lambda node: node.value("replication_lag_seconds"))
    if not ranking or ranking[0][0] <= LAG_SECONDS:
        return None
    lag, node = ranking[0]
    parts = {"name": watched.cache.name, "node": node.name, "lag": duration(lag)}
    sentence = _("%(name)s %(node)s is %(lag)s behind its primary") % parts
    page = page_of(watched, "cache-internals", "replication")
    return Finding(State.WARNING, sentence, _("replica behind"), duration(lag), "replication", url=page)


def shard_without_replica(watched: Watched) -> Finding | None:
    """A shard without a replica. Does not apply where no shard has one: that is a choice."""
    shards = {node.node.shard_id: node for node in watched.primaries() if node.node.shard_id}
    covered = {node.node.shard_id for node in watched.nodes if node.node.role == Node.Role.REPLICA}
    bare = [node for shard_id, node in shards.items() if shard_id not in covered]
    if not bare or not covered:
        return None
    number = bare[0].node.shard.number if bare[0].node.shard else 0
    text = ngettext(
        "%(name)s shard %(number)s has no replica, unlike its siblings",
        "%(name)s: %(count)s shards have no replica, unlike their siblings",
        len(bare),
    )
    sentence = text % {"name": watched.cache.name, "number": number, "count": len(bare)}
    return Finding(State.WARNING, sentence, _("shard without replica"), str(len(bare)), "nodes")


def restarted(watched: Watched) -> Finding | None:
    """A node that restarted while we watched it. Does not apply to nodes that joined after their start."""
    recent = [node for node in watched.nodes if has_restarted(node, watched)]
    if not recent:
        return None
    newest = min(recent, key=lambda node: node.value("uptime_in_seconds") or 0)
    uptime = duration(max(1, newest.value("uptime_in_seconds") or 0))
    parts = {"name": subject(watched, newest), "uptime": uptime, "count": count(len(recent))}
    if len(recent) > 1:
        sentence = _("%(count)s nodes restarted lately; the last, %(name)s, %(uptime)s ago") % parts
    else:
        sentence = _("%(name)s restarted %(uptime)s ago") % parts
    return Finding(State.WARNING, sentence, _("restarted"), uptime, "nodes")


def has_restarted(node: WatchedNode, watched: Watched) -> bool:
    uptime = node.value("uptime_in_seconds")
    if uptime is None or uptime >= RESTARTED_SECONDS or node.latest is None:
        return False
    started = node.latest.at - timedelta(seconds=uptime)
    return bool(node.node.joined_at < started and watched.now - started < timedelta(seconds=RESTARTED_SECONDS))


def loading(watched: Watched) -> Finding | None:
    """A node that loads its data set and answers no client meanwhile."""
    busy = [node for node in watched.nodes if node.value("loading")]
    if not busy:
        return None
    sentence = _("%(name)s is loading its data and answers no client yet") % {"name": subject(watched, busy[0])}
    return Finding(State.CRITICAL, sentence, _("loading data"), str(len(busy)), "nodes")


def save_failed(watched: Watched) -> Finding | None:
    """A snapshot that failed: by default the server then refuses writes."""
    failed = [node for node in watched.nodes if node.value("rdb_last_bgsave_ok") == 0]
    if not failed:
        return None
    sentence = _("%(name)s could not save its last snapshot and may refuse writes") % {
        "name": subject(watched, failed[0])
    }
    page = page_of(watched, "cache-internals", "persistence")
    return Finding(State.WARNING, sentence, _("snapshot failed"), str(len(failed)), "nodes", url=page)
