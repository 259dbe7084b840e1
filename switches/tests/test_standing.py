"""What others ask of switches: which caches are out of service, which switches nobody thinks of."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from switches import changing, standing
from switches.models import Switch
from switches.tests.cast import WHY, cache, operator, switch

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def test_a_cache_is_out_of_service_while_its_switch_is_off() -> None:
    one, other = cache("one"), cache("other")
    changing.turn_off(switch("a", cache_now=one), operator(), WHY)
    switch("b", cache_now=other)

    assert standing.switched_off([one.pk, other.pk]) == {one.pk: "a"}


def test_a_cache_that_others_still_use_is_in_service() -> None:
    one = cache()
    changing.turn_off(switch("a", cache_now=one), operator(), WHY)
    switch("b", cache_now=one)

    assert standing.switched_off([one.pk]) == {}


def test_a_retired_switch_keeps_nobody_off() -> None:
    one = cache()
    off = changing.turn_off(switch(cache_now=one), operator(), WHY)
    changing.retire(off, operator(), WHY, off.revision)

    assert standing.switched_off([one.pk]) == {}


@pytest.mark.parametrize(
    ("percent", "days", "expected"), [(0, 8, True), (0, 6, False), (10, 8, False), (100, 8, False)]
)
def test_off_for_a_week_is_overdue(percent: int, days: float, expected: bool) -> None:
    made = switch()
    Switch.objects.update(percent=percent, stepped_at=ago(days))
    made.refresh_from_db()

    assert (made.is_overdue(NOW), made in Switch.objects.overdue(NOW)) == (expected, expected)


@pytest.mark.parametrize(
    ("created", "polled", "expected"),
    [(40, None, True), (20, None, False), (40, 31, True), (40, 29, False), (20, 1, False)],
)
def test_never_polled_for_a_month_is_unused(created: float, polled: float | None, expected: bool) -> None:
    made = switch()
    Switch.objects.update(created_at=ago(created), polled_at=None if polled is None else ago(polled))
    made.refresh_from_db()

    assert (made.is_unused(NOW), made in Switch.objects.unused(NOW)) == (expected, expected)
