"""The cast of guards: a cache that is polled up to now, a canary on it, and a look of the guards."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from alerts import guards
from alerts.models import Channel
from alerts.route import Route
from alerts.tests.cast import channel
from alerts.tests.judged import EVERY, Fleet, fleet, rule
from collectors.causes import Cause
from switches import changing, run_book_steps
from switches.models import RunBook, Switch
from switches.tests.cast import WHY, operator, switch


@pytest.fixture(autouse=True)
def pager(db: None) -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


@pytest.fixture
def watched() -> Fleet:
    """A cache with two primaries that is polled up to now, and a rule on its memory."""
    rule()
    made = fleet(shards=2)
    made.tick = int(timezone.now().timestamp()) // EVERY * EVERY - 3 * EVERY
    made.poll(0.5, 0.5)
    made.poll(0.5, 0.5)
    return made


def canary(watched: Fleet, percents: tuple[int, ...] = (10, 50, 100), age: int = 0) -> RunBook:
    """Return a canary that has been at its first percentage for so many seconds, watched all the time."""
    off = changing.turn_off(switch(cache_now=watched.cache), operator(), WHY)
    book = run_book_steps.begin(off, operator(), None, WHY, 60, percents)
    run_book_steps.confirm(book, operator())
    aged(book, age)
    return book


def aged(book: RunBook, seconds: int, **given: Any) -> None:
    now = timezone.now()
    ago = now - timedelta(seconds=seconds)
    times = {"step_at": ago, "canary_at": ago, "looked_at": now, "seen_at": now}
    RunBook.objects.filter(pk=book.pk).update(**times | given)


def look(at: datetime | None = None) -> tuple[str, int]:
    """Let the guards look; return the step of the run book and the percentage of the switch."""
    guards.watch(at or timezone.now())
    return RunBook.objects.get().step, Switch.objects.get().percent


def why() -> str:
    entry = RunBook.objects.get().entries.filter(what="rolled_back").first()
    return str(entry.data["why"]) if entry else ""


def gone(watched: Fleet) -> None:
    """Let both primaries refuse connections at the newest poll."""
    watched.tick += EVERY
    for node in watched.nodes:
        watched.failed(node, Cause.REFUSED)


def guarded() -> int:
    guards.watch(timezone.now())
    return Switch.objects.get().percent
