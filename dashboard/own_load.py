"""What Shardwatch asks of the nodes of one cache, for its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from collectors.own_load import OwnLoad, charges
from collectors.source import Standing
from collectors.targets import version_of
from dashboard.refusals import Refusal
from dashboard.watched import Watched
from fleet.engines import Engine
from fleet.models import Topology


def of(watched: Watched, refused: Sequence[Refusal]) -> OwnLoad:
    """Return what a node is asked, without the commands that all nodes refuse."""
    counts = Counter[str]()
    for entry in refused:
        counts[entry.command] += entry.count
    none = {command for command, count in counts.items() if count >= len(watched.nodes)}
    facts = watched.nodes[0].facts if watched.nodes else {}
    standing = Standing(
        watched.cache.engine or Engine.REDIS,
        version_of(facts.get("redis_version", "")),
        in_cluster=watched.cache.topology == Topology.CLUSTER,
        reports_limits=True,
        valkey_version=version_of(facts.get("valkey_version", "")),
    )
    return OwnLoad(charges(standing, watched.cache.poll_interval_seconds, none))
