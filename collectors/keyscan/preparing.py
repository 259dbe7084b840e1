"""Turning a stored scan into what the engine walks: targets, the plan, and where a lost shard is served now."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.backlog import AWAY
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.choosing import choose_one, shards_of
from collectors.keyscan.control import Control
from collectors.keyscan.fields import NAMES
from collectors.keyscan.job import Job
from collectors.keyscan.models import Scan, ScanShard
from collectors.keyscan.options import DEPTH, ScanOptions
from collectors.keyscan.reasons import ScanRefusedError
from collectors.keyscan.scan import Observe
from collectors.keyscan.scan import Scan as Engine
from collectors.keyscan.shapes import Separators
from collectors.keyscan.surveying import Surveyor, own_connection, place_of, slots_of
from collectors.keyscan.targets import Target
from collectors.keyscan.walk import Plan
from collectors.keyscan.wire import Pages
from collectors.targets import Way
from fleet.models import Cache


def engine_of(scan: Scan, shards: list[ScanShard], control: Control, observe: Observe) -> Engine:
    """Return the engine for a stored scan. Raise ReadError where the cache's secrets cannot be used.

    Where slots move, it changes the list of shards.
    """
    cache, asked, separators = scan.cache, scan.asked, Separators()
    way = Way.to(cache)
    if way.broken:
        raise way.broken
    job = Job(
        access=way.access,
        context=way.context,
        plan=plan_of(asked, scan.pk),
        control=control,
        make_aggregate=lambda _target, _db: new_aggregate(asked, separators),
        wanted=frozenset(asked.fields or NAMES),
        relocate=lambda target: relocate(scan, shards, target),
        may_use_primary=asked.may_use_primary,
    )
    if any(slots_of(shard) for shard in shards):
        surveyor = Surveyor(scan, shards, way.access)
        job.relocate = surveyor.relocate
        # Of a scan of some shards nobody could say which slots it was meant for.
        job.survey = None if asked.shards else surveyor.survey
    return Engine(job, [target_of(shard) for shard in shards], observe)


def plan_of(asked: ScanOptions, seed: int) -> Plan:
    return Plan(
        pages=Pages(asked.match.encode(), asked.type),
        samples=asked.samples,
        guard=asked.element_guard,
        sample_every=asked.sample_every,
        seed=seed,
        all_fields=bool(asked.fields),
        is_filtered=bool(asked.match or asked.type),
    )


def new_aggregate(asked: ScanOptions, separators: Separators) -> Aggregate:
    aggregate = Aggregate(top=asked.top, depth=DEPTH, separators=separators)
    aggregate.is_full = bool(asked.fields)
    return aggregate


def target_of(shard: ScanShard) -> Target:
    host, port = place_of(shard)
    return Target(host, port, str(shard.number), shard.is_replica, shard.node_id, slots_of(shard))


def relocate(scan: Scan, shards: Sequence[ScanShard], target: Target) -> Target | None:
    """Return the node that serves a shard now; None where none does. Called in a thread of its own."""
    try:
        with own_connection():
            return _relocate(scan, shards, target)
    except (ScanRefusedError, *AWAY):
        return None


def _relocate(scan: Scan, shards: Sequence[ScanShard], target: Target) -> Target | None:
    shard = next(shard for shard in shards if str(shard.number) == target.shard)
    members = shards_of(Cache.objects.get(pk=scan.cache_id)).get(shard.number, [])
    node = choose_one(shard.number, members, scan.asked.may_use_primary).node
    is_taken = ScanShard.objects.filter(is_active=True, node=node).exclude(pk=shard.pk).exists()
    if node.address == target.label or is_taken:
        return None
    # What was counted elsewhere counts no more: the cursor belongs to the node that gave it.
    shard.node, shard.address, shard.is_replica = node, node.address, node.role == node.Role.REPLICA
    shard.checkpoint = None
    shard.save(update_fields=("node", "address", "is_replica", "checkpoint"))
    return target_of(shard)
