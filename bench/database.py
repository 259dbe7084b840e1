"""The database that a bench has to itself: embedded Postgres with the settings of bin/up."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections

from config import env
from launcher import postgres


@dataclass(frozen=True)
class Database:
    """A server with all tables and no rows, and the folder for whatever else the bench starts."""

    directory: Path
    url: str
    pid: int

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self.pid)

    def version(self) -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            return str(cursor.fetchone()[0]).split()[0]


@contextmanager
def own_database(**options: str) -> Iterator[Database]:
    """Start Postgres in a throw-away folder, point Django and child processes at it, migrate.

    `options` are further settings of Postgres.
    """
    # Sockets need a short path, and the database's account must pass through to its own.
    directory = Path(tempfile.mkdtemp(prefix="sw-bench-", dir="/tmp"))
    directory.chmod(0o711)
    server, child = postgres.start_postgres(directory / "postgres", directory / "pg", **options)
    before = os.environ.get("DATABASE_URL")
    try:
        _point_at(server.url)
        call_command("migrate", verbosity=0)
        yield Database(directory, server.url, child.pid)
    finally:
        connections.close_all()
        postgres.stop_postgres(child)
        shutil.rmtree(directory, ignore_errors=True)
        if before is not None:
            _point_at(before)


def _point_at(url: str) -> None:
    os.environ["DATABASE_URL"] = url
    connections.close_all()
    settings.DATABASES["default"].update(env.database("DATABASE_URL", url))
