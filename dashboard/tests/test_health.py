"""The page about Shardwatch itself."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.models import NodeStatus, PollLease, PollWorker
from collectors.tests.cast import cache_with_nodes
from dashboard.tests.test_fleet import HOSTILE, REFRESH
from dashboard.views.health import ROWS_A_PAGE
from fleet.models import Cache

pytestmark = pytest.mark.django_db
# Session and user, workers, two pages with their counts, totals; the checks use a connection of their own.
QUERIES = 12


def page(query: str = "", role: str = Role.VIEWER) -> str:
    return client_of(role).get(f"/health/{query}").content.decode()


def polled_cache(name: str = "game", **lease: object) -> Cache:
    cache = cache_with_nodes(name=name)
    given = {"finished_at": timezone.now(), "duration_seconds": 0.012, "polls": 40, "commands": 30, "connections": 3}
    PollLease.objects.create(cache=cache, **given | lease)
    NodeStatus.objects.create(node=cache.nodes.get(), attempted_at=timezone.now(), answered_at=timezone.now(), polls=40)
    return cache


def fail(cache: Cache, reason: str = "refused") -> None:
    NodeStatus.objects.filter(node__cache=cache).update(
        failing_since=timezone.now() - timedelta(minutes=5),
        failed_step="connect",
        failed_cause="error_reply",
        failed_words=reason,
        failures=7,
    )


def test_it_tells_the_load_that_we_put_on_the_servers() -> None:
    polled_cache()

    html = page()

    assert "sends commands at <b>2/s</b> over <b>3</b> connections" in html
    assert "<b>1 of 1</b> node answered its last poll." in html


def test_it_counts_late_and_skipped_polls() -> None:
    polled_cache(late=3, skipped=2)

    html = page()

    assert "3 of 40 polls started more than 2 seconds late" in html
    assert "2 were skipped" in html


def test_it_counts_one_of_each_as_one() -> None:
    polled_cache(late=1, skipped=1, polls=1, connections=1)

    html = page()

    assert "1 of 1 poll started more than 2 seconds late" in html
    assert "1 was skipped because" in html
    assert "over <b>1</b> connection that it keeps open" in html


def test_it_names_silent_nodes_with_step_reason_and_time() -> None:
    fail(polled_cache(), HOSTILE)

    html = page()

    assert HOSTILE not in html
    assert "&lt;script&gt;" in html
    assert "1 of 1 silent" in html
    assert "7 of 40" in html


def test_it_shows_the_polls_of_each_node_on_demand() -> None:
    polled_cache()

    html = page("?cache=game")

    assert "Polls of game, node by node" in html
    assert "127.0.0.1:7010" in html
    assert client_of().get("/health/?cache=nowhere").status_code == 404


def test_it_says_which_parts_work() -> None:
    PollWorker.objects.create(name="poll@here")

    html = page()

    assert "The database answers." in html
    assert "poll@here" in html


def test_it_stays_readable_and_cheap_with_many_caches(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    for number in range(ROWS_A_PAGE + 2):
        fail(polled_cache(f"cache-{number:03}"))
    client = client_of()

    with django_assert_max_num_queries(QUERIES):
        html = client.get("/health/").content.decode()

    assert "Page 1 of 2" in html
    assert html.count('id="polls-') == ROWS_A_PAGE + 1
    assert "cache-051" in page("?page=2")


def test_a_cache_whose_nodes_are_not_polled_is_not_waited_for() -> None:
    Cache.objects.create(name="far", address="redis://10.0.0.9", reach="service")

    html = page()

    assert "not polled: Cloud Monitoring alone" in html
    assert "not known yet" not in html


def test_it_refreshes_its_living_part() -> None:
    assert "<html" not in client_of().get("/health/", headers=REFRESH).content.decode()


def test_what_is_not_set_up_is_not_said_to_be_well() -> None:
    seen = page()

    row = next(part for part in seen.split("<li>") if "No service outside watches Shardwatch" in part)
    assert "not set up" in row
    assert "state-ok" not in row
