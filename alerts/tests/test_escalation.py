"""The next in line: told when nobody acknowledges, each once, whatever restarts."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEntry, Role
from accounts.tests.cast import person
from alerts import escalation, incident_acts, route_changes, telling, umbrella
from alerts.decision import Decision
from alerts.decision_words import sentence
from alerts.models import Channel, Delivery, Incident, Reason
from alerts.route import Route, Step, Tree
from alerts.silence import Silence
from alerts.tests.cast import channel
from alerts.tests.judged import Fleet, fleet, rule
from alerts.tests.test_umbrella import OUTAGE

pytestmark = pytest.mark.django_db
What = Decision.What


@pytest.fixture
def root(db: None) -> Route:
    made = Route.objects.create(name="root")
    made.channels.add(channel("first"))
    return made


def step(route: Route, minutes: int, *names: str) -> Step:
    made = Step.objects.create(route=route, after_seconds=minutes * 60)
    made.channels.set([Channel.objects.filter(name=name).first() or channel(name) for name in names])
    return made


@pytest.fixture
def told(root: Route) -> Fleet:
    """An incident that was told, on a route with steps after 10 and 30 minutes."""
    step(root, 10, "second")
    step(root, 30, "third", "fourth")
    rule()
    watched = fleet()
    watched.poll(0.95)
    return watched


def swept(watched: Fleet, *minutes: float) -> None:
    for one in minutes:
        telling.sweep(watched.at + timedelta(minutes=one))


def triggers() -> list[str]:
    return list(Delivery.objects.filter(kind="trigger").order_by("pk").values_list("channel__name", flat=True))


def test_the_next_are_told_when_their_time_has_come(told: Fleet) -> None:
    swept(told, 9.9)
    assert triggers() == ["first"]

    swept(told, 10)
    assert triggers() == ["first", "second"]

    swept(told, 29.9)
    assert triggers() == ["first", "second"]

    swept(told, 30)
    assert triggers() == ["first", "second", "third", "fourth"]


def test_no_step_is_taken_twice(told: Fleet) -> None:
    swept(told, 10, 10, 11, 12, 30, 30, 31, 600)

    assert sorted(triggers()) == ["first", "fourth", "second", "third"]


def test_the_message_says_why_it_comes(told: Fleet) -> None:
    swept(told, 10)

    message = Delivery.objects.get(channel__name="second").payload
    assert message["text"].startswith("Nobody has acknowledged it for 10 min.")
    assert message["title"] == "game: Memory: shard 1, 127.0.0.1:7010 95% (bound 90%)"


def test_the_record_says_who_was_told(told: Fleet) -> None:
    swept(told, 10, 30)

    assert [sentence(row) for row in Decision.objects.filter(what=What.ESCALATED)] == [
        "Told next, as nobody had acknowledged it for 10 min: second.",
        "Told next, as nobody had acknowledged it for 30 min: fourth, third.",
    ]


def test_to_acknowledge_stops_it(told: Fleet) -> None:
    swept(told, 10)
    incident_acts.acknowledge(person(Role.OPERATOR), Incident.objects.get(), told.at)

    swept(told, 30, 60)

    assert triggers() == ["first", "second"]


def test_the_end_stops_it_and_is_told_to_all(told: Fleet) -> None:
    swept(told, 10)
    told.poll(0.5)

    swept(told, 30)

    ends = Delivery.objects.filter(kind="resolve").values_list("channel__name", flat=True)
    assert (triggers(), sorted(ends)) == (["first", "second"], ["first", "second"])


def test_the_next_incident_begins_at_the_first_step(told: Fleet) -> None:
    swept(told, 10)
    told.poll(0.5)
    told.poll(0.95)

    swept(told, 9)

    assert triggers() == ["first", "second", "first"]


def test_a_step_that_is_late_leaves_the_next_its_time(told: Fleet) -> None:
    swept(told, 120, 121, 139)
    assert triggers() == ["first", "second"]

    swept(told, 140)
    assert len(triggers()) == 4


def test_what_is_silenced_waits(told: Fleet) -> None:
    made = Silence.objects.create(
        matchers=["cache=game"], author="ann", comment="x", starts_at=told.at, ends_at=told.at + timedelta(minutes=20)
    )

    swept(told, 10, 15)
    assert triggers() == ["first"]

    Silence.objects.filter(pk=made.pk).delete()
    swept(told, 20)
    assert triggers() == ["first", "second"]


def test_it_counts_from_when_people_were_told(root: Route) -> None:
    step(root, 10, "second")
    now = timezone.now()
    Silence.objects.create(
        matchers=["cache=game"],
        author="ann",
        comment="x",
        starts_at=now - timedelta(hours=1),
        ends_at=now + timedelta(hours=1),
    )
    rule()
    watched = fleet()
    watched.poll(0.95)

    swept(watched, 70, 79.9)
    assert triggers() == ["first"]

    swept(watched, 80)
    assert triggers() == ["first", "second"]


def test_the_same_channel_may_be_told_again(root: Route) -> None:
    step(root, 10, "first")
    rule()
    watched = fleet()
    watched.poll(0.95)

    swept(watched, 10)

    assert triggers() == ["first", "first"]


def test_a_route_without_steps_takes_those_above(told: Fleet) -> None:
    below = Route.objects.create(parent=Route.objects.get(), name="below", matchers=["cache=game"])

    assert [one.after_seconds for one in Tree.load().steps(below.pk)] == [600, 1_800]

    step(below, 5, "second")
    assert [one.after_seconds for one in Tree.load().steps(below.pk)] == [300]


def test_steps_that_were_removed_are_not_taken(told: Fleet) -> None:
    Step.objects.all().delete()

    swept(told, 600)

    assert triggers() == ["first"]


def test_what_comes_next_is_known_before(told: Fleet) -> None:
    incident = Incident.objects.get()

    following = escalation.next_step(incident, Tree.load())

    assert following is not None
    assert (following.at, [one.name for one in following.channels]) == (told.at + timedelta(minutes=10), ["second"])


@pytest.mark.parametrize("field", ["acknowledged_at", "closed_at"])
def test_nothing_comes_next_where_somebody_looks_or_it_is_over(told: Fleet, field: str) -> None:
    incident = Incident.objects.get()
    setattr(incident, field, told.at)

    assert escalation.next_step(incident, Tree.load()) is None


def test_our_own_outage_is_escalated_too(root: Route) -> None:
    step(root, 10, "second")
    at: datetime = timezone.now()
    seen = umbrella.Sight(9, 3, 0)
    umbrella.open_outage(at, seen, Channel.objects.filter(name="first"))

    telling.escalate(at + timedelta(minutes=10))

    assert [row.payload["title"] for row in Delivery.objects.filter(channel__name="second")] == [OUTAGE]


def test_an_incident_without_alerts_of_rules_takes_no_step(root: Route) -> None:
    step(root, 10, "second")
    at = timezone.now()
    Incident.objects.create(
        subject="x", title="x", severity="critical", reason=Reason.THRESHOLD, opened_at=at, paged_at=at
    )

    telling.escalate(at + timedelta(minutes=10))

    assert triggers() == []


@pytest.mark.parametrize(
    ("seconds", "names", "field"),
    [(59, ["first"], "after_seconds"), (8 * 86_400, ["first"], "after_seconds"), (600, [], "step_channels")],
)
def test_a_step_that_makes_no_sense_is_refused(root: Route, seconds: int, names: Sequence[str], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        route_changes.add_step(person(Role.ADMIN), root, seconds, list(Channel.objects.filter(name__in=names)))

    assert field in caught.value.message_dict


def test_a_route_has_ten_steps_at_most(root: Route) -> None:
    for minutes in range(1, 11):
        step(root, minutes, "first")

    with pytest.raises(ValidationError, match="at most 10"):
        route_changes.add_step(person(Role.ADMIN), root, 3_600, list(Channel.objects.all()))


def test_steps_that_come_and_go_are_audited(root: Route) -> None:
    made = route_changes.add_step(person(Role.ADMIN), root, 600, list(Channel.objects.all()))
    route_changes.delete_step(person(Role.ADMIN, "bea"), made)

    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == [
        "route.add-step",
        "route.delete-step",
    ]
