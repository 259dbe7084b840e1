"""Maintenance windows: what they keep back, and what they never swallow."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEntry, Role
from accounts.tests.cast import person
from alerts import telling, window, window_changes
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.decision_words import sentence
from alerts.models import Channel, Delivery, Incident
from alerts.route import Route
from alerts.tests.cast import channel
from alerts.tests.judged import Fleet, fleet, rule
from alerts.window import Window

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture
def watched(db: None) -> Fleet:
    made: Channel = channel()
    Route.objects.create(name="root").channels.add(made)
    rule()
    return fleet()


def window_around(at: datetime, *lines: str, minutes: int = 60) -> Window:
    """Keep a window that began an hour before and ends so many minutes after a time."""
    starts, ends = at - timedelta(hours=1), at + timedelta(minutes=minutes)
    return Window.objects.create(
        matchers=list(lines or ("cache=game",)),
        author="ann",
        comment="backups",
        weekdays=list(range(7)),
        starts=starts.time(),
        ends=ends.time(),
        zone="UTC",
        until=at + timedelta(days=9),
    )


def kinds() -> list[str]:
    return list(Delivery.objects.order_by("pk").values_list("kind", flat=True))


def test_it_keeps_messages_back_but_no_state(watched: Fleet) -> None:
    window_around(watched.at)

    watched.poll(0.95)

    assert (kinds(), Alert.objects.get().state, Alert.objects.get().kept_back) == ([], "firing", "window")
    assert sentence(Decision.objects.get()) == (
        "Not told of shard 1, 127.0.0.1:7010: a maintenance window hides it (backups)."
    )


@pytest.mark.parametrize("lines", [["cache=shop"], ["cache=game", "severity=warning"]])
def test_what_does_not_fit_is_told(watched: Fleet, lines: list[str]) -> None:
    window_around(watched.at, *lines)

    watched.poll(0.95)

    assert kinds() == ["trigger"]


def test_it_never_swallows_the_end_of_what_was_told(watched: Fleet) -> None:
    watched.poll(0.95)
    window_around(watched.at)

    watched.poll(0.5)

    assert kinds() == ["trigger", "resolve"]


def test_what_still_fires_when_it_ends_is_told(watched: Fleet) -> None:
    window_around(watched.at, minutes=10)
    watched.poll(0.95)

    telling.sweep(watched.at + timedelta(minutes=9))
    assert kinds() == []

    telling.sweep(watched.at + timedelta(minutes=11))
    assert kinds() == ["trigger"]


def test_what_ended_within_it_is_told_to_nobody(watched: Fleet) -> None:
    window_around(watched.at)
    watched.poll(0.95)
    watched.poll(0.5)

    telling.sweep(watched.at + timedelta(hours=2))

    assert (kinds(), Incident.objects.open().count()) == ([], 0)


def test_one_that_is_over_hides_nothing(watched: Fleet) -> None:
    made = window_around(watched.at)
    Window.objects.filter(pk=made.pk).update(until=watched.at - timedelta(days=1))

    watched.poll(0.95)

    assert kinds() == ["trigger"]


def test_it_hides_no_longer_than_its_last_day(db: None) -> None:
    made = window_around(NOW)
    made.until = NOW + timedelta(minutes=5)
    made.save()

    assert [len(window.active(NOW + timedelta(minutes=minutes))) for minutes in (4, 5)] == [1, 0]
    assert made.following(NOW, 9) == [(NOW - timedelta(hours=1), made.until)]


GIVEN: dict[str, Any] = {
    "lines": ["cache=game-*"],
    "weekdays": [6],
    "starts": time(2),
    "ends": time(4),
    "zone": "Europe/Berlin",
    "until": NOW + timedelta(days=90),
    "now": NOW,
}


def test_it_shows_the_next_times_before_it_is_kept() -> None:
    made = window_changes.built(**GIVEN)

    assert [f"{begins:%m-%d %H:%M}" for begins, _ends in made.following(NOW, 4)] == [
        "03-08 01:00",
        "03-15 01:00",
        "03-22 01:00",
        "03-29 01:00",
    ]
    assert not Window.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"lines": []}, "matchers"),
        ({"lines": ["x"]}, "matchers"),
        ({"weekdays": []}, "weekdays"),
        ({"weekdays": [7]}, "weekdays"),
        ({"zone": "Mars/Base"}, "zone"),
        ({"zone": "../etc"}, "zone"),
        ({"until": NOW}, "until"),
        ({"until": NOW + timedelta(days=732)}, "until"),
        ({"until": NOW + timedelta(hours=1)}, "until"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        window_changes.built(**GIVEN | wrong)

    assert field in caught.value.message_dict


@pytest.mark.parametrize("last", [date(1, 1, 1), date(9999, 12, 31), date(2026, 3, 1)])
def test_a_last_day_far_away_is_refused(last: date) -> None:
    given = {name: value for name, value in GIVEN.items() if name != "until"}

    with pytest.raises(ValidationError):
        window_changes.built_until_day(**given, last=last)


def test_the_last_day_counts_whole_in_its_zone() -> None:
    given = {name: value for name, value in GIVEN.items() if name != "until"}

    made = window_changes.built_until_day(**given, last=date(2026, 3, 8))

    assert made.until == datetime(2026, 3, 8, 23, tzinfo=UTC)
    assert len(made.following(NOW, 9)) == 1


def test_those_that_come_and_go_are_audited() -> None:
    user = person(Role.OPERATOR)
    made = window_changes.add(
        user,
        window_changes.built(**GIVEN | {"until": timezone.now() + timedelta(days=30), "now": timezone.now()}),
        "backups",
    )
    window_changes.delete(user, made)

    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == ["window.add", "window.delete"]


def test_one_without_a_reason_is_refused() -> None:
    with pytest.raises(ValidationError, match="Say why"):
        window_changes.add(person(Role.OPERATOR), window_changes.built(**GIVEN), " ")
