"""What a scan found, for people (a table) and for programs (one JSON object)."""

import base64
import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.keyscan.aggregate import Aggregate, Entry
from collectors.keyscan.names import shown
from collectors.keyscan.node import NodeScan
from collectors.keyscan.prefixes import PrefixRow
from collectors.keyscan.progress import State
from collectors.keyscan.scan import Scan
from collectors.keyscan.text import columns, size_text

PREFIXES = 50
NO_TTL = -1


@dataclass(frozen=True, slots=True)
class Ranked:
    """One of the largest keys, with where it lies."""

    entry: Entry
    node: str
    db: int

    def as_json(self) -> dict[str, Any]:
        entry, detail = self.entry, self.entry.detail
        ttl = detail.ttl_ms if detail else None
        return {
            "key": shown(entry.name),
            "key_base64": base64.b64encode(entry.name).decode(),
            "type": detail.type if detail and detail.type else None,
            "bytes": entry.size,
            "exact": entry.is_exact,
            "node": self.node,
            "db": self.db,
            "elements": detail.elements if detail else None,
            "encoding": detail.encoding if detail and detail.encoding else None,
            "ttl_seconds": ttl / 1000 if ttl is not None and ttl >= 0 else None,
            "expires": None if ttl is None else ttl != NO_TTL,
            "idle_seconds": detail.idle if detail else None,
            "frequency": detail.frequency if detail else None,
        }


class Report:
    """Made once the scan has ended: the aggregates of its nodes are merged into one."""

    def __init__(self, scan: Scan, top: int) -> None:
        self.seconds = scan.seconds
        self.is_settled = scan.is_settled
        parts = [(node.target.label, part) for node in scan.nodes for part in node.parts]
        found = (Ranked(entry, label, part.db) for label, part in parts for entry in part.aggregate.entries())
        self.top = heapq.nsmallest(top, found, key=lambda ranked: (-ranked.entry.size, ranked.entry.name))
        self.node_rows = [_node_json(node) for node in scan.nodes]
        self.whole = _merged(scan)
        self.prefixes = _prefixes(self.whole)

    @property
    def is_complete(self) -> bool:
        """Return whether every key that was there could be measured."""
        return self.is_settled and all(row["state"] == State.DONE and not row["unreadable"] for row in self.node_rows)

    def as_json(self) -> dict[str, Any]:
        return {
            "keys": self.whole.keys,
            "bytes": self.whole.bytes,
            "seconds": round(self.seconds, 3),
            "complete": self.is_complete,
            "vanished": self.whole.vanished,
            "repeats": round(self.whole.repeats),
            "nodes": self.node_rows,
            "top": [ranked.as_json() for ranked in self.top],
            "prefixes": [{"prefix": _prefix_text(row), "keys": row.keys, "bytes": row.size} for row in self.prefixes],
        }

    def text(self) -> str:
        return "\n".join([*self._summary(), "", *self._top_table(), "", *self._prefix_table()]).rstrip()

    def _summary(self) -> Iterator[str]:
        keys = self.whole.keys
        yield _("Measured all keys: %(keys)s, with %(size)s, in %(seconds).1f s.") % {
            "keys": f"{keys:,}",
            "size": size_text(self.whole.bytes),
            "seconds": self.seconds,
        }
        if self.whole.vanished:
            count = self.whole.vanished
            yield ngettext(
                "%(count)s key was gone before it could be measured.",
                "%(count)s keys were gone before they could be measured.",
                count,
            ) % {"count": f"{count:,}"}
        if not self.is_settled:
            yield _("Slots kept moving between nodes: some keys may be missing, others counted twice.")
        for row in self.node_rows:
            yield from _node_words(row)

    def _top_table(self) -> list[str]:
        head = [_("bytes"), _("type"), _("elements"), _("TTL"), _("node"), _("key")]
        return columns([head, *(list(_cells(ranked)) for ranked in self.top)], "rlrrll")

    def _prefix_table(self) -> list[str]:
        head = [_("bytes"), _("share"), _("keys"), _("prefix")]
        whole = max(self.whole.bytes, 1)
        rows = [
            [f"{row.size:,}", f"{row.size / whole:.1%}", f"{row.keys:,}", _prefix_text(row)] for row in self.prefixes
        ]
        return columns([head, *rows], "rrrl") if rows else []


def _merged(scan: Scan) -> Aggregate:
    whole: Aggregate | None = None
    for node in scan.nodes:
        for part in node.parts:
            if whole is None:
                whole = part.aggregate
            else:
                whole.merge(part.aggregate)
    return whole or Aggregate()


def _prefixes(whole: Aggregate) -> list[PrefixRow]:
    if not whole.prefixes.depth:
        return []
    rows = (row for row in whole.prefixes.rows() if row.parts)
    return heapq.nlargest(PREFIXES, rows, key=lambda row: row.size)


def _prefix_text(row: PrefixRow) -> str:
    return f"{shown(b''.join(row.parts[:-1]))}(other)" if row.is_other else shown(row.prefix)


def _node_json(node: NodeScan) -> dict[str, Any]:
    return {
        "node": node.target.label,
        "shard": node.target.shard,
        "role": "replica" if node.target.is_replica else "primary",
        "state": str(node.state),
        "keys": sum(part.aggregate.keys for part in node.parts),
        "bytes": sum(part.aggregate.bytes for part in node.parts),
        "dbsize": sum(part.total for part in node.parts),
        "unreadable": sum(part.walk.unreadable for part in node.parts),
        "reconnects": node.reconnects,
        "restarts": node.restarts,
        "refused": list(node.abilities.missing) if node.abilities else [],
        "sizes": "memory" if node.abilities is None or node.abilities.has_memory else "estimated from lengths",
        "failure": node.failure.reason() if node.failure and node.state == State.FAILED else None,
    }


def _node_words(row: dict[str, Any]) -> Iterator[str]:
    place = {"node": row["node"]}
    if row["state"] == State.FAILED:
        yield _("%(node)s could not be read to the end: %(failure)s") % {**place, "failure": row["failure"]}
    elif row["state"] != State.DONE:
        yield _("%(node)s was not read to the end.") % place
    if row["unreadable"]:
        yield _("%(node)s: the user may not read some of the keys: %(count)s.") % {
            **place,
            "count": f"{row['unreadable']:,}",
        }
    if row["refused"]:
        yield _("%(node)s refuses: %(commands)s.") % {**place, "commands": ", ".join(row["refused"])}
    if row["sizes"] != "memory":
        yield _("%(node)s: sizes are estimated from types and lengths.") % place


def _cells(ranked: Ranked) -> Iterator[str]:
    detail = ranked.entry.detail
    yield f"{ranked.entry.size:,}" if ranked.entry.is_exact else f"~{ranked.entry.size:,}"
    yield detail.type if detail and detail.type else "-"
    yield "-" if detail is None or detail.elements is None else f"{detail.elements:,}"
    yield _ttl_text(detail.ttl_ms if detail else None)
    yield f"{ranked.node}/{ranked.db}" if ranked.db else ranked.node
    yield shown(ranked.entry.name)


def _ttl_text(ttl_ms: int | None) -> str:
    if ttl_ms is None:
        return "-"
    return _("none") if ttl_ms == NO_TTL else f"{ttl_ms / 1000:,.0f} s"
