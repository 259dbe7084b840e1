"""What needs attention, as sentences: one function a finding, each silent where it does not apply.

A function is given one cache as it is known now and returns a Finding or None. It never fires on what is
healthy by design: a full cache that evicts, a cache without replicas, a node without a limit.
"""

from __future__ import annotations

from collections.abc import Callable

from collectors.latest import CacheLatest, cache_ids_with_uneasy_nodes
from dashboard.findings import (
    advice,
    alarms,
    growth,
    happened,
    keys,
    load,
    memory,
    persistence,
    reach,
    service,
    setup,
    slabs,
    upkeep,
    usage,
)
from dashboard.findings.finding import UNEVEN_FLOOR, Finding, State
from dashboard.watched import Watched

__all__ = ("ADVICE", "FINDINGS", "Finding", "State", "caches_with_uneasy_nodes", "deserves_a_look", "in_depth", "of")

FINDINGS: tuple[Callable[[Watched], Finding | None], ...] = (
    reach.unreachable,
    reach.slots_uncovered,
    reach.loading,
    load.connections_rejected,
    memory.memory_full,
    load.connections_full,
    load.cpu_busy,
    happened.failed_over,
    happened.stale_possible,
    reach.replica_link_down,
    memory.memory_uneven,
    load.cpu_uneven,
    load.connections_uneven,
    reach.shard_without_replica,
    reach.replica_lag,
    reach.restarted,
    reach.save_failed,
    reach.stale,
    memory.evictions,
    memory.will_evict,
    memory.no_limit,
    service.monitoring_gone,
    service.monitoring_away,
    service.monitoring_silent,
    *upkeep.FINDINGS,
    alarms.recovering,
)
# Worth knowing although nothing is wrong yet; these read the last hours of one cache.
ADVICE = (
    *persistence.ADVICE,
    *usage.ADVICE,
    *keys.ADVICE,
    *growth.ADVICE,
    *advice.ADVICE,
    *setup.ADVICE,
    *slabs.ADVICE,
    *service.ADVICE,
)


def of(watched: Watched) -> list[Finding]:
    """Return what there is to say about one cache, worst first."""
    found = [finding for check in FINDINGS if (finding := check(watched))]
    alarm = alarms.firing(watched)
    # Most alerts say what a finding says already; one is told where nothing else explains that it is so bad.
    if alarm and all(alarm.rank < other.rank for other in found):
        found.append(alarm)
    return sorted(found, key=lambda finding: finding.rank)


def in_depth(watched: Watched) -> list[Finding]:
    """Return the findings of a cache, and after them what is worth knowing although nothing is wrong."""
    return of(watched) + [finding for check in ADVICE if (finding := check(watched))]


def caches_with_uneasy_nodes() -> set[int]:
    """Return the caches with a finding that their summaries do not show."""
    return cache_ids_with_uneasy_nodes(
        uptime=reach.RESTARTED_SECONDS,
        lag=reach.LAG_SECONDS,
        floor=memory.FORECAST_FLOOR,
        fit=memory.FORECAST_FIT,
        horizon=memory.FORECAST_HOURS * 3600,
    )


def deserves_a_look(latest: CacheLatest) -> bool:
    """Whether the summary of a cache hints at a finding, so that its nodes must be read."""
    return (
        latest.answering < latest.nodes
        or latest.cluster_state_ok is False
        or (latest.slots_ok is not None and latest.slots_ok < reach.CLUSTER_SLOTS)
        or latest.links_down > 0
        or 0 < latest.replicas < latest.primaries
        or (latest.memory_used_ratio or 0) >= memory.FULL_WARNING
        or memory.may_be_uneven(latest)
        or (latest.cpu_ratio or 0) >= UNEVEN_FLOOR
        or (latest.connections_used_ratio or 0) >= UNEVEN_FLOOR
    )
