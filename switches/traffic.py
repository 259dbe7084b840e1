"""What a cache's own counters say of its traffic: what applications still send, and what they will miss."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from collectors import series
from collectors.models import PollLease
from fleet.models import Cache, Node

# So many polls in a row must be quiet.
POLLS = 3
# What a replica sends its primary: one REPLCONF ACK a second.
ACKS_PER_SECOND = 1.0


@dataclass(frozen=True, slots=True)
class Traffic:
    """Commands per second at the primaries, the newest last. What is ours and replication's is known, not measured."""

    commands: tuple[float, ...]
    own: float
    replication: float

    @property
    def remaining(self) -> tuple[float, ...]:
        """Return what applications sent, one value a poll."""
        return tuple(max(value - self.own - self.replication, 0.0) for value in self.commands)

    def is_quiet(self, floor: float) -> bool | None:
        """Return whether the last polls were all at or under the floor; None before there are enough."""
        if any(value > floor for value in self.remaining[-POLLS:]):
            return False
        return True if len(self.commands) >= POLLS else None


def since(cache: Cache, start: datetime, now: datetime) -> Traffic:
    """Return the traffic of polls that began after `start`."""
    nodes = list(Node.objects.present().filter(cache=cache).values_list("role", flat=True))
    primaries = sum(role == Node.Role.PRIMARY for role in nodes)
    lease = PollLease.objects.filter(cache=cache).first()
    own = lease.commands / cache.poll_interval_seconds * primaries / len(nodes) if lease and nodes else 0.0
    # A rate covers the time since the poll before.
    edge = start + timedelta(seconds=cache.poll_interval_seconds)
    first = max(edge, now - timedelta(seconds=(POLLS + 2) * cache.poll_interval_seconds))
    commands = tuple(_sums(cache, "commands_per_second", first, now)[-POLLS:])
    return Traffic(commands, own, (len(nodes) - primaries) * ACKS_PER_SECOND)


def hits_per_second(cache: Cache, until: datetime) -> float | None:
    """Return the mean hits of the hour before: what the database behind will be asked instead; None where unknown."""
    values = _sums(cache, "keyspace_hits_per_second", until - timedelta(hours=1), until)
    return sum(values) / len(values) if values else None


def _sums(cache: Cache, metric: str, start: datetime, end: datetime) -> list[float]:
    if start >= end:
        return []
    (found,) = series.read(cache, [metric], start, end)
    line = next((line for line in found.lines if line.label == "sum"), None)
    values = zip(range(found.count), line.mean if line else [], strict=False)
    inside = (value for index, value in values if found.start + index * found.step >= start.timestamp())
    return [value for value in inside if value is not None]
