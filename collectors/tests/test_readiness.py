import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from collectors import readiness
from collectors.models import Beat, PollLease, PollWorker
from conftest import ValkeyFactory
from fleet.models import Cache

# The checks look through a connection of their own, which sees only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timedelta(hours=1)


def alive() -> None:
    Beat.objects.create()
    PollWorker.objects.create(name="poll@here")


def polled(ago: timedelta = timedelta(), registered: timedelta = LONG_AGO) -> None:
    now = timezone.now()
    cache = Cache.objects.create(name="game", address="redis://a", created_at=now - registered)
    PollLease.objects.create(cache=cache, finished_at=now - ago)


def sentences() -> dict[str, str]:
    """Return what is wrong, by the name of the part."""
    return {check.name: check.sentence for check in readiness.checks() if not check.ok}


def test_it_is_content_where_everything_runs() -> None:
    alive()
    polled()

    assert sentences() == {}


def test_it_is_content_without_a_cache() -> None:
    alive()

    assert sentences() == {}


def test_it_names_what_never_ran() -> None:
    Cache.objects.create(name="game", address="redis://a", created_at=timezone.now() - LONG_AGO)

    assert sentences() == {
        "beat": "The scheduler (beat) has not run yet.",
        "poll worker": "No poll worker is running.",
        "polls": "No poll has finished yet.",
    }


@pytest.mark.parametrize(("started", "is_named"), [(LONG_AGO, True), (timedelta(seconds=30), False)])
def test_it_names_a_worker_that_does_nothing(started: timedelta, is_named: bool) -> None:
    Beat.objects.create()
    Beat.objects.create(id=Beat.WORKER, at=timezone.now() - LONG_AGO)
    PollWorker.objects.create(name="poll@here", started_at=timezone.now() - started)

    assert ("worker" in sentences()) == is_named


def test_it_says_since_when_beat_is_silent() -> None:
    alive()
    Beat.objects.update(at=timezone.now() - LONG_AGO)

    assert sentences()["beat"].startswith("The scheduler (beat) last reached a poll worker at 2")


def test_it_misses_a_worker_that_was_not_seen_lately() -> None:
    alive()
    PollWorker.objects.update(seen_at=timezone.now() - LONG_AGO)

    assert sentences() == {"poll worker": "No poll worker is running."}


def test_it_sees_that_polls_stand_still() -> None:
    alive()
    polled(LONG_AGO)

    assert sentences()["polls"].startswith("The last poll finished at 2")


def test_it_gives_a_new_cache_its_time() -> None:
    alive()
    Cache.objects.create(name="game", address="redis://a")

    assert sentences() == {}


@pytest.mark.parametrize("fields", [{"is_paused": True}, {"reach": "service"}])
def test_it_waits_for_nothing_where_no_cache_is_polled(fields: dict[str, Any]) -> None:
    alive()
    polled(LONG_AGO)
    Cache.objects.update(**fields)

    assert sentences() == {}


def test_it_allows_for_long_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "READY_POLL_SECONDS", 30)
    alive()
    polled(timedelta(seconds=200))
    Cache.objects.update(poll_interval_seconds=120)

    assert sentences() == {}


def test_it_names_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")

    assert sentences() == {"database": "The database does not answer."}


def test_it_names_a_broker_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    alive()
    monkeypatch.setattr(settings, "CELERY_BROKER_URL", "redis://:hush-hush@127.0.0.1:9/0")

    assert sentences() == {"broker": "The message broker does not answer."}


def test_it_does_not_wait_long_for_a_broker_that_is_stuck(
    valkey_server: ValkeyFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive()
    broker = valkey_server()
    monkeypatch.setattr(settings, "CELERY_BROKER_URL", f"redis://127.0.0.1:{broker.port}/0")
    broker.pause()
    began = time.monotonic()

    found = sentences()

    broker.resume()
    assert found == {"broker": "The message broker does not answer."}
    assert time.monotonic() - began < 3 * readiness.TIMEOUT_SECONDS


def test_it_answers_balancers_without_a_session() -> None:
    answer = Client().get("/readyz")

    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    assert "no-store" in answer["Cache-Control"]


def test_it_answers_200_when_ready() -> None:
    alive()

    answer = Client().get("/readyz")

    assert (answer.status_code, answer.json()["ready"]) == (200, True)
