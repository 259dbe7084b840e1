"""The clock that decides what time brings for alerts: the database's, which all workers share; theirs may be wrong."""

from datetime import datetime

from django.db import connection


def now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found
