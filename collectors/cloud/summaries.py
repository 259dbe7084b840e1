"""What the fleet page shows of caches whose nodes nobody here can reach: made of the service's own figures."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from collectors.cloud.service_metrics import POSITION
from collectors.latest import SPARK_POINTS, SPARKS
from fleet.models import Reach

# How far behind the newest minute a figure may be that comes later than the others.
LATE = timedelta(minutes=10)


def _number(name: str) -> str:
    return f"s.numbers[{POSITION[f'service_{name}'] + 1}]"


def _over(function: str, name: str, *, primaries: bool = False) -> str:
    return f"{function}({_number(name)})" + (" FILTER (WHERE place.is_primary)" if primaries else "")


_HITS, _MISSES = _over("sum", "keyspace_hits_per_second"), _over("sum", "keyspace_misses_per_second")
_USED = _over("sum", "used_memory", primaries=True)
_LIMIT = f"COALESCE({_over('max', 'maxmemory', primaries=True)}, {_over('sum', 'memory_size', primaries=True)})"
# Replicas hold copies: data and commands are counted on primaries, and on what tells no roles apart.
FIGURES = {
    "used_memory": _USED,
    "memory_limit_bytes": _LIMIT,
    "memory_used_ratio": f"COALESCE({_over('max', 'memory_maximum_utilization')}, {_USED} / NULLIF({_LIMIT}, 0))",
    "cpu_ratio": f"COALESCE({_over('max', 'main_thread_cpu_ratio')}, {_over('max', 'cpu_utilization')})",
    "connected_clients": _over("sum", "connected_clients"),
    "fullest_connected_clients": (
        f"COALESCE({_over('max', 'maximum_connected_clients')}, {_over('max', 'connected_clients')})"
    ),
    "commands_per_second": _over("sum", "commands_per_second", primaries=True),
    "hit_ratio": f"COALESCE({_HITS} / NULLIF({_HITS} + {_MISSES}, 0), {_over('min', 'hit_ratio')})",
    "evicted_keys_per_second": _over("sum", "evicted_keys_per_second"),
    "rejected_connections_per_second": _over("sum", "rejected_connections_per_second"),
    "replication_lag_bytes": _over("max", "replication_lag_bytes"),
    "keys": _over("max", "keys", primaries=True),
}
# Columns of cache_latest that hold whole numbers.
WHOLE = {
    "used_memory",
    "memory_limit_bytes",
    "connected_clients",
    "fullest_connected_clients",
    "replication_lag_bytes",
    "keys",
}


def _refresh_sql() -> str:
    minutes = ", ".join(f"{sql} AS {name}" for name, sql in FIGURES.items())
    newest = ", ".join(_newest(name) for name in FIGURES)
    sparks = ", ".join(f"array_agg({name.removeprefix('spark_')}::real ORDER BY grid.at) AS {name}" for name in SPARKS)
    columns = [*FIGURES, *SPARKS, "connections_used_ratio", "fullest_maxclients", "spark_minute", "at"]
    return f"""
        WITH place AS (
            SELECT p.id, i.cache_id, p.role IN ('', 'primary') AS is_primary
            FROM collectors_cloudplace p JOIN collectors_cloudinstance i ON i.id = p.instance_id
            JOIN fleet_cache c ON c.id = i.cache_id AND c.reach = '{Reach.SERVICE}'
            WHERE i.id = ANY(%(instances)s) AND p.seen_on >= %(day)s
        ), minute AS (
            SELECT place.cache_id, s.at, {minutes}
            FROM place JOIN cloud_sample s ON s.place_id = place.id AND s.at > %(start)s AND s.at <= %(end)s
            GROUP BY 1, 2
        ), edge AS (SELECT cache_id, max(at) AS newest FROM minute GROUP BY 1
        ), figure AS (
            SELECT cache_id, newest, {newest} FROM minute JOIN edge USING (cache_id)
            WHERE at > newest - %(late)s GROUP BY 1, 2
        ), drawn AS (
            SELECT edge.cache_id, {sparks}
            FROM edge CROSS JOIN LATERAL generate_series(
                newest - interval '{SPARK_POINTS - 1} minutes', newest, interval '1 minute') AS grid (at)
            LEFT JOIN minute ON minute.cache_id = edge.cache_id AND minute.at = grid.at GROUP BY 1
        )
        INSERT INTO cache_latest (cache_id, nodes, answering, primaries, replicas, links_down, {", ".join(columns)})
        SELECT cache_id, 0, 0, 0, 0, 0, {", ".join(columns[:-4])},
            fullest_connected_clients / NULLIF(limits.maxclients, 0)::real, limits.maxclients,
            (date_part('epoch', newest) / 60)::int, newest
        FROM figure JOIN drawn USING (cache_id) JOIN LATERAL (
            SELECT COALESCE(plan_maxclients, service_maxclients) AS maxclients FROM fleet_cache WHERE id = cache_id
        ) AS limits ON true ORDER BY cache_id
        ON CONFLICT (cache_id) DO UPDATE SET {", ".join(f"{name} = EXCLUDED.{name}" for name in columns)}
        WHERE cache_latest.at IS NULL OR cache_latest.at <= EXCLUDED.at
    """


def _newest(name: str) -> str:
    kind = "::bigint" if name in WHOLE else ""
    return f"(array_agg({name} ORDER BY at DESC) FILTER (WHERE {name} IS NOT NULL))[1]{kind} AS {name}"


REFRESH = _refresh_sql()


def refresh(instance_ids: Collection[int], now: datetime) -> list[int]:
    """Write the summaries of those caches that are read from the service alone; return their ids."""
    start = now - LATE - timedelta(minutes=SPARK_POINTS)
    given: dict[str, Any] = {
        "instances": list(instance_ids),
        "start": start,
        "end": now + timedelta(minutes=1),
        "day": start.date(),
        "late": LATE,
    }
    with connection.cursor() as cursor:
        cursor.execute(f"{REFRESH} RETURNING cache_id", given)
        return sorted(cache_id for (cache_id,) in cursor.fetchall())
