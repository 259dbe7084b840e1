"""The page of alerts and its history."""

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts.alert import Alert
from alerts.models import Incident, Reason, Route
from alerts.tests.cast import channel, opened
from alerts.tests.judged import fleet, rule
from dashboard.tests.alert_cast import firing, incident, told

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
QUERIES = 12


def page(path: str = "/alerts/", role: str = Role.VIEWER, **headers: str) -> str:
    answer = client_of(role).get(path, headers=headers)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_it_shows_what_fires_with_value_bound_and_place() -> None:
    firing(0.95)

    seen = page()

    assert "95% (bound 90%)" in seen
    assert "127.0.0.1:7010" in seen
    assert "firing · critical" in seen
    assert incident().get_absolute_url() in seen


def test_it_says_that_a_channel_without_a_route_tells_nobody() -> None:
    made = channel()
    words = "No route names a channel"

    assert words in page()
    assert words in page("/routes/")

    Route.objects.get(parent=None).channels.add(made)

    assert words not in page()
    assert words not in page("/routes/")


def test_it_lists_the_worst_first() -> None:
    firing(0.85, 0.95, shards=2)

    seen = page()

    assert seen.index("firing · critical") < seen.index("firing · warning")


def test_it_groups_alerts_by_incident() -> None:
    firing(0.95, 0.96, shards=2)
    firing(0.95, key="other", name="shop")

    seen = page()

    assert Alert.objects.count() == 4
    assert seen.count('<section class="panel"') == Incident.objects.count() == 3


def test_what_is_pending_stands_last_and_apart() -> None:
    rule("slow", **{"for": "5m"})
    firing(0.95)

    seen = page()

    assert seen.index("firing · critical") < seen.index("Not told yet") < seen.index("pending · critical")


@pytest.mark.parametrize(
    "query", ["q=mem", "q=GAME", "q=7010", "severity=critical", "label=cache=game", "label=env=prod"]
)
def test_it_shows_what_fits_the_filter(query: str) -> None:
    watched = fleet()
    watched.cache.labels = {"env": "prod"}
    watched.cache.save()
    rule()
    watched.poll(0.95)

    assert "95% (bound 90%)" in page(f"/alerts/?{query}")


@pytest.mark.parametrize("query", ["q=nothing", "severity=warning", "label=env=dev", "label=env", "q=%5C"])
def test_it_leaves_out_what_does_not_fit(query: str) -> None:
    firing(0.95)

    seen = page(f"/alerts/?{query}")

    assert "95% (bound 90%)" not in seen
    assert "Nothing that fires fits the filter" in seen


@pytest.mark.parametrize("query", ["severity=worst", "label==", "q=%25%5C", "span=ever", "page=x", "q=" + "a" * 5000])
@pytest.mark.parametrize("path", ["/alerts/", "/alerts/history/", "/alerts/history/export/"])
def test_it_takes_any_query(path: str, query: str) -> None:
    firing(0.95)

    assert client_of().get(f"{path}?{query}").status_code == 200


def test_without_a_channel_it_says_that_nobody_is_told() -> None:
    assert "nobody is told of anything" in page()
    assert "/channels/" in page(role=Role.ADMIN)

    told()

    assert "nobody is told of anything" not in page()


def test_where_nothing_fires_it_says_what_is_judged() -> None:
    firing(0.1, 0.2, shards=2)

    seen = page()

    assert "Nothing fires" in seen
    assert "2 targets are judged" in seen
    assert "Rules are judged since" in seen


def test_where_nothing_is_judged_it_does_not_say_that_all_is_well() -> None:
    seen = page()

    assert "No rule was judged lately" in seen
    assert "Nothing fires" not in seen


def test_it_refreshes_only_what_changed() -> None:
    watched = firing(0.95)
    client = client_of()
    first = client.get("/alerts/", headers={"HX-Request": "true"})
    version = first.context["version"]

    same = client.get(f"/alerts/?version={version}", headers={"HX-Request": "true"})
    watched.poll(0.85)
    changed = client.get(f"/alerts/?version={version}", headers={"HX-Request": "true"})

    assert b"<html" not in first.content
    assert (same.status_code, changed.status_code) == (204, 200)


