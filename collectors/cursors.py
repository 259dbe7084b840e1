"""Cursors of psycopg itself on Django's connection, for what runs at every poll or hands over many rows."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection


@contextmanager
def raw_cursor() -> Iterator[psycopg.Cursor[Any]]:
    """Give a cursor that speaks binary and prepares, which Django's does not; errors are Django's as usual."""
    connection.ensure_connection()
    raw = connection.connection
    # A number never reached: only what says prepare=True is prepared, where planning costs more than running.
    raw.prepare_threshold = sys.maxsize if settings.DATABASE_PREPARE else None
    with connection.wrap_database_errors, psycopg.Cursor(raw) as cursor:
        yield cursor
