"""Storing what a scan found: rows of bounded number, in one transaction with the end of the scan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from collectors.keyscan import markers, metrics, starting, summary
from collectors.keyscan.aggregate import Aggregate, Entry
from collectors.keyscan.details import Detail, slot_of
from collectors.keyscan.digests import digest, path_digest
from collectors.keyscan.kept import Kept, kept_of
from collectors.keyscan.models import OPEN, Scan, ScanKey, ScanPrefix, ScanShard, ScanState
from collectors.keyscan.names import is_cut
from collectors.keyscan.prefixes import PrefixRow
from collectors.keyscan.reasons import Reason
from collectors.keyscan.summary import kind_text

# Of a scan's prefixes the heaviest are kept; what is lighter joins "other" of the level above.
PREFIXES_KEPT = 5_000
BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in one database of one node."""

    shard: ScanShard
    db: int
    aggregate: Aggregate
    in_cluster: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """How a scan ended, and why."""

    state: ScanState
    cause: Reason
    data: dict[str, Any]


def store(scan: Scan, found: Sequence[Found], ending: Ending, extra: dict[str, Any]) -> None:
    """Write the results and the last state of a scan. What an earlier attempt wrote is replaced."""
    kept = kept_of([one.aggregate for one in found], scan.asked.top)
    keys = [key_row(scan, one, entry) for one, its in zip(found, kept, strict=True) for entry in its.entries()]
    for one in found:
        one.shard.summary = {**one.shard.summary, **summary_of_shard(one.aggregate)}
    for one, its in zip(found, kept, strict=True):
        note_ends(one.shard, its)
    whole = merged(found)
    prefixes = prefix_rows(scan, whole)
    with transaction.atomic():
        ScanKey.objects.filter(scan=scan).delete()
        ScanPrefix.objects.filter(scan=scan).delete()
        ScanKey.objects.bulk_create(keys, batch_size=BATCH)
        ScanPrefix.objects.bulk_create(prefixes, batch_size=BATCH)
        scan.keys, scan.bytes = whole.keys, whole.bytes
        scan.summary = {**summary.summarize(whole), **extra}
        scan.state, scan.finished_at = ending.state, timezone.now()
        scan.save(update_fields=("keys", "bytes", "summary", "state", "finished_at"))
        close_shards(scan, {one.shard.pk: one.shard for one in found}.values())
        starting.note(scan, ending.cause, **ending.data)
        markers.end(scan)
        if scan.state == ScanState.DONE and not scan.asked.is_partial:
            metrics.write(scan)


def close_shards(scan: Scan, shards: Iterable[ScanShard]) -> None:
    """Let other scans have the nodes; checkpoints are of no more use."""
    for shard in shards:
        shard.save(update_fields=("summary",))
    ScanShard.objects.filter(scan=scan).update(is_active=False, checkpoint=None)


def merged(found: Iterable[Found]) -> Aggregate:
    """Return the sum of all parts; their trees of prefixes are empty afterwards."""
    whole: Aggregate | None = None
    for one in found:
        if whole is None:
            whole = one.aggregate
        else:
            whole.merge(one.aggregate)
    return whole or Aggregate()


def summary_of_shard(part: Aggregate) -> dict[str, Any]:
    lasting = part.details.without_ttl(part.keys)
    return {
        "complete_from": 0,
        "typed_from": 0,
        "vanished": part.vanished,
        "repeats": round(part.repeats),
        "without_ttl": summary.as_json(lasting),
        "sizes": part.sizes.to_json(),
    }


def note_ends(shard: ScanShard, kept: Kept) -> None:
    """Note from which sizes on all keys of a shard are stored; of several databases the worst counts."""
    for name, size in (("complete_from", kept.complete_from), ("typed_from", kept.typed_from)):
        shard.summary[name] = max(shard.summary[name], size)


def key_row(scan: Scan, found: Found, entry: Entry) -> ScanKey:
    seen = entry.detail or Detail(entry.name, entry.size)
    return ScanKey(
        scan=scan,
        shard=found.shard.number,
        address=found.shard.address,
        db=found.db,
        name=entry.name,
        digest=digest(entry.name),
        size=entry.size,
        is_exact=entry.is_exact,
        type=kind_text(seen.type),
        ttl_ms=seen.ttl_ms,
        idle=seen.idle,
        frequency=seen.frequency,
        encoding=kind_text(seen.encoding),
        elements=seen.elements,
        slot=slot_of(entry.name) if found.in_cluster and not is_cut(entry.name) else None,
    )


def prefix_rows(scan: Scan, whole: Aggregate) -> list[ScanPrefix]:
    """Return the heaviest prefixes; the sums below each prefix are those of the prefix, or 0 where it has none."""
    rows = list(whole.prefixes.rows()) if whole.prefixes.depth else []
    kept = kept_rows(rows)
    parents = {row.parts[:-1] for row in kept if row.parts}
    return [
        ScanPrefix(
            scan=scan,
            digest=path_digest(row.parts),
            parent=path_digest(row.parts[:-1]) if row.parts else None,
            depth=len(row.parts),
            prefix=row.prefix,
            is_other=row.is_other,
            has_children=row.parts in parents,
            keys=row.keys,
            size=row.size,
            largest=row.largest,
            sampled=row.sampled,
            lasting=row.lasting,
        )
        for row in kept
    ]


def kept_rows(rows: Sequence[PrefixRow]) -> list[PrefixRow]:
    """Return the heaviest rows, whose parents are then among them, and an "other" where some below were left out."""
    heaviest = sorted(rows, key=lambda row: (-row.size, -row.keys, len(row.parts)))[:PREFIXES_KEPT]
    kept = {row.parts: row for row in heaviest if not row.is_other}
    # A prefix is at least as heavy as what is below it, but of equal ones a parent may have been cut off.
    kept = {parts: row for parts, row in kept.items() if not parts or parts[:-1] in kept}
    below: dict[tuple[bytes, ...], list[PrefixRow]] = {}
    for parts, row in kept.items():
        if parts:
            below.setdefault(parts[:-1], []).append(row)
    others = [other for parts, children in below.items() if (other := rest(kept[parts], children))]
    return [*kept.values(), *others]


def rest(parent: PrefixRow, children: Sequence[PrefixRow]) -> PrefixRow | None:
    """Return what of a prefix is in none of its children: small families, and keys of its very name."""
    keys = parent.keys - sum(child.keys for child in children)
    if keys <= 0:
        return None
    return PrefixRow(
        (*parent.parts, b""),
        keys,
        parent.size - sum(child.size for child in children),
        parent.largest,
        max(parent.sampled - sum(child.sampled for child in children), 0),
        max(parent.lasting - sum(child.lasting for child in children), 0),
    )


def forget_old(now: datetime) -> int:
    """Remove scans past their keeping, but for the newest with results of each cache; return how many."""
    newest = Scan.objects.with_results().order_by("cache_id", "-created_at").distinct("cache_id").values("pk")
    old = Scan.objects.filter(created_at__lt=now - timedelta(days=settings.RETENTION_SCANS_DAYS))
    return old.exclude(state__in=OPEN).exclude(pk__in=newest).delete()[1].get(Scan._meta.label, 0)
