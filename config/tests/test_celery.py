import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from zoneinfo import ZoneInfo

import pytest
from celery.beat import Scheduler

from config.celery import CHORES, WOKEN_EARLY_SECONDS, Grid, app, every
from launcher.checkout import ROOT

Clock = Callable[[float], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Set the time that grids read: `clock(100)`."""
    return lambda seconds: monkeypatch.setattr("config.celery.time.time", lambda: seconds)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_grid_is_due_once_the_next_multiple_has_come() -> None:
    now = time.time()
    this = now // 1000 * 1000

    assert Grid(1000).is_due(moment(this - 1)).is_due
    assert not Grid(1000).is_due(moment(this + 0.001)).is_due


def test_a_grid_says_when_to_look_again() -> None:
    state = Grid(1000).is_due(moment(time.time()))

    assert 0 < state.next <= 1000 + WOKEN_EARLY_SECONDS
    assert abs((time.time() + state.next) % 1000) < 1 or abs((time.time() + state.next) % 1000 - 1000) < 1


def test_a_grid_is_due_after_the_clock_was_set_back() -> None:
    assert Grid(5).is_due(moment(time.time() + 3600)).is_due


def test_a_grid_is_kept_in_beats_file() -> None:
    # What beat does with its own file.
    assert pickle.loads(pickle.dumps(Grid(5))) == Grid(5)  # noqa: S301


def test_beat_starts_tasks_that_exist() -> None:
    names = {entry["task"] for entry in app.conf.beat_schedule.values()} | {task for task, _, _ in CHORES}

    assert names
    assert all(hasattr(import_module(module), name) for module, _, name in (path.rpartition(".") for path in names))
    assert all(entry["options"]["expires"] for entry in app.conf.beat_schedule.values())


# Beat keeps its last run in UTC, but a local clock may jump: 2026-03-29 and 2026-10-25 in Europe.
JUMPS = [datetime(2026, 3, 29, 0, 59, 59, tzinfo=UTC), datetime(2026, 10, 25, 0, 59, 59, tzinfo=UTC)]


@pytest.mark.parametrize("last", JUMPS)
def test_a_grid_knows_no_summer_time(last: datetime, clock: Clock) -> None:
    clock(last.timestamp() + 1)

    assert Grid(3600).is_due(last.astimezone(ZoneInfo("Europe/Berlin"))).is_due


@pytest.mark.parametrize(
    ("last", "now", "is_due", "wait"),
    [
        (100, 100, False, 10),
        (100, 109.5, False, 0.5),
        (100, 110, True, 10),
        (109.999, 110, True, 10),
        (0, 100_003, True, 7),
        (120, 110, False, 20),
        (120.5, 110, True, 10),
    ],
)
def test_a_grid_is_due_and_says_for_how_long_to_sleep(
    last: float, now: float, is_due: bool, wait: float, clock: Clock
) -> None:
    clock(now)

    assert tuple(Grid(10).is_due(moment(last))) == (is_due, pytest.approx(wait + WOKEN_EARLY_SECONDS))


def test_beat_sleeps_until_a_task_is_due_and_asks_no_more_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    now, sent = 101.0, list[float]()
    monkeypatch.setattr("config.celery.time.time", lambda: now)
    monkeypatch.setattr(Grid, "now", lambda _: moment(now))
    beat = Scheduler(app, lazy=True)
    beat.update_from_dict({"poll": {"task": "poll", "schedule": Grid(10)}})
    monkeypatch.setattr(beat, "apply_entry", lambda *_, **__: sent.append(now))
    monkeypatch.setattr(Scheduler, "producer", None)

    for _ in range(6):
        # A look takes a moment, too, and so does waking up.
        now += max(beat.tick(), 0) + 0.0001

    assert sent == pytest.approx([110, 120, 130], abs=0.001)


def test_a_grid_estimates_what_is_left(clock: Clock) -> None:
    clock(104)

    assert Grid(10).remaining_estimate(moment(100)) == timedelta(seconds=6)


def test_grids_of_one_period_are_the_same() -> None:
    assert len({Grid(5), Grid(5.0), Grid(10)}) == 2
    assert Grid(5) != 5


def test_what_waits_for_longer_than_its_period_is_dropped() -> None:
    entry = every("some.task", 15, "poll")

    assert entry["options"] == {"queue": "poll", "expires": 15}


STARTS = """
import sys
import django
from celery.signals import celeryd_after_setup
django.setup()
from config.celery import app
app.loader.import_default_modules()
for queue in ("celery", "judge"):
    app.amqp.queues.select([queue])
    celeryd_after_setup.send(sender="x@y", instance=type("Worker", (), {"app": app}))
    print(queue, "config.urls" in sys.modules)
"""


def test_only_processes_that_write_links_load_the_pages() -> None:
    env = {name: value for name, value in os.environ.items() if name != "CELERY_SKIP_CHECKS"}

    said = subprocess.run(
        [sys.executable, "-P", "-c", STARTS],
        env=env | {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert said.stdout.splitlines() == ["celery False", "judge True"]
