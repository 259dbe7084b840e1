"""How keys spread over the slots of a cluster, and how they are encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collectors.keyscan.models import Scan
from dashboard.scans.naming import Naming

SLOTS_SHOWN = 10
# One key of a sample in a slot is no sign of a hash tag.
KEYS_TOGETHER = 2


@dataclass(frozen=True, slots=True)
class SlotLine:
    """A slot that holds much: its share of the bytes that were looked at, and the hash tags of its largest keys."""

    slot: int
    keys: int
    share: float
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class EncodingLine:
    """Keys of one type with one encoding; the share is that of the type's keys that were looked at."""

    type: str
    encoding: str
    keys: int
    share: float


def slots(scan: Scan, naming: Naming) -> list[SlotLine]:
    """Return the heaviest slots that hold several keys; none outside of clusters."""
    told = scan.summary.get("slots") or {}
    if scan.cache.topology != "cluster" or not told.get("bytes"):
        return []
    rows = [row for row in told["heaviest"] if row[1] >= KEYS_TOGETHER][:SLOTS_SHOWN]
    tags = tags_of(scan, [slot for slot, _keys, _size in rows], naming)
    return [SlotLine(slot, keys, size / told["bytes"], tags.get(slot, ())) for slot, keys, size in rows]


def tags_of(scan: Scan, numbers: Sequence[int], naming: Naming) -> dict[int, list[str]]:
    """Return the hash tags of stored keys by slot, each once."""
    found: dict[int, dict[str, None]] = {}
    rows = scan.top_keys.filter(slot__in=numbers).order_by("-size")
    for slot, name in rows.values_list("slot", "name"):
        if slot is not None and (tag := tag_of(bytes(name))):
            found.setdefault(slot, {})[naming.key(tag)] = None
    return {slot: list(tags) for slot, tags in found.items()}


def tag_of(name: bytes) -> bytes:
    """Return the part between braces that a cluster puts a key by, with the braces; empty where there is none."""
    opened = name.find(b"{")
    closed = name.find(b"}", opened + 1) if opened >= 0 else -1
    return name[opened : closed + 1] if closed > opened + 1 else b""


def encodings(scan: Scan) -> list[EncodingLine]:
    told: list[tuple[str, str, int]] = [(kind, encoding, count) for kind, encoding, count in scan.summary["encodings"]]
    whole: dict[str, int] = {}
    for kind, _encoding, count in told:
        whole[kind] = whole.get(kind, 0) + count
    lines = [EncodingLine(kind, encoding, count, count / whole[kind]) for kind, encoding, count in told if count]
    return sorted(lines, key=lambda line: (-whole[line.type], line.type, -line.keys))
