"""The queries behind charts and rules on the service's figures: places of caches, and their numbers by time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from collectors.cloud.feed import CloudPlace
from collectors.cloud.rollups import TABLE, WIDTH
from collectors.cloud.service_metrics import POSITION
from collectors.cursors import raw_cursor

# The service's samples are a minute apart.
SPACING = 60
FINER = {"1h": "5m", "5m": "raw"}


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a cache; `node_id` "" is the whole instance, `role` "" where the service tells none."""

    id: int
    cache_id: int
    node_id: str
    role: str

    @property
    def label(self) -> str:
        """Return what tells the place from the others of its cache; "" for all of it."""
        return f"{self.node_id[:12]} {self.role}".strip()


def is_service(name: str) -> bool:
    """Return whether a metric comes from the service itself, not from nodes."""
    return name in POSITION


def places(cache_ids: Collection[int], since: datetime) -> list[Place]:
    """Return the places of some caches that had points on the day of `since` or later, whole instances first."""
    rows = CloudPlace.objects.filter(instance__cache__in=cache_ids, seen_on__gte=since.date())
    given = rows.order_by("instance__cache", "node_id", "role")
    return [Place(*row) for row in given.values_list("pk", "instance__cache_id", "node_id", "role")]


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
