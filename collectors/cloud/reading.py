"""The queries behind charts and rules on the service's figures: places of caches, and their numbers by time."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from collectors.cloud.rollups import TABLE, WIDTH
from collectors.cloud.service_metrics import POSITION
from collectors.cursors import raw_cursor
from collectors.layout import address_text

# The service's samples are a minute apart.
SPACING = 60
FINER = {"1h": "5m", "5m": "raw"}
# The service calls the nodes of a cluster by their ids there, which say nothing to people.
CLUSTER_ID = re.compile(r"[0-9a-f]{32,}")
SHORT = 12
# A node of a cluster is the same to us and to the service, which knows neither its address nor its shard.
NAMED_BY = """
    LEFT JOIN fleet_node n ON n.cache_id = i.cache_id AND n.identity = p.node_id AND n.left_at IS NULL
    LEFT JOIN fleet_shard s ON s.id = n.shard_id
"""
NAMED = "p.id, i.cache_id, p.node_id, p.role, s.id, s.number, n.host, n.port"
PLACES = f"""
    SELECT {NAMED} FROM collectors_cloudplace p JOIN collectors_cloudinstance i ON i.id = p.instance_id {NAMED_BY}
    WHERE i.cache_id = ANY(%s::bigint[]) AND p.seen_on >= %s ORDER BY i.cache_id, p.node_id, p.role
"""
# Those of instances that are still there, with the newest point of each.
STANDING = f"""
    SELECT {NAMED}, (
        SELECT max(c.at) FROM cloud_sample c WHERE c.place_id = p.id AND c.at > %(edge)s AND c.at <= %(at)s
    ) FROM collectors_cloudplace p JOIN collectors_cloudinstance i ON i.id = p.instance_id {NAMED_BY}
    WHERE i.gone_at IS NULL AND i.cache_id = ANY(%(caches)s::bigint[]) AND p.seen_on >= %(day)s ORDER BY p.id
"""


def shortened(name: str) -> str:
    """Return a name as people can read it: of an id that programs made only its beginning."""
    return f"{name[:SHORT]}…" if CLUSTER_ID.fullmatch(name) else name


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a cache; `node_id` "" is the whole instance, `role` "" where the service tells none.

    Shard and address are those of the node where we know it by ourselves, too.
    """

    id: int
    cache_id: int
    node_id: str
    role: str
    shard_id: int | None = None
    shard: int | None = None
    address: str = ""

    @property
    def label(self) -> str:
        """Return what tells the place from the others of its cache; "" for all of it."""
        return f"{self.address or shortened(self.node_id)} {self.role}".strip()

    @property
    def whole_label(self) -> str:
        """Return what `label` shortens; "" where it is whole."""
        whole = f"{self.address or self.node_id} {self.role}".strip()
        return "" if whole == self.label else whole


def is_service(name: str) -> bool:
    """Return whether a metric comes from the service itself, not from nodes."""
    return name in POSITION


def places(cache_ids: Collection[int], since: datetime) -> list[Place]:
    """Return the places of some caches that had points on the day of `since` or later, whole instances first."""
    with connection.cursor() as cursor:
        cursor.execute(PLACES, [list(cache_ids), since.date()])
        rows = cursor.fetchall()
    return [_place(row) for row in rows]


def _place(row: Sequence[Any]) -> Place:
    place_id, cache_id, node_id, role, shard_id, shard, host, port = row
    return Place(place_id, cache_id, node_id, role, shard_id, shard, address_text(host, port) if host else "")


def standing(cache_ids: Collection[int], at: datetime, span: timedelta) -> list[tuple[Place, datetime | None]]:
    """Return the places that were told of lately, each with its newest point, None where `span` has none."""
    edge = at - span
    given = {"caches": list(cache_ids), "edge": edge, "at": at, "day": (edge - timedelta(days=1)).date()}
    with raw_cursor() as cursor:
        return [(_place(row), newest) for *row, newest in cursor.execute(STANDING, given).fetchall()]


def slot(name: str) -> int:
    """Return the place of a metric in the stored arrays, as Postgres counts."""
    return POSITION[name] + 1


def pieces(tier: str, start: datetime, end: datetime) -> list[tuple[str, datetime, datetime]]:
    """Return what to read: `tier` up to the oldest interval that is still to be made, then finer ones."""
    # The widest tier of nodes has no counterpart here.
    tier = tier if tier in {"raw", *TABLE} else "1h"
    with connection.cursor() as cursor:
        cursor.execute("SELECT tier, min(at) FROM cloud_rollup_due GROUP BY 1")
        due = dict(cursor.fetchall())
    found = []
    while tier != "raw" and start < end:
        until = min(end, due.get(tier, end))
        if until > start:
            found.append((tier, start, until))
            start = until
        tier = FINER[tier]
    return [*found, ("raw", start, end)] if start < end else found


def _columns(tier: str, names: Sequence[str]) -> str:
    """Return SQL for weight, mean, lowest, highest and last of each metric in a row of a tier."""
    arrays = ("numbers", "numbers", "numbers", "numbers") if tier == "raw" else ("mean", "minimum", "maximum", "last")
    return ", ".join(
        f"{array}[{slot(name)}]::float8 AS {kind}{index}"
        for index, name in enumerate(names)
        for array, kind in zip(arrays, ("mean", "low", "high", "last"), strict=True)
    )


def source(tier: str, names: Sequence[str]) -> str:
    """Return SQL over one tier, a row a place and time; its parameters are place ids, start and end."""
    table, samples = ("cloud_sample", "1") if tier == "raw" else (TABLE[tier], "samples")
    return (
        f"SELECT place_id, at, {samples} AS samples, {_columns(tier, names)} FROM {table}"
        " WHERE place_id = ANY(%s::bigint[]) AND at >= %s AND at < %s"
    )


def points(
    tier: str, place_ids: Sequence[int], names: Sequence[str], start: datetime, end: datetime, step: int
) -> list[tuple[Any, ...]]:
    """Return rows (place, point, samples, then mean, lowest, highest and last of each metric), `step` seconds a point.

    Points are counted from `start`.
    """
    given = pieces(tier, start, end)
    union = " UNION ALL ".join(source(piece, names) for piece, _start, _end in given)
    arguments = [argument for _tier, begin, until in given for argument in (list(place_ids), begin, until)]
    columns = ", ".join(
        f"(sum(mean{i} * samples) / sum(samples) FILTER (WHERE mean{i} IS NOT NULL)), min(low{i}), max(high{i}),"
        f" (array_agg(last{i} ORDER BY at DESC))[1]"
        for i in range(len(names))
    )
    point = f"((date_part('epoch', at)::bigint - {int(start.timestamp())}) / {int(step)})::int"
    with raw_cursor() as cursor:
        cursor.execute(
            f"SELECT place_id, {point}, sum(samples)::int, {columns} FROM ({union}) AS v GROUP BY 1, 2",
            arguments,
            binary=True,
        )
        return cursor.fetchall()


def seconds_of(tier: str) -> int:
    """Return how far apart the rows of a place are in a tier."""
    return int(WIDTH[tier].total_seconds()) if tier in WIDTH else SPACING
