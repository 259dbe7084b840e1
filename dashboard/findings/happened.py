"""Findings about what happened a moment ago: a failover, a node that was cut off and is back."""

from __future__ import annotations

from django.utils.translation import gettext as _

from collectors.event import Event, Kind
from dashboard.event_words import names
from dashboard.findings.finding import Finding, State
from dashboard.templatetags.units import duration
from dashboard.watched import RECENT_SECONDS, Watched


def failed_over(watched: Watched) -> Finding | None:
    """A shard whose primary changed in the last minutes. While the old one is silent, `unreachable` says so."""
    event = next((event for event in watched.recent if event.kind == Kind.FAILOVER), None)
    if event is None or any(
        node.is_former_primary and node.node.pk == event.data["from"]["id"] for node in watched.nodes
    ):
        return None
    ago = duration(max(1, (watched.now - event.last_at).total_seconds()))
    parts = {"name": watched.cache.name, "shard": event.data["shard"], "ago": ago}
    parts |= {"to": event.data["to"]["address"], "from": event.data["from"]["address"]}
    sentence = _("%(name)s shard %(shard)s: replica %(to)s took over from %(from)s, %(ago)s ago") % parts
    return Finding(State.WARNING, sentence, _("failover"), ago, "nodes", url=event.get_absolute_url())


def stale_possible(watched: Watched) -> Finding | None:
    """A node that returned with its uptime kept. Does not apply to restarts, nor to a single failed poll."""
    event = next((event for event in watched.recent if event.data.get("stale_possible")), None)
    if event is None:
        return None
    nodes = back_lately(event, watched.now.timestamp())
    if not nodes:
        return None
    away = duration(max(1, max(node["until"] - node["since"] for node in nodes)))
    parts = {"name": watched.cache.name, "node": names(nodes), "away": away}
    sentence = _("%(name)s %(node)s was cut off for %(away)s, not restarted: it may serve stale data") % parts
    return Finding(State.WARNING, sentence, _("stale data possible"), away, "nodes", url=event.get_absolute_url())


def back_lately(event: Event, now: float) -> list[dict[str, float]]:
    """Return the nodes that may be stale and came back in the last minutes."""
    stale = (node for node in event.nodes if node.get("stale_possible"))
    return [node for node in stale if now - node["until"] < RECENT_SECONDS]
