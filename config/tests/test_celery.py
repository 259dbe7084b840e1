import pickle
import time
from datetime import UTC, datetime
from importlib import import_module

from config.celery import Grid, app


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_grid_is_due_once_the_next_multiple_has_come() -> None:
    now = time.time()
    this = now // 1000 * 1000

    assert Grid(1000).is_due(moment(this - 1)).is_due
    assert not Grid(1000).is_due(moment(this + 0.001)).is_due


def test_a_grid_says_when_to_look_again() -> None:
    state = Grid(1000).is_due(moment(time.time()))

    assert 0 < state.next <= 1000
    assert abs((time.time() + state.next) % 1000) < 1 or abs((time.time() + state.next) % 1000 - 1000) < 1


def test_a_grid_is_due_after_the_clock_was_set_back() -> None:
    assert Grid(5).is_due(moment(time.time() + 3600)).is_due


def test_a_grid_is_kept_in_beats_file() -> None:
    # What beat does with its own file.
    assert pickle.loads(pickle.dumps(Grid(5))) == Grid(5)  # noqa: S301


def test_beat_starts_tasks_that_exist() -> None:
    names = {entry["task"] for entry in app.conf.beat_schedule.values()}

    assert names
    assert all(hasattr(import_module(module), name) for module, _, name in (path.rpartition(".") for path in names))
    assert all(entry["options"]["expires"] for entry in app.conf.beat_schedule.values())
