"""The read path's own connection to the database: no models, no requests, and never waiting for long."""

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg
from django.db import connection

from switches.snapshot import READ, Snapshot, parse

CHANNEL = "shardwatch_switches"
PATIENCE_SECONDS = 2
# A server that vanished without a word is noticed by the kernel, not by the next hour.
OPTIONS = {
    "connect_timeout": PATIENCE_SECONDS,
    "keepalives_idle": PATIENCE_SECONDS,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "tcp_user_timeout": 1000 * PATIENCE_SECONDS,
}
BEGIN = "INSERT INTO switches_installation (id, epoch, serial) VALUES (1, 1, 1) ON CONFLICT DO NOTHING"
PLACE = "SELECT epoch, serial FROM switches_installation WHERE id = 1"
# Whoever comes second finds a serial that is no longer lower.
RAISE_EPOCH = """
    UPDATE switches_installation SET epoch = %(epoch)s + 1, serial = %(serial)s + 1
    WHERE id = 1 AND (epoch < %(epoch)s OR (epoch = %(epoch)s AND serial < %(serial)s))
"""
UPSERT = """
    INSERT INTO switches_instance AS known (switch_id, name, address, version, workers, revision, epoch, age_seconds,
        error, first_seen_at, seen_at, behind_at, is_admitted)
    SELECT switch_id, name, address, version, workers, revision, epoch, age, error, statement_timestamp(),
        statement_timestamp(), CASE WHEN is_behind THEN statement_timestamp() END, false
    FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::int[], %s::int[], %s::int[], %s::float8[],
        %s::text[], %s::bool[]) AS told (switch_id, name, address, version, workers, revision, epoch, age, error,
        is_behind)
    ON CONFLICT (switch_id, name) DO UPDATE SET address = EXCLUDED.address, version = EXCLUDED.version,
        workers = EXCLUDED.workers, revision = EXCLUDED.revision, epoch = EXCLUDED.epoch,
        age_seconds = EXCLUDED.age_seconds, error = EXCLUDED.error, seen_at = EXCLUDED.seen_at,
        behind_at = COALESCE(EXCLUDED.behind_at, known.behind_at)
"""
POLLED = "UPDATE switches_switch SET polled_at = statement_timestamp() WHERE id = ANY(%s)"
USED = "UPDATE switches_clientkey SET last_used_at = statement_timestamp() WHERE id = ANY(%s)"


class Store:
    """One open connection. Whatever fails raises psycopg.Error; it is of no use after that."""

    def __init__(self) -> None:
        given: dict[str, Any] = connection.get_connection_params()
        # What remains are libpq's own words; Django's adapters are not needed here.
        words = {name: value for name, value in given.items() if isinstance(value, str)}
        limit = f"{words.pop('options', '')} -c statement_timeout={PATIENCE_SECONDS * 1000}"
        parameters: dict[str, Any] = {**words, **OPTIONS, "options": limit}
        self.raw: psycopg.Connection[Any] = psycopg.connect(**parameters, autocommit=True)
        self.raw.execute(BEGIN)
        self.raw.execute(f"LISTEN {CHANNEL}")

    def place(self) -> tuple[int, int]:
        """Return the epoch and the serial of the newest state."""
        row = self.raw.execute(PLACE).fetchone()
        return tuple(row) if row else (0, 0)

    def read(self) -> Snapshot:
        row = self.raw.execute(READ).fetchone()
        assert row is not None
        return parse(row[0].encode())

    def raise_epoch(self, known: tuple[int, int]) -> None:
        """Begin a new epoch above one that readers may know."""
        self.raw.execute(RAISE_EPOCH, {"epoch": known[0], "serial": known[1]})

    def wait(self, seconds: float) -> None:
        """Return when something changed, at the latest after so long."""
        for _ in self.raw.notifies(timeout=seconds, stop_after=1):
            pass

    def write_reports(self, columns: Sequence[Sequence[Any]]) -> None:
        self.raw.execute(UPSERT, columns)

    def write_uses(self, switch_ids: Iterable[int], key_ids: Iterable[int]) -> None:
        self.raw.execute(POLLED, [sorted(switch_ids)])
        self.raw.execute(USED, [sorted(key_ids)])

    def close(self) -> None:
        self.raw.close()
