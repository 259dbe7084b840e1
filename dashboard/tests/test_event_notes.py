"""Notes that people and CI add: what is kept, what is refused and with which sentence."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone, translation

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of, person
from collectors.event import NOTE_KINDS, TITLE_LIMIT, URL_LIMIT, Event, Kind
from collectors.tests.cast import cache_with_nodes
from dashboard import event_notes
from dashboard.event_notes import EARLIEST, LATEST, check, target_of
from dashboard.note_form import NoteForm

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def note(**given: Any) -> Event:
    return Event(**{"kind": Kind.DEPLOY, "title": "Release 7", "at": NOON, "labels": {}, **given})


def refusal(event: Event) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as refused:
        check(event)
    return refused.value.message_dict


@pytest.mark.parametrize(
    "given",
    [
        {"title": "x"},
        {"title": "x" * TITLE_LIMIT},
        {"title": "リリース 7"},
        {"at": EARLIEST},
        {"at": LATEST},
        {"until": NOON},
        {"until": NOON + timedelta(days=365)},
        {"url": "https://ci.example/7?a=b#c"},
        {"url": "http://10.0.0.1:8080/"},
        {"url": None},
        {"labels": {"env": "prod"}},
    ],
)
def test_it_keeps_what_makes_sense(given: dict[str, Any]) -> None:
    check(note(**given))


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"title": ""}, "title", "printable characters"),
        ({"title": " \n\t "}, "title", "printable characters"),
        ({"title": "x" * (TITLE_LIMIT + 1)}, "title", f"1 to {TITLE_LIMIT}"),
        ({"title": "a\x1b[2J"}, "title", "printable characters"),
        ({"title": "a\u202eb"}, "title", "printable characters"),
        ({"title": "a\0b"}, "title", "printable characters"),
        ({"title": None}, "title", "printable characters"),
        ({"kind": "failover"}, "kind", "Choose one of"),
        ({"kind": ""}, "kind", "Choose one of"),
        ({"at": None}, "at", "2000 and 2100"),
        ({"at": EARLIEST - timedelta(seconds=1)}, "at", "2000 and 2100"),
        ({"at": LATEST + timedelta(seconds=1)}, "at", "2000 and 2100"),
        ({"until": LATEST + timedelta(seconds=1)}, "until", "2000 and 2100"),
        ({"until": NOON - timedelta(seconds=1)}, "until", "before the start"),
        ({"url": "javascript:alert(1)"}, "url", "http://"),
        ({"url": "ftp://a.example/"}, "url", "http://"),
        ({"url": "//a.example/"}, "url", "http://"),
        ({"url": "https://"}, "url", "http://"),
        ({"url": "https://a.example/" + "x" * URL_LIMIT}, "url", "at most"),
    ],
)
def test_it_names_the_field_that_is_wrong(given: dict[str, Any], field: str, words: str) -> None:
    refused = refusal(note(**given))

    assert list(refused) == [field]
    assert words in refused[field][0]


def test_it_refuses_in_the_readers_language() -> None:
    with translation.override("ja"):
        assert "Times lie" not in refusal(note(at=None))["at"][0]


def test_lines_and_spaces_of_a_title_become_one_line() -> None:
    event = note(title="  Release\n 7\t(hot fix) ")

    check(event)

    assert event.title == "Release 7 (hot fix)"


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in NOTE_KINDS])
def test_nobody_notes_what_shardwatch_sees_itself(kind: Kind) -> None:
    assert "kind" in refusal(note(kind=kind))


@pytest.mark.parametrize(
    ("labels", "target"), [({}, ""), ({"b": "2", "a": "1"}, "a=1 b=2"), ({"x": "y" * 500}, "x=" + "y" * 198)]
)
def test_the_audit_names_labels_in_order(labels: dict[str, str], target: str) -> None:
    assert target_of(note(labels=labels)) == target


@pytest.mark.django_db
def test_a_note_is_kept_with_its_author() -> None:
    event = event_notes.add(person(Role.OPERATOR), {"kind": "deploy", "title": "Release 7"}, Event.Source.API)

    assert (event.author, event.source) == ("operator", "api")
    assert abs(event.at - timezone.now()) < timedelta(seconds=10)
    assert AuditEntry.objects.get().detail == {"kind": "deploy", "title": "Release 7"}


@pytest.mark.django_db
def test_a_refused_note_leaves_nothing() -> None:
    with pytest.raises(ValidationError):
        event_notes.add(person(Role.OPERATOR), {"kind": "deploy", "title": ""}, Event.Source.API)

    assert not Event.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_a_refused_change_leaves_the_note_as_it_was() -> None:
    kept = event_notes.add(person(Role.OPERATOR), {"kind": "deploy", "title": "a", "at": NOON}, Event.Source.API)

    with pytest.raises(ValidationError):
        event_notes.change(person(Role.ADMIN), kept, {"until": NOON - timedelta(hours=1)})

    assert Event.objects.get().until is None


@pytest.mark.django_db
def test_what_was_seen_cannot_be_rewritten() -> None:
    seen = Event.objects.create(kind=Kind.RESTART, at=NOON)

    with pytest.raises(ValidationError, match="only notes"):
        event_notes.change(person(Role.ADMIN), seen, {"title": "nothing happened"})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("until", "kind", "status"), [(None, "deploy", 302), (NOON, "deploy", 404), (None, "restart", 404)]
)
def test_only_what_goes_on_can_be_ended(until: datetime | None, kind: str, status: int) -> None:
    source = Event.Source.PERSON if kind in NOTE_KINDS else Event.Source.DETECTED
    event = Event.objects.create(kind=kind, title="a", source=source, at=NOON, until=until)

    answer = client_of(Role.OPERATOR).post(f"/events/{event.pk}/end/")

    assert answer.status_code == status
    assert (Event.objects.get().until == until) == (status == 404)


@pytest.mark.django_db
def test_a_note_about_the_future_ends_when_it_begins() -> None:
    at = timezone.now() + timedelta(days=1)
    event = Event.objects.create(kind="deploy", title="a", source="person", at=at)

    client_of(Role.OPERATOR).post(f"/events/{event.pk}/end/")

    assert Event.objects.get().until == at


@pytest.mark.django_db
@pytest.mark.parametrize(("zone", "hour"), [("UTC", 12), ("Asia/Tokyo", 3), ("America/New_York", 16)])
def test_the_form_reads_times_in_the_viewers_zone(zone: str, hour: int) -> None:
    cache_with_nodes()
    client = client_of(Role.OPERATOR)
    client.cookies["tz"] = zone

    client.post("/caches/game/events/add/", {"kind": "deploy", "title": "a", "at": "2026-05-04T12:00"})

    assert Event.objects.get().at.astimezone(UTC).hour == hour


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({}, ["kind", "title"]),
        ({"kind": "deploy", "title": "x" * (TITLE_LIMIT + 1)}, ["title"]),
        ({"kind": "failover", "title": "a"}, ["kind"]),
        ({"kind": "deploy", "title": "a", "at": "yesterday"}, ["at"]),
        ({"kind": "deploy", "title": "a", "until": "2026-02-30T12:00"}, ["until"]),
        ({"kind": "deploy", "title": "a\0"}, ["title"]),
        ({"kind": "deploy", "title": "a", "at": "", "until": "", "url": ""}, []),
    ],
)
def test_the_form_says_what_is_wrong(given: dict[str, str], fields: list[str]) -> None:
    assert sorted(NoteForm(given).errors) == fields


def test_what_is_left_empty_is_not_given() -> None:
    form = NoteForm({"kind": "deploy", "title": "a"})
    assert form.is_valid()

    assert form.given() == {"kind": "deploy", "title": "a", "at": None, "until": None, "url": None}