def test_an_incident_of_one_alert_takes_one_line() -> None:
    watched = firing(0.95, 0.5, shards=2)
    assert ('class="alert-line"' in page(), "alerts-table" in page()) == (True, False)

    watched.poll(0.95, 0.95)

    assert ('class="alert-line"' in page(), "alerts-table" in page()) == (False, True)


def test_the_navigation_counts_open_incidents() -> None:
    assert "nav-count" not in page("/")

    firing(0.95)

    assert 'nav-count">1<' in page("/")


def test_tests_of_channels_are_not_counted_nor_listed() -> None:
    told = opened(subject="a test")
    Incident.objects.filter(pk=told.pk).update(reason=Reason.TEST, opened_at=timezone.now())

    assert "nav-count" not in page("/alerts/")
    assert told.title not in page("/alerts/history/")


def test_it_shows_hostile_names_as_text() -> None:
    firing(0.95)
    Alert.objects.update(node_address=HOSTILE)
    Incident.objects.update(title=HOSTILE)

    for path in ("/alerts/", "/alerts/history/"):
        assert HOSTILE not in page(path)


def test_a_rule_that_cannot_be_read_breaks_nothing() -> None:
    firing(0.95)
    made = Alert.objects.get().rule
    assert made
    made.text = {"rule": "memory", "when": "nonsense"}
    made.save()

    assert "game: Memory: shard 1" in page()


def test_history_shows_how_incidents_ended() -> None:
    watched = firing(0.95)
    watched.poll(0.1)

    seen = page("/alerts/history/")

    assert "recovered" in seen
    assert "over · " not in seen
    assert "15 s" in seen


def test_history_is_of_the_time_asked_for() -> None:
    firing(0.95)
    Incident.objects.update(opened_at=timezone.now() - timedelta(days=8))

    assert "There was no incident in this time" in page("/alerts/history/")
    assert "game: " in page("/alerts/history/?span=30d")


def test_history_leads_to_its_other_pages() -> None:
    for number in range(51):
        opened(subject=str(number))
    Incident.objects.update(opened_at=timezone.now())

    assert "page=2" in page("/alerts/history/")
    assert page("/alerts/history/?page=2").count("game-cache: node-1") == 1


def test_the_export_holds_what_the_filter_shows() -> None:
    firing(0.95)
    Incident.objects.update(title="=1+1")
    client = client_of()

    body = b"".join(client.get("/alerts/history/export/").streaming_content)  # type: ignore[attr-defined]
    none = b"".join(client.get("/alerts/history/export/?severity=warning").streaming_content)  # type: ignore[attr-defined]

    (row,) = csv.DictReader(io.StringIO(body.decode()))
    assert (row["cache"], row["severity"], row["closed_at"]) == ("game", "critical", "")
    assert not row["title"].startswith("=")
    assert none == b""


def exported(query: str) -> list[dict[str, Any]]:
    answer = client_of().get(f"/alerts/history/export/?format=json{query}")
    return list(json.loads(b"".join(answer.streaming_content)))  # type: ignore[attr-defined]


def test_the_export_is_json_as_well() -> None:
    for number in range(2):
        opened(subject=str(number))
    Incident.objects.update(opened_at=timezone.now())

    assert [row["title"] for row in exported("")] == ["game-cache: node-1 does not answer"] * 2
    assert exported("&q=nothing") == []


def test_another_form_of_export_is_refused_in_words() -> None:
    answer = client_of().get("/alerts/history/export/?format=xml")

    assert (answer.status_code, answer.content) == (400, b"Ask for format=csv or format=json.")


@pytest.mark.parametrize("shards", [1, 6])
def test_it_asks_the_database_the_same_however_much_fires(
    shards: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    firing(*[0.95] * shards, shards=shards)
    client = client_of()
    client.get("/alerts/")

    for path in ("/alerts/", "/alerts/history/"):
        with django_assert_max_num_queries(QUERIES):
            client.get(path)


def test_visitors_must_sign_in() -> None:
    assert Client().get("/alerts/").status_code == 302
