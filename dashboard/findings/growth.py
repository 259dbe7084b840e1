"""Advice from the last hours: what grows without an end in sight, and what is repeated.

Silent where the hours are not there: a cache that is new to us, a figure that is not reported, a restart.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.findings.finding import Finding, notice, page_of, ranked, subject
from dashboard.findings.reach import replica_lag
from dashboard.past import RESYNCS_COUNT, TREND_STEP_SECONDS
from dashboard.templatetags.units import bytes_size, count, duration, grouped
from dashboard.watched import Watched, WatchedNode

# Two hours: less is a rush, not a leak.
LEAK_POINTS, LEAK_SHARE, LEAK_CONNECTIONS, LEAK_FIT = 8, 0.3, 50, 0.8
LAG_BYTES = 30_000_000
KEYS_POINTS, KEYS_SHARE, KEYS_MORE = 2, 0.1, 10_000


def connection_leak(watched: Watched) -> Finding | None:
    """Connections that climb in a straight line for two hours while the commands do not: nobody closes them.

    By 30% and 50 connections at least, and twice as much as the commands: other tools name the pattern but no
    figures, these are ours. Does not apply where either of the two is not known for so long.
    """
    ranking = ranked(watched.nodes, lambda node: leaked(watched, node))
    if not ranking:
        return None
    more, node = ranking[0]
    known = known_points(watched, "connected_clients", node)
    span = duration((len(known) - 1) * TREND_STEP_SECONDS)
    parts = {"name": subject(watched, node), "more": grouped(more), "now": grouped(known[-1]), "span": span}
    sentence = _("%(name)s has %(more)s connections more than %(span)s ago, now %(now)s, but no more commands: a leak?")
    return notice(
        sentence % parts, _("connections climb"), f"+{grouped(more)}", "connections", page_of(watched, "cache-clients")
    )


def leaked(watched: Watched, node: WatchedNode) -> float | None:
    """Return how many connections a node has gained without work for them."""
    open_, commands = (known_points(watched, name, node) for name in ("connected_clients", "commands_per_second"))
    if min(len(open_), len(commands)) < LEAK_POINTS or node.is_failing:
        return None
    more = open_[-1] - open_[0]
    if more < max(LEAK_CONNECTIONS, LEAK_SHARE * open_[0]) or fit(open_) < LEAK_FIT:
        return None
    return more if more / max(open_[0], 1) >= 2 * grown(commands) else None


def lasting_keys_growing(watched: Watched) -> Finding | None:
    """Keys without a time to live that become more, by 10% and 10,000 at least: only a limit will stop them.

    Does not apply to policies that evict any key, where that is by design, nor to caches of a few keys.
    """

    def gained(node: WatchedNode) -> float | None:
        known = known_points(watched, "keys_without_ttl", node)
        if len(known) < KEYS_POINTS or node.facts.get("maxmemory_policy", "").startswith("allkeys-"):
            return None
        more = known[-1] - known[0]
        return more if more >= max(KEYS_MORE, KEYS_SHARE * known[0]) else None

    ranking = ranked(watched.primaries(), gained)
    if not ranking:
        return None
    more, node = ranking[0]
    known = known_points(watched, "keys_without_ttl", node)
    span = duration((len(known) - 1) * TREND_STEP_SECONDS)
    parts = {"name": subject(watched, node), "more": count(more), "now": count(known[-1]), "span": span}
    sentence = _("%(name)s keeps %(more)s more keys without a time to live than %(span)s ago, now %(now)s")
    return notice(sentence % parts, _("lasting keys grow"), f"+{count(more)}", "keys")


def full_resyncs(watched: Watched) -> Finding | None:
    """Replicas that had to copy the whole data set in the last hour: the link or the backlog is too small.

    Does not apply to the first copy of a replica that joined or restarted in that hour.
    """

    def needless(node: WatchedNode) -> float | None:
        copies = round(watched.past.full_resyncs.get(node.node.pk, 0.0)) - first_copies(watched, node)
        return copies if copies > 0 else None

    ranking = ranked(watched.nodes, needless)
    if not ranking:
        return None
    copies, node = ranking[0]
    sentence = ngettext(
        "%(name)s sent %(count)s full copy to a replica in the last hour: see whether the replication backlog is too"
        " small or the link breaks",
        "%(name)s sent %(count)s full copies to replicas in the last hour: see whether the replication backlog is too"
        " small or the link breaks",
        int(copies),
    ) % {"name": subject(watched, node), "count": int(copies)}
    return notice(
        sentence, _("full resyncs"), str(int(copies)), "replication", page_of(watched, "cache-internals", "replication")
    )


def replica_bytes(watched: Watched) -> Finding | None:
    """A replica that lacks 30 MB of its primary's changes: from there on Google's manual failover gives up.

    Does not apply to links that are down, nor where the time behind says so already.
    """

    def behind(node: WatchedNode) -> float | None:
        return node.value("replication_lag_bytes") if node.value("master_link_up") else None

    ranking = ranked(watched.nodes, behind)
    if not ranking or ranking[0][0] < LAG_BYTES or replica_lag(watched):
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "bytes": bytes_size(level)}
    sentence = _("%(name)s is %(bytes)s behind its primary: a failover now would lose as much")
    page = page_of(watched, "cache-internals", "replication")
    return notice(sentence % parts, _("replica behind"), bytes_size(level), "replication", page)


def first_copies(watched: Watched, source: WatchedNode) -> int:
    """Return how many nodes of a shard needed a copy anyway, because they are new or began anew."""
    siblings = (node for node in watched.nodes if node.node.shard_id == source.node.shard_id and node is not source)
    return sum(is_new(node, watched) for node in siblings)


def is_new(node: WatchedNode, watched: Watched) -> bool:
    uptime = node.value("uptime_in_seconds")
    joined = watched.now - node.node.joined_at < RESYNCS_COUNT
    return joined or (uptime is not None and uptime < RESYNCS_COUNT.total_seconds())


def known_points(watched: Watched, metric: str, node: WatchedNode) -> list[float]:
    """Return the newest points in a row that are known: before a gap somebody may have restarted it all."""
    found: list[float] = []
    for value in reversed(watched.past.trend(metric, node.node.pk)):
        if value is None and found:
            break
        if value is not None:
            found.append(value)
    return found[::-1]


def fit(values: Sequence[float]) -> float:
    """Return how well a rising straight line fits, R squared; 0 where they are all the same."""
    if len(set(values)) < 2:
        return 0.0
    return statistics.correlation(range(len(values)), values) ** 2


def grown(values: Sequence[float]) -> float:
    """Return by what share the last quarter is above the first."""
    quarter = max(1, len(values) // 4)
    before = statistics.fmean(values[:quarter])
    return (statistics.fmean(values[-quarter:]) - before) / before if before else 0.0


ADVICE = (connection_leak, lasting_keys_growing, replica_bytes, full_resyncs)
