"""Canaries over known instances: how many, which ones, and that nobody loses a place to a newcomer."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.utils import timezone

from switches import admission, changing
from switches.models import Installation, Instance, Switch
from switches.reports import Report, columns
from switches.store import UPSERT
from switches.tests.cast import WHY, instance, operator, switch

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("live", "percent", "expected"),
    [(0, 10, 0), (1, 1, 1), (60, 10, 6), (60, 1, 1), (60, 11, 7), (10, 100, 10), (3, 50, 2)],
)
def test_a_share_is_rounded_up(live: int, percent: int, expected: int) -> None:
    assert admission.wanted(live, percent) == expected


def fleet(number: int) -> Switch:
    made = changing.turn_off(switch(), operator(), WHY)
    for index in range(number):
        instance(made, f"pod-{index}")
    return made


def at(percent: int, of: Switch) -> Switch:
    of.refresh_from_db()
    return changing.turn_on(of, operator(), WHY, of.revision, percent)


def inside() -> set[str]:
    return set(Instance.objects.filter(is_admitted=True).values_list("name", flat=True))


def test_each_step_keeps_those_of_the_step_before() -> None:
    made, steps = fleet(60), []

    for percent in (1, 10, 25, 50):
        at(percent, made)
        steps.append(inside())

    assert [len(step) for step in steps] == [1, 6, 15, 30]
    assert all(before < after for before, after in pairwise(steps))


def test_a_step_back_leaves_the_first_ones() -> None:
    made = fleet(20)
    at(10, made)
    first = inside()
    at(50, made)

    at(10, made)

    assert inside() == first


def test_a_newcomer_takes_nobodys_place() -> None:
    made = at(10, fleet(10))
    before = inside()
    for index in range(10, 30):
        instance(made, f"pod-{index}")

    admission.admit(made, timezone.now())

    assert before < inside()
    assert len(inside()) == 3


def test_the_place_of_one_that_is_gone_goes_to_another() -> None:
    made = at(10, fleet(10))
    (first,) = inside()
    Instance.objects.filter(name=first).update(seen_at=timezone.now() - timedelta(minutes=10))

    admission.keep(timezone.now())

    assert len(inside() - {first}) == 1
    assert made.is_canary


def test_the_first_report_of_all_is_let_in() -> None:
    made = at(1, fleet(0))
    instance(made, "pod-1")

    admission.keep(timezone.now())

    assert inside() == {"pod-1"}


def test_at_100_percent_nobody_is_singled_out() -> None:
    made = fleet(4)
    at(50, made)

    at(100, made)

    assert admission.admit(made, timezone.now()) == 0


def test_hundreds_are_let_in_as_one_change() -> None:
    made = fleet(0)
    Instance.objects.bulk_create(
        Instance(switch=made, name=f"pod-{n}", revision=2, first_seen_at=timezone.now(), seen_at=timezone.now())
        for n in range(500)
    )
    at(1, made)
    before = Installation.objects.get().serial

    at(50, made)

    assert len(inside()) == 250
    assert Installation.objects.get().serial - before <= 3


def test_a_heartbeat_is_no_news_for_readers() -> None:
    made = at(10, fleet(10))
    before = Installation.objects.get().serial
    store = connection.cursor()

    reports = [Report(made.pk, f"pod-{n}", "", "", None, 3, 1, 0.1, "", is_behind=False) for n in range(20)]
    store.execute(UPSERT, columns(reports))

    assert Instance.objects.count() == 20
    assert Installation.objects.get().serial == before
