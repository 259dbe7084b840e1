from datetime import UTC, datetime, timedelta
from typing import Any, get_args
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from accounts.models import AuditEntry, Role
from alerts.models import Incident
from collectors.event import NOTE_KINDS, Event, Kind
from collectors.tests.cast import cache_with_nodes
from dashboard.api.events import KindName, NoteKind
from dashboard.tests.alert_cast import firing
from dashboard.tests.api import call
from dashboard.tests.test_events import told_failover
from fleet.models import Cache

pytestmark = pytest.mark.django_db
NOTE = {"kind": "deploy", "title": "Release 4.2"}
HOSTILE = "<script>alert(1)</script>"


def titles(path: str) -> list[str]:
    answer = call(Role.VIEWER, "get", path)
    assert answer.status_code == 200, answer.content
    return [event["title"] for event in answer.json()["events"]]


def note(title: str, cache: Cache | None = None, **given: Any) -> Event:
    known = {"kind": Kind.DEPLOY, "source": Event.Source.API} | given
    return Event.objects.create(title=title, cache=cache, **known)


def test_it_names_every_kind() -> None:
    assert set(get_args(KindName)) == set(Kind.values)
    assert set(get_args(NoteKind)) == set(NOTE_KINDS)


def test_it_keeps_a_note_with_who_added_it() -> None:
    cache_with_nodes()

    answer = call(Role.OPERATOR, "post", "/events", {**NOTE, "cache": "game", "url": "https://ci.example/4"})

    assert answer.status_code == 201
    assert (answer.json()["author"], answer.json()["source"]) == ("operator", "api")
    assert answer.json()["link"] == "https://ci.example/4"
    kept = Event.objects.get()
    assert abs((timezone.now() - kept.at).total_seconds()) < 60
    entry = AuditEntry.objects.get(action="event.add")
    assert (entry.target, entry.detail) == ("game", {"kind": "deploy", "title": "Release 4.2"})


def test_it_says_later_that_it_ended() -> None:
    made = call(Role.OPERATOR, "post", "/events", {**NOTE, "at": "2026-05-04T12:00:00Z"}).json()

    answer = call(Role.OPERATOR, "patch", f"/events/{made['id']}", {"until": "2026-05-04T14:30:00+02:00"})

    assert answer.json()["until"] == "2026-05-04T12:30:00+00:00"
    assert AuditEntry.objects.filter(action="event.change").exists()


def test_a_note_is_on_the_caches_that_have_its_labels() -> None:
    cache_with_nodes(name="game")
    cache_with_nodes(name="shop")
    Cache.objects.filter(name="game").update(labels={"env": "prod", "team": "game"})
    call(Role.OPERATOR, "post", "/events", {**NOTE, "title": "on prod", "labels": {"env": "prod"}})
    call(Role.OPERATOR, "post", "/events", {**NOTE, "title": "on all"})

    assert sorted(titles("/events?cache=game")) == ["on all", "on prod"]
    assert titles("/events?cache=shop") == ["on all"]
    assert sorted(titles("/events")) == ["on all", "on prod"]


def test_it_finds_by_time_and_kind_and_pages() -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    for hour in range(5):
        note(f"at {hour}", at=noon + timedelta(hours=hour))
    note("over it", at=noon - timedelta(days=1), until=noon + timedelta(minutes=90), kind=Kind.LOAD_TEST)
    span = "from=2026-05-04T13:00:00Z&to=2026-05-04T15:00:00Z"

    assert titles(f"/events?{span}") == ["at 3", "at 2", "at 1", "over it"]
    assert titles(f"/events?{span}&kind=load-test&kind=other") == ["over it"]
    assert titles(f"/events?{span}&page=2&page_size=3") == ["over it"]


def test_every_kind_may_be_asked_for_at_once() -> None:
    note("any", kind=Kind.OTHER)

    assert titles("/events?" + "&".join(f"kind={kind}" for kind in Kind)) == ["any"]


def test_it_lists_what_goes_on() -> None:
    cache = cache_with_nodes()
    long_ago = timezone.now() - timedelta(days=30)
    node = {"id": 1, "address": "10.0.0.1:6379", "shard": 1, "role": "primary"}
    Event.objects.create(cache=cache, kind=Kind.UNREACHABLE, at=long_ago, data={"nodes": [node]})
    Event.objects.create(cache=cache, kind=Kind.RESTART, at=long_ago, data={"nodes": [node]})

    assert titles("/events?cache=game") == ["10.0.0.1:6379 does not answer"]


def test_parts_are_listed_when_asked_for() -> None:
    story = note("whole")
    note("part", story=story)

    assert titles("/events") == ["whole"]
    assert sorted(titles("/events?parts=true")) == ["part", "whole"]


def test_it_leaves_hostile_text_as_text() -> None:
    made = call(Role.OPERATOR, "post", "/events", {**NOTE, "title": f"  {HOSTILE}\n\tline "})

    assert made.json()["title"] == f"{HOSTILE} line"


def test_viewers_may_only_read() -> None:
    made = note("Release")

    assert call(Role.VIEWER, "post", "/events", NOTE).status_code == 403
    assert call(Role.VIEWER, "patch", f"/events/{made.pk}", {"title": "x"}).status_code == 403
    assert call(Role.VIEWER, "get", f"/events/{made.pk}").status_code == 200
    assert call("", "get", "/events").status_code == 401


def test_what_was_detected_cannot_be_changed() -> None:
    seen = Event.objects.create(cache=cache_with_nodes(), kind=Kind.EVICTION, data={"nodes": []})

    answer = call(Role.OPERATOR, "patch", f"/events/{seen.pk}", {"title": "nothing to see"})

    assert answer.status_code == 400
    seen.refresh_from_db()
    assert seen.title == ""


