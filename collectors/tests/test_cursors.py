"""Cursors of psycopg itself: binary, prepared, with Django's errors."""

import pytest
from django.db import DataError, connection
from pytest_django import Settings

from collectors.cursors import raw_cursor

pytestmark = pytest.mark.django_db
QUESTION = "SELECT %s::int + 40"


def prepared() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [statement for (statement,) in cursor.fetchall()]


@pytest.mark.parametrize("wanted", [True, False])
def test_it_prepares_what_asks_for_it_unless_told_not_to(settings: Settings, wanted: bool) -> None:
    settings.DATABASE_PREPARE = wanted
    question = f"{QUESTION} -- {wanted}"

    with raw_cursor() as cursor:
        cursor.execute(question, [2], prepare=True)

    assert any(str(wanted) in statement for statement in prepared()) is wanted


def test_it_prepares_nothing_by_itself() -> None:
    with raw_cursor() as cursor:
        for number in range(8):
            cursor.execute("SELECT %s::int + 1000", [number])

    assert not any("1000" in statement for statement in prepared())


def test_it_raises_djangos_errors() -> None:
    with pytest.raises(DataError), raw_cursor() as cursor:
        cursor.execute("SELECT 1 / 0")
