"""Chores: in order, each apart from the others, in few messages."""

import logging
import threading
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.db import connection

from config import chores, tasks
from config.celery import CHORES, app, joined
from config.chores import Crew
from launcher.waiting import until

LONG, SHORT, PATIENCE_SECONDS = 60.0, 0.01, 20.0


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew()
    yield made
    if made._hand:
        made._hand.shutdown()


class Held:
    """A chore that waits until it is let go."""

    def __init__(self) -> None:
        self.begun, self.free, self.runs = threading.Event(), threading.Event(), 0

    def __call__(self) -> None:
        self.runs += 1
        self.begun.set()
        assert self.free.wait(PATIENCE_SECONDS)


@pytest.fixture
def held() -> Iterator[Held]:
    made = Held()
    yield made
    made.free.set()


def noting(seen: list[str], name: str) -> Callable[[], None]:
    return lambda: seen.append(name)


def test_it_does_chores_in_their_order(crew: Crew) -> None:
    seen: list[str] = []

    crew.run({name: noting(seen, name) for name in "cab"}, LONG)

    assert seen == ["c", "a", "b"]


def test_one_that_fails_is_named_and_stops_no_other(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    crew.run({"broken": lambda: 1 // 0, "next": noting(seen, "next")}, LONG)

    assert seen == ["next"]
    assert [record.getMessage() for record in caplog.records] == ["The chore broken failed."]
    assert "ZeroDivisionError" in caplog.text


def test_one_that_takes_long_is_named_and_stops_no_other(
    crew: Crew, held: Held, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    crew.run({"slow": held, "next": noting(seen, "next")}, SHORT)

    assert seen == ["next"]
    assert "The chore slow takes more than 0.01 s" in caplog.text


def test_one_that_is_under_way_is_not_begun_again(crew: Crew, held: Held) -> None:
    seen: list[str] = []

    for _ in range(3):
        crew.run({"slow": held, "next": noting(seen, "next")}, SHORT)

    assert (held.runs, seen) == (1, ["next"] * 3)


def test_one_that_came_to_its_end_has_its_turn_again(crew: Crew, held: Held) -> None:
    crew.run({"slow": held}, SHORT)
    held.free.set()
    assert until(lambda: not crew._under_way, PATIENCE_SECONDS)

    crew.run({"slow": held}, LONG)

    assert held.runs == 2


def test_a_thread_that_was_left_ends_with_its_chore(crew: Crew, held: Held) -> None:
    crew.run({"slow": held}, SHORT)
    left = [thread for thread in threading.enumerate() if thread.name.startswith("chores") and held.begun.is_set()]
    assert left

    held.free.set()

    assert until(lambda: not any(thread.is_alive() for thread in left), PATIENCE_SECONDS)


def test_chores_share_one_thread(crew: Crew) -> None:
    seen: list[int] = []

    for _ in range(3):
        crew.run({name: lambda: seen.append(threading.get_ident()) for name in "ab"}, LONG)

    assert len(seen) == 6
    assert len({*seen, threading.get_ident()}) == 2


def test_how_long_each_took_can_be_read(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, chores.logger.name)

    crew.run({"one": int, "two": int}, LONG)

    assert [record.getMessage().split(" took ")[0] for record in caplog.records] == ["The chore one", "The chore two"]


@pytest.mark.django_db(transaction=True)
def test_a_chore_finds_a_database_that_came_back(crew: Crew) -> None:
    backends: list[int] = []

    def ask() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backends.append(cursor.fetchone()[0])

    crew.run({"ask": ask}, LONG)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", backends)
    crew.run({"ask": ask, "again": ask}, LONG)
    crew.run({"closed": connection.close}, LONG)

    assert len(backends) == 3
    assert backends[0] != backends[1] == backends[2]


def test_chores_of_a_queue_and_period_share_a_message() -> None:
    found = joined([("a", 5, "x"), ("b", 5, "y"), ("c", 5, "x"), ("d", 2, "x")])

    asked = {(entry["options"]["queue"], entry["options"]["expires"]): entry["args"] for entry in found.values()}
    assert asked == {("x", 5): (["a", "c"],), ("y", 5): (["b"],), ("x", 2): (["d"],)}


def test_beat_asks_for_every_chore_at_its_own_period() -> None:
    asked = [
        (name, entry["schedule"].period, entry["options"]["queue"])
        for entry in app.conf.beat_schedule.values()
        if entry["task"] == tasks.run_chores.name
        for name in entry["args"][0]
    ]

    assert sorted(asked) == sorted(CHORES)
    assert {task: seconds for task, seconds, _ in asked}["alerts.tasks.sweep"] == settings.ALERT_SWEEP_SECONDS


def test_a_chore_is_a_task_that_exists() -> None:
    app.loader.import_default_modules()

    assert all(name in app.tasks for name, _, _ in CHORES)


def test_the_message_runs_tasks_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(tasks, "crew", made := Crew())
    monkeypatch.setitem(app.tasks, "one", noting(seen, "one"))
    monkeypatch.setitem(app.tasks, "two", noting(seen, "two"))

    app.tasks[tasks.run_chores.name](["two", "one"])

    assert seen == ["two", "one"]
    assert made._hand
    made._hand.shutdown()
