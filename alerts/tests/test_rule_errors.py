"""Rules that cannot be judged: nothing ends by it, and people hear of the rule."""

from datetime import timedelta

import pytest
from django.utils import timezone

from alerts import telling
from alerts.alert import Alert
from alerts.models import Channel, Delivery, Incident, Reason
from alerts.route import Route
from alerts.rule import Rule
from alerts.rule_errors import PATIENCE
from alerts.tests.cast import channel
from alerts.tests.judged import Fleet, fleet, rule, states

pytestmark = pytest.mark.django_db
SUBJECT = "shardwatch:rule:memory"


@pytest.fixture
def pager(db: None) -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


@pytest.fixture
def watched(pager: Channel) -> Fleet:
    """A cache on which a rule fires that cannot be read since its last poll."""
    made = rule()
    found = fleet()
    found.poll(0.95)
    Rule.objects.filter(pk=made.pk).update(text={"rule": "memory", "when": {"metric": "gone", "warning": 1}})
    found.poll(0.5)
    return found


def look(after: timedelta = PATIENCE) -> None:
    failed_at = Rule.objects.get().failed_at or timezone.now()
    telling.sweep(failed_at + after)


def told() -> list[str]:
    rows = Delivery.objects.filter(incident__subject=SUBJECT).order_by("pk")
    return list(rows.values_list("kind", flat=True))


def mend(watched: Fleet) -> None:
    Rule.objects.update(text={"rule": "memory", "when": {"metric": "memory_used_ratio", "warning": 0.8}})
    watched.poll(0.95)


def test_its_alerts_go_on_and_say_why(watched: Fleet) -> None:
    watched.poll(0.5)

    assert states() == ["firing"]
    assert Alert.objects.get().reason == Reason.EVALUATION_ERROR
    assert Alert.objects.get().transitions.filter(reason=Reason.EVALUATION_ERROR).count() == 1


def test_the_rule_remembers_since_when_and_why(watched: Fleet) -> None:
    first = watched.at
    watched.poll(0.5)

    found = Rule.objects.get()
    assert found.failed_at == first
    assert "gone" in found.failed_words


def test_people_are_told_of_the_rule_once(watched: Fleet) -> None:
    look(PATIENCE - timedelta(seconds=1))
    assert told() == []

    look()
    look(2 * PATIENCE)

    assert told() == ["trigger"]
    page = Incident.objects.get(subject=SUBJECT)
    assert (page.reason, page.severity) == (Reason.EVALUATION_ERROR, "warning")
    assert "memory cannot be judged" in page.title


def test_they_are_told_when_it_is_mended(watched: Fleet) -> None:
    look()
    mend(watched)
    look()

    assert told() == ["trigger", "resolve"]
    assert (states(), Alert.objects.get().reason) == (["firing"], Reason.THRESHOLD)
    assert Rule.objects.get().failed_at is None


@pytest.mark.parametrize("end", ["off", "deleted"])
def test_it_is_over_when_nobody_wants_the_rule_any_more(watched: Fleet, end: str) -> None:
    look()
    at = timezone.now()
    Rule.objects.update(is_enabled=False) if end == "off" else Rule.objects.all().delete()

    telling.sweep(at)

    assert told() == ["trigger", "resolve"]


def test_what_is_mended_at_once_is_told_to_nobody(watched: Fleet) -> None:
    mend(watched)
    look()

    assert told() == []
