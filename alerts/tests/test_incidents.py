import pytest
from django.db import transaction

from alerts import incidents
from alerts.models import Incident, Reason
from alerts.tests.cast import channel, closed, message, opened, states

pytestmark = pytest.mark.django_db


def test_one_incident_a_subject_is_open() -> None:
    pager = channel()
    first = opened(pager)

    again, is_new = incidents.open_incident("node-1 down", Reason.NO_DATA, message(), [pager])

    assert (again, is_new) == (first, False)
    assert states(first) == [("trigger", "")]


def test_a_closed_incident_never_opens_again() -> None:
    pager = channel()
    first = closed(opened(pager))

    second = opened(pager)

    assert second.pk != first.pk
    assert second.dedup_key != first.dedup_key


def test_it_is_closed_once() -> None:
    incident = opened(channel())

    won = [incidents.close_incident(incident, Reason.RECOVERED, message()) for _ in range(3)]

    assert won == [True, False, False]
    assert states(incident) == [("trigger", ""), ("resolve", "")]


def test_it_keeps_why_it_ended_and_when() -> None:
    incident = opened(channel())

    incidents.close_incident(incident, Reason.CACHE_DELETED, message())

    kept = Incident.objects.get()
    assert (kept.end_reason, kept.closed_at, kept.is_open) == ("cache_deleted", message().at, False)


def test_an_incident_outside_of_channels_is_kept_too() -> None:
    incident = closed(opened())

    assert (incident.deliveries.count(), incident.is_open) == (0, False)


def test_an_opening_that_is_rolled_back_leaves_nothing() -> None:
    with transaction.atomic():
        opened(channel())
        transaction.set_rollback(True)

    assert not Incident.objects.exists()


def test_what_cannot_be_stored_loses_no_page() -> None:
    incident = opened(channel(), title="down\0 \ud83d", text="a\0b")

    assert incident.title == "down ?"
    assert incident.deliveries.get().payload["text"] == "ab"


@pytest.mark.parametrize("title", ["x" * 5_000, "日本語 🚨 " * 200, "<script>"])
def test_titles_of_any_length_are_kept(title: str) -> None:
    incident = opened(channel(), title=title)

    assert incident.title == title[:300]
    assert incident.deliveries.get().payload["title"] == title
