import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection

from collectors import backlog, samples
from collectors.samples import NodeReading
from collectors.tests.cast import NOON, cache_with_nodes, reading


@pytest.fixture(autouse=True)
def empty_backlog() -> Iterator[None]:
    yield
    backlog.clear()


@pytest.fixture
def readings(transactional_db: None) -> Iterator[list[NodeReading]]:
    """Readings of one node at three ticks; the tables of samples, which have no models, are emptied around them."""
    empty()
    node = cache_with_nodes().nodes.get()
    yield [reading(node, seconds, used_memory=seconds) for seconds in (0, 15, 30)]
    empty()


def empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE sample, node_latest, cache_latest, detail, rollup_late")


def stored() -> list[int]:
    with samples.raw_cursor() as cursor:
        return [row[0] for row in cursor.execute("SELECT used_memory FROM sample ORDER BY at").fetchall()]


def lose_connection() -> None:
    """End our own session on the server, as a restart of the database does."""
    with samples.raw_cursor() as cursor:
        pid = cursor.connection.info.backend_pid
    with psycopg.connect(cursor.connection.info.dsn) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def test_it_writes_at_once_where_the_database_is_there(readings: list[NodeReading]) -> None:
    backlog.write(readings, [], NOON)

    assert (stored(), backlog.size()) == ([0, 15, 30], 0)


def test_it_keeps_readings_while_the_database_is_away_and_writes_them_later(readings: list[NodeReading]) -> None:
    lose_connection()
    backlog.write(readings[:2], [], NOON)
    waiting = backlog.size()

    backlog.write(readings[2:], [], NOON + 30)

    assert waiting == 2
    assert (stored(), backlog.size()) == ([0, 15, 30], 0)


def test_it_keeps_them_when_writing_later_fails_too(readings: list[NodeReading]) -> None:
    lose_connection()
    backlog.write(readings, [], NOON)
    lose_connection()

    backlog.drain()

    assert backlog.size() == 3


def test_it_drops_the_oldest_beyond_its_bounds(readings: list[NodeReading]) -> None:
    lose_connection()
    many = [NodeReading(1, NOON, []) for _ in range(backlog.LIMIT + 10)]

    backlog.write(many, [], NOON)

    assert backlog.size() == backlog.LIMIT


def test_it_writes_what_several_threads_have_ready(readings: list[NodeReading]) -> None:
    threads = [threading.Thread(target=write_and_close, args=([one],)) for one in readings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert stored() == [0, 15, 30]


def write_and_close(readings: list[NodeReading]) -> None:
    backlog.write(readings, [], NOON)
    connection.close()


def test_it_writes_the_others_where_one_reading_cannot_be_written(readings: list[NodeReading]) -> None:
    # Postgres keeps no NUL in texts.
    readings[1].facts = {"os": "Linux\0"}

    backlog.write(readings, [], NOON)

    assert (stored(), backlog.size()) == ([0, 30], 0)
