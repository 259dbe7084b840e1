"""A real Memcached from its first poll to its alerts: nearly full of connections, overloaded, and gone."""

import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from pytest_django.fixtures import Settings

from alerts import evaluate, pack
from alerts.alert import Alert
from alerts.rule import Rule
from collectors import poll
from collectors.tests.conftest import Poller
from collectors.tests.conftest import cache_at as cache_at
from collectors.tests.conftest import poller as poller
from conftest import MemcachedFactory
from fleet.models import Cache
from launcher.memcached import Memcached

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_SECONDS = 10.0


@pytest.fixture
def rules(poller: Poller, settings: Settings) -> None:
    # Polls are made up, but so late that their delay is believed and rates are made of them.
    settings.ALERT_SKEW_SECONDS, poller.tick = 86_400, poll.current_tick() - 120
    pack.install()
    # What these tests are about, without the rest of the pack's windows.
    chosen = ("node-down", "connections-rejected", "connections-near-limit")
    Rule.objects.exclude(key__in=chosen).update(is_enabled=False)


def watch(poller: Poller, cache: Cache, times: int) -> set[str]:
    """Poll and judge; return the rules that fired."""
    for _ in range(times):
        poller.poll(cache)
        evaluate.evaluate([cache.pk], poller.tick)
    return set(Alert.objects.exclude(fired_at=None).values_list("rule_key", flat=True))


def hold(stack: ExitStack, server: Memcached, count: int) -> list[socket.socket]:
    place = ("127.0.0.1", server.port)
    return [stack.enter_context(socket.create_connection(place, PATIENCE_SECONDS)) for _ in range(count)]


@pytest.mark.usefixtures("rules")
def test_a_quiet_server_alerts_nobody(
    poller: Poller, cache_at: Callable[..., Cache], memcached_server: MemcachedFactory
) -> None:
    assert watch(poller, cache_at(memcached_server().url), 4) == set()


@pytest.mark.usefixtures("rules")
def test_connections_near_the_limit_are_alerted_on(
    poller: Poller, cache_at: Callable[..., Cache], memcached_server: MemcachedFactory
) -> None:
    server = memcached_server("-c", "200")
    cache = cache_at(server.url)
    poller.tick -= 120

    with ExitStack() as stack:
        hold(stack, server, 170)
        fired = watch(poller, cache, 10)

    assert fired == {"connections-near-limit"}


@pytest.mark.usefixtures("rules")
def test_refused_connections_are_alerted_on(
    poller: Poller, cache_at: Callable[..., Cache], memcached_server: MemcachedFactory
) -> None:
    server = memcached_server("-c", "32")
    cache = cache_at(server.url)
    watch(poller, cache, 2)

    with ExitStack() as stack:
        assert hold(stack, server, 20)[-1].recv(100).startswith(b"ERROR Too many open connections")
        fired = watch(poller, cache, 2)

    assert "connections-rejected" in fired


@pytest.mark.usefixtures("rules")
def test_a_server_that_is_gone_is_alerted_on(
    poller: Poller, cache_at: Callable[..., Cache], memcached_server: MemcachedFactory
) -> None:
    server = memcached_server()
    cache = cache_at(server.url)
    watch(poller, cache, 2)

    server.kill()

    assert "node-down" in watch(poller, cache, 3)