@pytest.mark.parametrize("event_id", [0, -1, 404, 2**63, 10**30])
def test_it_answers_404_for_an_event_that_is_not_there(event_id: int) -> None:
    assert call(Role.OPERATOR, "get", f"/events/{event_id}").status_code == 404
    assert call(Role.OPERATOR, "patch", f"/events/{event_id}", {"title": "x"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": "x"}, "kind"),
        ({"kind": "deploy"}, "title"),
        ({**NOTE, "kind": "failover"}, "kind"),
        ({**NOTE, "kind": None}, "kind"),
        ({**NOTE, "title": ""}, "title"),
        ({**NOTE, "title": " \n "}, "title"),
        ({**NOTE, "title": "x" * 301}, "title"),
        ({**NOTE, "title": "bell \u0007"}, "title"),
        ({**NOTE, "title": ["x"]}, "title"),
        ({**NOTE, "at": "yesterday"}, "at"),
        ({**NOTE, "at": "1999-12-31"}, "at"),
        ({**NOTE, "at": "9999-12-31"}, "at"),
        ({**NOTE, "at": "nan"}, "at"),
        ({**NOTE, "at": "1e400"}, "at"),
        ({**NOTE, "at": 5}, "at"),
        ({**NOTE, "at": ""}, "at"),
        ({**NOTE, "until": "2001-01-01"}, "until"),
        ({**NOTE, "url": "javascript:alert(1)"}, "url"),
        ({**NOTE, "url": "ftp://a.example"}, "url"),
        ({**NOTE, "url": "https://" + "a" * 600}, "url"),
        ({**NOTE, "url": "nonsense"}, "url"),
        ({**NOTE, "cache": "Bad Name"}, "cache"),
        ({**NOTE, "labels": {"ENV": "x"}}, "labels.ENV.[key]"),
        ({**NOTE, "labels": {"env": "a\nb"}}, "labels"),
        ({**NOTE, "labels": []}, "labels"),
        ({**NOTE, "cache": "game", "labels": {"env": "x"}}, None),
        ({**NOTE, "author": "somebody else"}, "author"),
    ],
)
def test_it_names_the_field_that_is_wrong(body: dict[str, Any], field: str | None) -> None:
    answer = call(Role.OPERATOR, "post", "/events", body)

    assert (answer.status_code, answer.json().get("field")) == (400, field)
    assert not Event.objects.exists()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"kind": "deploy", "title": "\\u0000"}'])
def test_it_refuses_bodies_that_are_no_note(body: bytes) -> None:
    assert call(Role.OPERATOR, "post", "/events", body).status_code == 400


def test_it_wants_a_cache_that_is_there() -> None:
    assert call(Role.OPERATOR, "post", "/events", {**NOTE, "cache": "nowhere"}).status_code == 404
    assert call(Role.VIEWER, "get", "/events?cache=nowhere").status_code == 404


@pytest.mark.parametrize(
    "query",
    ["kind=nonsense", "from=x", "to=1e999", "page=0", "page=99999999", "page_size=501", "parts=maybe", "from=%00"],
)
def test_it_refuses_questions_that_cannot_be_answered(query: str) -> None:
    assert call(Role.VIEWER, "get", f"/events?{query}").status_code == 400


def test_it_tells_the_story_of_a_failover() -> None:
    event = told_failover(cache_with_nodes(1, 1), old_answered_at=None)

    story = call(Role.VIEWER, "get", f"/events/{event.pk}/story").json()

    assert (story["event"], story["at_most_seconds"], story["full_resyncs"]) == (event.pk, None, None)
    assert [one["when"] for one in story["rates"]] == ["before", "during", "after"]
    assert {node["role"] for node in story["before"]} == {"primary", "replica"}


def test_it_tells_no_story_of_other_events() -> None:
    note = call(Role.OPERATOR, "post", "/events", NOTE).json()

    assert call(Role.VIEWER, "get", f"/events/{note['id']}/story").status_code == 404
    assert call(Role.VIEWER, "get", "/events/999999/story").status_code == 404


def markers(**given: str) -> Any:
    query = urlencode({"cache": "game", "incidents": "true"} | given)
    return call(Role.VIEWER, "get", f"/events?{query}").json()["incidents"]


def test_incidents_are_given_for_markers_where_they_are_asked_for() -> None:
    watched = firing()

    (marker,) = markers()

    assert (marker["letter"], marker["tone"], marker["goes_on"], marker["until"]) == ("!", "trouble", True, None)
    assert marker["url"] == Incident.objects.get().get_absolute_url()
    assert markers(incidents="false") == []
    assert markers(cache="") == []
    assert markers(to=str(watched.tick - 60)) == []


def test_an_incident_that_is_over_is_marked_in_its_time_alone() -> None:
    watched = firing()
    watched.poll(0.5)

    assert [marker["goes_on"] for marker in markers()] == [False]
    assert markers(**{"from": str(watched.tick + 60), "to": str(watched.tick + 120)}) == []


@pytest.mark.parametrize("path", ["/events", "/events?cache=game&incidents=true"])
def test_a_range_that_goes_back_is_refused_in_words(path: str, db: None) -> None:
    cache_with_nodes(1, 0, "game")
    sign = "&" if "?" in path else "?"

    answer = call(Role.VIEWER, "get", f"{path}{sign}from=2026-11-22&to=2026-11-21")

    assert (answer.status_code, "ends before it begins" in answer.json()["error"]) == (400, True)
