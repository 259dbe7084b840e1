"""PagerDuty tells us that somebody looks after an incident: only what it signed counts, and nobody else is called."""

import hashlib
import hmac
from typing import Any

import orjson
import pytest
from django.test import Client

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from alerts import incident_acts
from alerts.models import Channel, Incident
from alerts.tests.cast import AT, KEY, channel, closed, opened, states

pytestmark = pytest.mark.django_db
SECRET = "webhook-secret-of-the-subscription"
KEYS: dict[str, Any] = {"routing_key": KEY, "webhook_secret": SECRET}


@pytest.fixture
def pager() -> Channel:
    return channel("pager", **KEYS)


def event(incident: Incident, kind: str = "incident.acknowledged", **changes: Any) -> dict[str, Any]:
    agent = {"id": "PLH1HKV", "summary": "Tenex Engineer", "type": "user_reference"}
    data = {"id": "PGR0VU2", "type": "incident", "status": "acknowledged", "incident_key": incident.dedup_key}
    return {"event": {"id": "1", "event_type": kind, "agent": agent, "data": data} | changes}


def signature(content: bytes, secret: str = SECRET) -> str:
    return "v1=" + hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()


def tell(pager: Channel, body: Any, signed: str | None = None) -> int:
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    headers = {"X-PagerDuty-Signature": signature(content) if signed is None else signed}
    answer = Client(enforce_csrf_checks=True).post(
        f"/hooks/pagerduty/{pager.pk}/", content, content_type="application/json", headers=headers
    )
    return answer.status_code


def who(incident: Incident) -> str:
    incident.refresh_from_db()
    return incident.acknowledged_by


def test_acknowledging_there_counts_here(pager: Channel) -> None:
    incident = opened(pager, channel("second"))

    assert tell(pager, event(incident)) == 202

    assert who(incident) == "Tenex Engineer in pager"
    assert [kind for kind, _state in states(incident)] == ["trigger"] * 2 + ["acknowledge"] * 2
    assert AuditEntry.objects.get().username == "Tenex Engineer in pager"


@pytest.mark.parametrize(
    "signed",
    ["", "v1=", "v1=" + "0" * 64, "v0=ignored", "v1=日本", signature(b"something else")],
    ids=["none", "empty", "wrong", "old version", "no letters", "of another body"],
)
def test_what_is_not_signed_is_refused(pager: Channel, signed: str) -> None:
    incident = opened(pager)

    assert tell(pager, event(incident), signed) == 403
    assert who(incident) == ""


def test_one_good_signature_of_several_is_enough(pager: Channel) -> None:
    incident = opened(pager)
    content = orjson.dumps(event(incident))

    assert tell(pager, content, f"{signature(content, 'the old secret')},{signature(content)}") == 202
    assert who(incident)


def test_a_channel_without_a_secret_takes_nothing() -> None:
    pager = channel("pager")
    content = orjson.dumps(event(opened(pager)))

    assert tell(pager, content, signature(content, "")) == 403


@pytest.mark.parametrize("kind", ["slack", "webhook"])
def test_channels_of_other_kinds_take_nothing(kind: str) -> None:
    other = channel("other", kind=kind, webhook_secret=SECRET)

    assert tell(other, event(opened(other))) == 403


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"7", b'{"event": []}', b'{"event": {"event_type": "incident.acknowledged", "data": 1}}'],
)
def test_what_makes_no_sense_changes_nothing(pager: Channel, body: bytes) -> None:
    incident = opened(pager)

    assert tell(pager, body) == 202
    assert who(incident) == ""


@pytest.mark.parametrize("kind", ["incident.triggered", "incident.resolved", "pagey.ping"])
def test_other_events_change_nothing(pager: Channel, kind: str) -> None:
    incident = opened(pager)

    assert tell(pager, event(incident, kind)) == 202
    assert who(incident) == ""


def test_an_incident_that_the_channel_never_told_is_none_of_its(pager: Channel) -> None:
    incident = opened(channel("second"))

    assert tell(pager, event(incident)) == 202
    assert who(incident) == ""


def test_whoever_was_first_stays_and_what_is_over_stays_over(pager: Channel) -> None:
    first, over = opened(pager, subject="a"), closed(opened(pager, subject="b"))
    incident_acts.acknowledge_elsewhere(first, "ann", AT)

    for incident in (first, over):
        assert tell(pager, event(incident)) == 202

    assert (who(first), who(over)) == ("ann", "")


@pytest.mark.parametrize("name", [None, "", "a\u202eb", 7, "x" * 500])
def test_names_are_taken_as_far_as_they_can_be_shown(pager: Channel, name: object) -> None:
    incident = opened(pager)

    assert tell(pager, event(incident, agent={"summary": name})) == 202
    assert who(incident).endswith(" in pager")
    assert len(who(incident)) <= 100


def test_the_page_of_a_channel_names_the_address(pager: Channel) -> None:
    seen = client_of(Role.ADMIN).get(f"/channels/{pager.pk}/").content.decode()

    assert f"http://testserver/hooks/pagerduty/{pager.pk}/" in seen
    assert SECRET not in seen
