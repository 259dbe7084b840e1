"""What a scan found as files: CSV for spreadsheets, JSON as one object, NDJSON a row a line."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from collectors.keyscan.models import Scan, ScanKey, ScanPrefix
from dashboard.scans.naming import Naming

CHUNK = 1_000
# A spreadsheet takes a cell that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "ndjson": "application/x-ndjson"}


def key_json(key: ScanKey, naming: Naming) -> dict[str, Any]:
    name = bytes(key.name)
    ttl = key.ttl_ms
    return {
        "id": key.pk,
        "key": naming.key(name),
        "key_base64": None if naming.is_masked else base64.b64encode(name).decode(),
        "bytes": key.size,
        "exact": key.is_exact,
        "type": key.type or None,
        "elements": key.elements,
        "encoding": key.encoding or None,
        "expires": None if ttl is None else ttl >= 0,
        "ttl_seconds": ttl / 1000 if ttl is not None and ttl >= 0 else None,
        "idle_seconds": key.idle,
        "frequency": key.frequency,
        "slot": key.slot,
        "shard": key.shard,
        "node": key.address,
        "db": key.db,
    }


def prefix_json(row: ScanPrefix, naming: Naming) -> dict[str, Any]:
    return {
        "id": str(row.digest),
        "parent": None if row.parent is None else str(row.parent),
        "prefix": naming.prefix(bytes(row.prefix), row.is_other),
        "is_other": row.is_other,
        "depth": row.depth,
        "keys": row.keys,
        "bytes": row.size,
        "mean_bytes": row.mean,
        "max_bytes": row.largest,
        "without_ttl_ratio": row.lasting_ratio,
    }


def rows(scan: Scan, part: str, naming: Naming) -> Iterator[dict[str, Any]]:
    """Yield the keys or the prefixes of a scan, the largest first."""
    if part == "keys":
        for key in scan.top_keys.order_by("-size", "pk").iterator(CHUNK):
            yield key_json(key, naming)
    else:
        for row in scan.prefixes.order_by("-size", "depth", "pk").iterator(CHUNK):
            yield prefix_json(row, naming)


def as_csv(found: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield the lines of a table with a head; nothing where there are no rows."""
    writer: csv.DictWriter[str] | None = None
    for row in found:
        buffer = io.StringIO()
        if writer is None:
            csv.DictWriter(buffer, list(row)).writeheader()
        writer = csv.DictWriter(buffer, list(row))
        writer.writerow({name: cell(value) for name, value in row.items()})
        yield buffer.getvalue().encode()


def cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def as_ndjson(found: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for row in found:
        yield orjson.dumps(row) + b"\n"


def as_list(found: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield a JSON list, row by row."""
    yield b"["
    for number, row in enumerate(found):
        yield (b"," if number else b"") + orjson.dumps(row)
    yield b"]"


def as_json(head: Mapping[str, Any], scan: Scan, naming: Naming) -> Iterator[bytes]:
    """Yield one object: the scan, then its keys and prefixes."""
    yield orjson.dumps(head)[:-1]
    for part in ("keys", "prefixes"):
        yield f',"{part}":'.encode()
        yield from as_list(rows(scan, part, naming))
    yield b"}\n"
