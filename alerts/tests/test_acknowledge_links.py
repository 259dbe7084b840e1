"""Signed links: a reader acknowledges one incident without signing in, and nothing else happens by itself."""

from datetime import timedelta

import pytest
from django.core import signing
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import AuditEntry
from alerts import acknowledge_links, incident_acts, outbox, sender
from alerts.acknowledge_links import LinkError
from alerts.models import Incident, Reason
from alerts.tests.cast import channel, closed, opened, states
from alerts.tests.peers import Service

pytestmark = pytest.mark.django_db
SITE = "https://watch.example.org"


@pytest.fixture(autouse=True)
def our_address(settings: Settings) -> None:
    settings.PUBLIC_URL = SITE


def link(incident: Incident | None = None) -> str:
    """Return the path of the link of an incident that one channel was told of."""
    return acknowledge_links.link_for(incident or opened(channel()), channel("other")).removeprefix(SITE)


def phone(path: str, method: str = "get") -> HttpResponse:
    """Ask as a browser that nobody signed in with, and that holds no cookie."""
    answer: HttpResponse = getattr(Client(enforce_csrf_checks=True), method)(path)
    return answer


def test_the_message_carries_a_link_that_works(pagerduty: Service) -> None:
    incident = opened(channel())
    sender.drain()
    (found,) = [one["href"] for one in pagerduty.seen[0].json["links"] if one["text"] == "Acknowledge"]

    phone(found.removeprefix(SITE), "post")

    incident.refresh_from_db()
    assert incident.acknowledged_by == "link in pager"
    assert states(incident)[-1] == ("acknowledge", "")


def test_looking_at_it_changes_nothing() -> None:
    path = link()

    answers = [phone(path, method) for method in ("get", "head", "get")]

    assert {answer.status_code for answer in answers} == {200}
    assert Incident.objects.get().acknowledged_at is None
    assert not AuditEntry.objects.exists()


def test_it_asks_before_it_acknowledges() -> None:
    page = phone(link()).content.decode()

    assert '<form method="post"' in page
    assert "node-1 does not answer" in page


def test_it_is_audited_with_the_channel_it_came_by() -> None:
    phone(link(), "post")

    entry = AuditEntry.objects.get()
    assert (entry.user, entry.username, entry.action) == (None, "link in other", "incident.acknowledged")


def test_it_goes_back_to_the_page_which_says_so() -> None:
    path = link()

    answer = phone(path, "post")

    assert (answer.status_code, answer["Location"]) == (302, path)
    assert "Acknowledged by link in other" in phone(path).content.decode()


def test_the_second_one_changes_nothing() -> None:
    incident = opened(channel())
    path = link(incident)
    phone(path, "post")
    phone(path, "post")

    assert [kind for kind, _state in states(incident)] == ["trigger", "acknowledge"]
    assert AuditEntry.objects.count() == 1


def test_it_is_good_for_one_incident_only() -> None:
    first, second = opened(channel()), opened(subject="node-2 down")

    phone(acknowledge_links.link_for(first, channel("other")).removeprefix(SITE), "post")

    second.refresh_from_db()
    assert second.acknowledged_at is None


def test_an_incident_that_is_over_is_not_acknowledged() -> None:
    incident = opened(channel())
    path = link(incident)
    closed(incident)

    assert phone(path, "post").status_code == 302
    assert "It is over." in phone(path).content.decode()
    incident.refresh_from_db()
    assert incident.acknowledged_at is None


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_forged_link_is_refused(method: str) -> None:
    path = link()

    answer = phone(f"{path[:-2]}x/", method)

    assert answer.status_code == 403
    assert "not one of ours" in answer.content.decode()
    assert Incident.objects.get().acknowledged_at is None


def test_a_token_for_something_else_is_refused() -> None:
    incident = opened(channel())

    with pytest.raises(LinkError):
        acknowledge_links.read(signing.dumps([incident.pk, 1], salt="another"))


def test_an_old_link_is_refused(settings: Settings) -> None:
    path = link()
    settings.ACKNOWLEDGE_LINK_HOURS = -1

    answer = phone(path, "post")

    assert answer.status_code == 403
    assert "too old" in answer.content.decode()


def test_a_link_of_what_was_forgotten_says_so() -> None:
    path = link()
    Incident.objects.all().delete()

    assert "not kept any more" in phone(path).content.decode()


def test_a_channel_that_was_removed_still_has_its_links() -> None:
    incident, gone = opened(), channel("gone")
    path = acknowledge_links.link_for(incident, gone).removeprefix(SITE)
    gone.delete()

    phone(path, "post")

    incident.refresh_from_db()
    assert incident.acknowledged_by == "link in a channel that was removed"


def test_the_page_is_kept_by_no_cache_and_told_to_no_other_site() -> None:
    answer = phone(link())

    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] in {"same-origin", "no-referrer"}


def test_nothing_of_it_is_stored() -> None:
    assert "acknowledge/" not in str(opened(channel()).deliveries.get().payload)


def claimed(incident: Incident) -> str:
    """Return the link of the newest message of an incident."""
    while claims := outbox.claim():
        (claim,) = claims
        found = claim.message().acknowledge_link
        claim.delivery.incident.deliveries.filter(pk=claim.delivery.pk).update(state="accepted", lease_until=None)
    return found


def test_a_message_of_the_end_has_none() -> None:
    assert claimed(closed(opened(channel()))) == ""


def test_what_somebody_looks_after_already_has_none() -> None:
    incident = opened(channel())
    incident_acts.acknowledge_by_link(acknowledge_links.Link(incident, "x"), timezone.now())

    assert claimed(incident) == ""


def test_a_test_of_a_channel_has_none() -> None:
    incident = opened(channel())
    Incident.objects.update(reason=Reason.TEST)

    assert claimed(incident) == ""


def test_without_our_own_address_there_is_none(settings: Settings) -> None:
    settings.PUBLIC_URL = ""

    assert claimed(opened(channel())) == ""


def test_no_message_may_bring_a_link_of_its_own(settings: Settings) -> None:
    settings.PUBLIC_URL = ""

    assert claimed(opened(channel(), acknowledge_link="https://elsewhere.example.org/")) == ""


def test_the_age_that_counts_is_that_of_the_link() -> None:
    incident = opened(channel())
    Incident.objects.update(opened_at=timezone.now() - timedelta(days=3))

    assert phone(link(incident)).status_code == 200
