"""Telling others that samples have landed, through the real broker."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty

import pytest
from celery import Celery, current_app
from pytest_django.fixtures import Settings

from collectors import landing
from collectors.tests.conftest import Poller
from config.celery import app as config_app
from fleet.models import Cache
from launcher.valkey import Valkey


@pytest.fixture
def queue(settings: Settings) -> str:
    settings.LANDED_QUEUE = "landing-test"
    heard(settings.LANDED_QUEUE)
    return "landing-test"


def heard(queue: str) -> list[tuple[str, list[object]]]:
    """Return the tasks and arguments that wait in a queue, and take them out."""
    found: list[tuple[str, list[object]]] = []
    with current_app.connection_for_read() as connection, connection.SimpleQueue(queue) as waiting, suppress(Empty):
        while message := waiting.get(block=False):
            found.append((message.headers["task"], message.payload[0]))
            message.ack()
    return found


def test_it_names_the_caches_and_the_tick(queue: str) -> None:
    landing.announce({3, 1, 2}, 1_000)

    assert heard(queue) == [("alerts.tasks.evaluate", [[1, 2, 3], 1_000])]


def test_it_says_nothing_without_news(queue: str) -> None:
    landing.announce(set(), 1_000)

    assert heard(queue) == []


def test_it_says_nothing_where_nobody_listens(queue: str, settings: Settings) -> None:
    settings.LANDED_TASK = ""

    landing.announce({1}, 1_000)

    assert heard(queue) == []


@pytest.fixture
def without_broker() -> Iterator[None]:
    """An application of its own whose broker is away, so that nobody else meets its connections."""
    app = Celery("away", broker="redis://127.0.0.1:1/0")
    app.set_current()
    yield
    app.close()
    config_app.set_current()


def test_a_poll_goes_on_without_the_broker(without_broker: None) -> None:
    landing.announce({1}, 1_000)


@pytest.mark.django_db
def test_a_poll_tells_of_answers_and_of_silence(
    queue: str, poller: Poller, cache_at: Callable[..., Cache], valkey_server: Callable[..., Valkey]
) -> None:
    answering, refusing = cache_at(valkey_server().url), cache_at("redis://127.0.0.1:1")

    poller.poll(answering, refusing)

    told = {cache for _task, (caches, tick) in heard(queue) for cache in caches if tick == poller.tick}  # type: ignore[attr-defined]
    assert told == {answering.pk, refusing.pk}
