"""CLUSTER SLOT-STATS: the slots that hold most keys, and those that take most time where the server counts that.

Valkey since 8.0, Redis since 8.2. Each question sorts the node's slots: 0.3 to 0.8 ms for 5,461 of them. Time and
bytes are counted only with cluster-slot-stats-enabled; otherwise the second question is answered with an error.
"""

from collections.abc import Iterator, Sequence

from django.conf import settings

from collectors.layout import SLOT_COUNT
from collectors.source import Command, Readings, Reply, SlotLoad, Source, Standing
from collectors.sources.slowlog import NUMBER_LIMIT, is_number
from fleet.engines import Engine

SLOTS_READ = 20
VALKEY_SINCE, REDIS_SINCE = (8, 0), (8, 2)
FIELDS = {
    b"key-count": "keys",
    b"cpu-usec": "cpu_usec",
    b"network-bytes-in": "bytes_in",
    b"network-bytes-out": "bytes_out",
}


def slot_stats(order: str) -> Command:
    return ("CLUSTER", "SLOT-STATS", "ORDERBY", order, "LIMIT", str(SLOTS_READ), "DESC")


BY_KEYS, BY_TIME = slot_stats("key-count"), slot_stats("cpu-usec")


class SlotStats(Source):
    """The heaviest slots of a primary, at most twice SLOTS_READ."""

    name = "slot_stats"

    def every(self) -> int:
        return int(settings.SLOTS_INTERVAL_SECONDS)

    def wanted(self, standing: Standing) -> bool:
        is_known = standing.engine in self.engines and bool(standing.in_cluster) and standing.is_primary is not False
        if standing.engine == Engine.VALKEY:
            return is_known and standing.valkey_version >= VALKEY_SINCE
        return is_known and standing.version >= REDIS_SINCE

    def commands(self) -> tuple[Command, ...]:
        return (BY_KEYS, BY_TIME)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        found = {load.slot: load for reply in replies for load in loads_in(reply)}
        return Readings(slots=sorted(found.values(), key=lambda load: load.slot))


def loads_in(reply: Reply) -> Iterator[SlotLoad]:
    """Yield the readable slots among `slot, (name, number, ...)` that hold a key or took time."""
    for entry in reply[:SLOTS_READ] if isinstance(reply, list) else ():
        if not isinstance(entry, list) or len(entry) < 2 or not isinstance(entry[1], list):
            continue
        slot, flat = entry[:2]
        if not is_number(slot, SLOT_COUNT):
            continue
        numbers = {
            FIELDS[name]: number
            for name, number in zip(flat[::2], flat[1::2], strict=False)
            if isinstance(name, bytes) and name in FIELDS and is_number(number, NUMBER_LIMIT)
        }
        if any(numbers.values()):
            yield SlotLoad(slot, **numbers)
