"""The leave of rules to turn a switch off."""

from datetime import datetime, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEntry
from switches import allowing, changing
from switches.auto_off import NAME
from switches.models import AutoOff, Switch, SwitchChange
from switches.tests.cast import WHY, cache, operator, switch

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def allowed(rules: list[str], cooldown: int = 3_600, limit: int = 2) -> AutoOff | None:
    made = Switch.objects.first() or switch(cache_now=cache())
    allowing.allow(made, operator(), rules, cooldown, limit)
    return AutoOff.objects.first()


def turned_off(*ago: timedelta) -> None:
    made = Switch.objects.get()
    for number, age in enumerate(ago, start=2):
        SwitchChange.objects.create(
            switch=made, revision=number, at=NOW - age, by=NAME, kind="off", before={}, after={}, reason="x"
        )


def rests() -> datetime | None:
    return AutoOff.objects.get().rests_until(NOW)


def test_it_is_given_and_taken_away() -> None:
    given = allowed(["b", "a", "a"])
    assert given
    assert given.rules == ["a", "b"]

    assert allowed([]) is None
    assert AuditEntry.objects.filter(action="switch.auto-off").count() == 2


@pytest.mark.parametrize(("cooldown", "limit"), [(59, 1), (604_801, 1), (60, 0), (60, 101)])
def test_it_has_bounds(cooldown: int, limit: int) -> None:
    with pytest.raises(ValidationError):
        allowed(["a"], cooldown, limit)


def test_it_names_no_more_rules_than_anybody_reads() -> None:
    with pytest.raises(ValidationError):
        allowed([f"rule-{number}" for number in range(51)])


def test_it_is_ready_where_it_did_nothing() -> None:
    allowed(["a"])

    assert rests() is None


def test_it_cools_down() -> None:
    allowed(["a"], cooldown=3_600)
    turned_off(timedelta(minutes=20))

    assert rests() == NOW + timedelta(minutes=40)


def test_it_does_so_much_a_day() -> None:
    allowed(["a"], cooldown=60, limit=2)
    turned_off(timedelta(hours=5), timedelta(hours=3))

    assert rests() == NOW + timedelta(hours=19)


def test_what_is_longer_ago_counts_no_more() -> None:
    allowed(["a"], cooldown=60, limit=1)
    turned_off(timedelta(hours=25))

    assert rests() is None


def test_a_long_cooldown_looks_further_back_than_a_day() -> None:
    allowed(["a"], cooldown=172_800)
    turned_off(timedelta(hours=30))

    assert rests() == NOW + timedelta(hours=18)


def test_only_what_is_on_and_points_at_a_cache_is_armed() -> None:
    allowed(["a"])
    assert AutoOff.objects.armed().count() == 1

    changing.turn_off(Switch.objects.get(), operator(), WHY)

    assert not AutoOff.objects.armed().exists()
