"""Loads of slots: keeping them, and what each slot took between two looks."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from collectors.models import SlotReading
from collectors.source import SlotLoad
from fleet.models import Node

# Rates are over about so long; a look that is older tells of another time.
WINDOW = timedelta(hours=1)
STALE = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class NodeSlots:
    """What one node said of its heaviest slots."""

    node_id: int
    slots: Sequence[SlotLoad]


@dataclass(frozen=True, slots=True)
class HotSlot:
    """One slot now, and what it took between two looks: a share of the node's time, bytes a second.

    None is not counted by the server, or not seen at the earlier look.
    """

    node_id: int
    slot: int
    keys: int | None
    time_share: float | None = None
    bytes_in_per_second: float | None = None
    bytes_out_per_second: float | None = None
    seconds: float = 0.0
    counts_time: bool = False


def write(given: Sequence[NodeSlots]) -> None:
    now = timezone.now()
    present = set(Node.objects.filter(pk__in=[node.node_id for node in given]).values_list("pk", flat=True))
    SlotReading.objects.bulk_create(
        [
            SlotReading(node_id=node.node_id, read_at=now, slots=[list(astuple(load)) for load in node.slots])
            for node in given
            if node.node_id in present
        ],
        ignore_conflicts=True,
    )


def hot_slots(node_ids: Collection[int], now: datetime) -> list[HotSlot]:
    """Return the slots of the last look at each node."""
    recent = SlotReading.objects.filter(node_id__in=node_ids, read_at__gt=now - STALE)
    newest = recent.order_by("node_id", "-read_at").distinct("node_id")
    earlier = recent.filter(read_at__gt=now - WINDOW).order_by("node_id", "read_at").distinct("node_id")
    before = {reading.node_id: reading for reading in earlier}
    return [slot for reading in newest for slot in between(before.get(reading.node_id), reading)]


def between(earlier: SlotReading | None, later: SlotReading) -> Iterator[HotSlot]:
    seconds = (later.read_at - earlier.read_at).total_seconds() if earlier else 0.0
    known = {row[0]: SlotLoad(*row) for row in earlier.slots} if earlier and seconds > 0 else {}
    for row in later.slots:
        load, was = SlotLoad(*row), known.get(row[0], SlotLoad(row[0]))
        yield HotSlot(
            later.node_id,
            load.slot,
            load.keys,
            per_second(load.cpu_usec, was.cpu_usec, seconds * 1e6),
            per_second(load.bytes_in, was.bytes_in, seconds),
            per_second(load.bytes_out, was.bytes_out, seconds),
            seconds,
            load.cpu_usec is not None,
        )


def per_second(now: int | None, before: int | None, seconds: float) -> float | None:
    """Return the rate of a counter; one that fell began anew with a restart or a reset."""
    if now is None or before is None or not seconds:
        return None
    return (now - before if now >= before else now) / seconds


def forget_old(now: datetime) -> int:
    """Remove looks past their keeping; return how many."""
    oldest = now - timedelta(days=settings.RETENTION_SLOTS_DAYS)
    return SlotReading.objects.filter(read_at__lt=oldest).delete()[0]
