"""What a scan that has ended is stored with: what each node found, how it ended, and what stands beside the sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from collectors.keyscan import summary
from collectors.keyscan.budget import Spent
from collectors.keyscan.exact import SAMPLES
from collectors.keyscan.models import ScanShard, ScanState
from collectors.keyscan.node import NodeScan
from collectors.keyscan.progress import State
from collectors.keyscan.reasons import Reason
from collectors.keyscan.results import Ending, Found
from collectors.keyscan.scan import Scan as Engine


def found_in(pairs: Iterable[tuple[ScanShard, NodeScan]]) -> list[Found]:
    return [
        Found(shard, part.db, part.aggregate, bool(node.abilities and node.abilities.in_cluster))
        for shard, node in pairs
        for part in node.parts
    ]


def ending_of(engine: Engine, is_cancelled: bool, spent: Spent | None = None) -> Ending:
    states = [node.state for node in engine.nodes]
    if all(state == State.DONE for state in states):
        if engine.is_settled:
            return Ending(ScanState.DONE, Reason.ALL_WALKED, {})
        return Ending(ScanState.INCOMPLETE, Reason.SLOTS_MOVED, {})
    if spent:
        return Ending(ScanState.INCOMPLETE, Reason.BUDGET_SPENT, spent.as_data())
    if is_cancelled:
        return Ending(ScanState.STOPPED, Reason.ASKED, {})
    is_empty = not any(node.visited for node in engine.nodes)
    state = ScanState.FAILED if is_empty else ScanState.INCOMPLETE
    return Ending(state, Reason.SHARDS_FAILED, {"count": states.count(State.FAILED), "shards": len(states)})


def extra_of(engine: Engine) -> dict[str, Any]:
    """Return what a scan's summary holds beside what its aggregates add up to."""
    nodes, plan = engine.nodes, engine.job.plan
    missing = sorted({name for node in nodes if node.abilities for name in node.abilities.missing})
    return {
        "total": sum(part.total for node in nodes for part in node.parts),
        "unreadable": sum(part.walk.unreadable for node in nodes for part in node.parts),
        "missing": [summary.kind_text(name) for name in missing],
        "estimates": plan.estimates or 0 < plan.samples < SAMPLES,
        "has_memory": all(node.abilities.has_memory for node in nodes if node.abilities),
        "separators": separators_of(nodes),
    }


def separators_of(nodes: Sequence[NodeScan]) -> list[str]:
    trees = (part.aggregate.prefixes for node in nodes for part in node.parts)
    chosen = next((tree.separators.chosen for tree in trees if tree.separators.chosen), ())
    return [separator.decode() for separator in chosen]
