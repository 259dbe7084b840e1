"""What a scan says of a cache as a whole, as plain numbers: histograms, types, shares with their errors, skew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.failures import printable
from collectors.keyscan.aggregate import Aggregate, Entry
from collectors.keyscan.details import Details, Share

TYPE_LIMIT = 40
SLOTS_KEPT = 20
ENCODINGS_KEPT = 40


@dataclass(slots=True)
class Known:
    """Keys of one type that are known one by one: they are among the largest."""

    keys: int = 0
    bytes: int = 0
    ttl_read: int = 0
    lasting: int = 0


def summarize(whole: Aggregate) -> dict[str, Any]:
    """Return the summary of a walk, or of several that were merged."""
    details = whole.details
    return {
        "keys": whole.keys,
        "bytes": whole.bytes,
        "vanished": whole.vanished,
        "repeats": round(whole.repeats),
        "is_full": whole.is_full,
        "sampled": details.name_lengths.total,
        "sizes": whole.sizes.to_json(),
        "name_lengths": details.name_lengths.to_json(),
        "ttl_seconds": details.ttl_seconds.to_json(),
        "idle_seconds": details.idle_seconds.to_json(),
        "types": types(whole),
        "encodings": encodings(details),
        "elements": {kind_text(kind): counts.to_json() for kind, counts in details.elements.items()},
        "without_ttl": as_json(details.without_ttl(whole.keys)),
        "overhead": overhead(details),
        "slots": slots(details),
    }


def types(whole: Aggregate) -> list[dict[str, Any]]:
    """Return keys and bytes by type, the largest first: counted among the largest keys, estimated for the others."""
    known = {} if whole.is_full else known_by_type(whole.entries())
    rest_keys = whole.keys - sum(one.keys for one in known.values())
    rest_bytes = whole.bytes - sum(one.bytes for one in known.values())
    rows = [
        type_row(kind, known.get(kind, Known()), whole.details, rest_keys, rest_bytes)
        for kind in sorted(set(known) | set(whole.details.tallies))
    ]
    return sorted(rows, key=lambda row: (-row["bytes"], row["type"]))


def known_by_type(entries: Iterable[Entry]) -> dict[str, Known]:
    found: dict[str, Known] = defaultdict(Known)
    for entry in entries:
        one = found[entry.detail.type if entry.detail else ""]
        one.keys += 1
        one.bytes += entry.size
        if entry.detail and entry.detail.ttl_ms is not None:
            one.ttl_read += 1
            one.lasting += entry.detail.ttl_ms < 0
    return dict(found)


def type_row(kind: str, known: Known, details: Details, rest_keys: int, rest_bytes: int) -> dict[str, Any]:
    keys, size = details.share_of_keys(kind, rest_keys), details.share_of_bytes(kind, rest_keys)
    tally = details.tallies.get(kind)
    read, lasting = known.ttl_read, known.lasting
    if tally:
        read, lasting = read + tally.ttl_read, lasting + tally.lasting
    has_sample = details.keys > 0
    return {
        "type": kind_text(kind),
        "keys": known.keys + round(keys.value * rest_keys),
        "keys_error": round(keys.error * rest_keys) if has_sample else 0,
        "bytes": known.bytes + round(size.value * rest_bytes),
        "bytes_error": round(size.error * rest_bytes) if has_sample else 0,
        "without_ttl": lasting / read if read else None,
    }


def encodings(details: Details) -> list[list[Any]]:
    common = details.encodings.most_common(ENCODINGS_KEPT)
    return [[kind_text(kind), kind_text(encoding), count] for (kind, encoding), count in common]


def overhead(details: Details) -> dict[str, int] | None:
    """Return what sampled strings take in memory, and what of it is names and values; None without any."""
    strings = details.tallies.get("string")
    if not strings or not strings.held:
        return None
    return {"held": strings.held, "payload": min(strings.payload, strings.held)}


def slots(details: Details) -> dict[str, Any]:
    """Return the heaviest slots of the sample: slot, keys, bytes; and the sums that they are a part of."""
    heaviest = details.slot_bytes.most_common(SLOTS_KEPT)
    return {
        "keys": details.slot_keys.total(),
        "bytes": details.slot_bytes.total(),
        "used": len(details.slot_keys),
        "heaviest": [[slot, details.slot_keys[slot], size] for slot, size in heaviest],
    }


def as_json(share: Share | None) -> list[float] | None:
    return None if share is None else [round(share.value, 6), round(share.error, 6)]


def kind_text(kind: str) -> str:
    """Return a type's or encoding's name, which a module may have given, as it can be stored."""
    return printable(kind)[:TYPE_LIMIT]


def skew(sizes: Sequence[int]) -> float | None:
    """Return how many times the mean of all shards the heaviest one holds; None for fewer than two."""
    whole = sum(sizes)
    return max(sizes) * len(sizes) / whole if len(sizes) > 1 and whole else None


def biggest_by_type(whole: Aggregate) -> list[tuple[str, bytes, int]]:
    """Return the largest key of each type as far as types are known by now, and the largest of all."""
    found = [(kind, largest) for kind, top in whole.by_type.items() if (largest := top.largest())]
    first = whole.top.largest()
    if first and first not in [largest for _kind, largest in found]:
        found.append(("", first))
    return sorted(((kind, name, size) for kind, (name, size) in found), key=lambda row: -row[2])
