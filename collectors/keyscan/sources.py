"""From which nodes scans read. The same keys take more memory on one node than on another, primary or replica."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from collectors.keyscan.models import Scan, ScanShard

# Of earlier scans so many are looked at for one that read from the same kind of nodes.
LOOKED_AT = 20

# Whether a replica was read, by the number of the shard.
Sources = Mapping[int, bool]


def sources_of(scans: Iterable[Scan]) -> dict[int, Sources]:
    """Return what each scan read, by its id."""
    found: dict[int, dict[int, bool]] = {scan.pk: {} for scan in scans}
    rows = ScanShard.objects.filter(scan__in=list(found)).order_by("pk")
    for scan_id, number, is_replica in rows.values_list("scan", "number", "is_replica"):
        found[scan_id][number] = is_replica
    return {**found}


def mixed(before: Sources, after: Sources) -> list[int]:
    """Return the shards of which one scan read the primary and the other a replica."""
    return sorted(number for number in before.keys() & after.keys() if before[number] != after[number])


def mixed_shards(before: Scan, after: Scan) -> list[int]:
    read = sources_of([before, after])
    return mixed(read[before.pk], read[after.pk])


def alike(scan: Scan, others: Iterable[Scan]) -> list[Scan]:
    """Return those of some scans whose sizes may be compared with those of this one."""
    others = list(others)
    read = sources_of([scan, *others])
    return [other for other in others if not mixed(read[other.pk], read[scan.pk])]


def earlier_of(scan: Scan) -> Scan | None:
    """Return the newest scan before that may be compared with this one."""
    return next(iter(alike(scan, scan.before()[:LOOKED_AT])), None)
