"""Changes at a time, with the question at their end."""

from datetime import datetime, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEntry
from fleet.registration import ConflictError
from switches import changing, schedules, tasks
from switches.models import Instance, Plan, Switch
from switches.plan import Plan as PlanModel
from switches.tests.cast import WHY, instance, operator, switch

pytestmark = pytest.mark.django_db
State = PlanModel.State
NOW = timezone.now()


def after(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def planned(of: Switch, percent: int = 0, start: float = 10, end: float | None = 60) -> Plan:
    ends_at = None if end is None else after(end)
    return schedules.add(of, operator(), percent, after(start), ends_at, WHY, NOW)


def state_at(plan: Plan, minutes: float) -> tuple[str, int]:
    """Return the state of a plan and the percentage of its switch, once what is due then is done."""
    schedules.keep(after(minutes))
    plan.refresh_from_db()
    return plan.state, Switch.objects.get(pk=plan.switch_id).percent


def test_off_until_then_ask() -> None:
    plan = planned(switch())

    told = [state_at(plan, minutes) for minutes in (9, 10, 59, 60, 90)]

    assert told == [("waiting", 100), ("running", 0), ("running", 0), ("asking", 0), ("asking", 0)]


def test_what_was_planned_is_done_in_its_authors_name() -> None:
    made = switch()
    state_at(planned(made), 10)

    change = made.changes.latest("revision")
    assert (change.kind, change.by, change.reason, change.ticket) == ("off", "ann", "cache is sick", "OPS-1")


def test_a_plan_without_an_end_is_done_at_once() -> None:
    assert state_at(planned(switch(), end=None), 10) == ("done", 0)


def test_a_switch_that_was_changed_meanwhile_suspends_the_plan() -> None:
    made = switch()
    plan = planned(made)
    changing.edit(made, operator("bob"), {"note": "busy"}, WHY, 1)

    assert state_at(plan, 10) == ("suspended", 100)
    entry = AuditEntry.objects.get(action="switch.suspend")
    assert "bob changed" in entry.detail["reason"]


def test_turning_on_what_needs_two_people_is_not_done_by_plan() -> None:
    off = changing.turn_off(switch(needs_two_people=True), operator(), WHY)

    assert state_at(planned(off, percent=100), 10) == ("suspended", 0)


def test_a_plan_turns_on_too() -> None:
    off = changing.turn_off(switch(), operator(), WHY)

    assert state_at(planned(off, percent=25, end=None), 10) == ("done", 25)


def test_turning_it_on_answers_the_question() -> None:
    made = switch()
    plan = planned(made)
    state_at(plan, 10)
    state_at(plan, 60)

    changing.turn_on(made, operator(), WHY, 2)

    assert state_at(plan, 61) == ("done", 100)


def test_not_yet_answers_the_question() -> None:
    plan = planned(switch())
    state_at(plan, 10)
    state_at(plan, 60)

    schedules.extend(plan, operator(), after(120), after(61))

    assert [state_at(plan, minutes) for minutes in (61, 119, 120)] == [("running", 0), ("running", 0), ("asking", 0)]


def test_a_cancelled_plan_does_nothing() -> None:
    plan = planned(switch())

    schedules.cancel(plan, operator())

    assert state_at(plan, 10) == ("cancelled", 100)


def test_what_is_over_is_neither_cancelled_nor_extended() -> None:
    plan = planned(switch(), end=None)
    state_at(plan, 10)

    with pytest.raises(ConflictError):
        schedules.cancel(plan, operator())
    with pytest.raises(ConflictError):
        schedules.extend(plan, operator(), after(120), after(11))


def test_two_schedulers_do_it_once() -> None:
    made = switch()
    plan = planned(made)
    schedules.keep(after(10))
    Plan.objects.filter(pk=plan.pk).update(state=State.RUNNING)

    schedules.keep(after(10))

    assert made.changes.filter(kind="off").count() == 1


@pytest.mark.parametrize(
    ("percent", "start", "end"),
    [(-1, 1, 2), (101, 1, 2), (0, 1, 1), (0, 2, 1), (0, 0, -1), (0, 60 * 24 * 400, None), (0, 1, 60 * 24 * 400)],
)
def test_it_refuses_plans_that_cannot_be(percent: int, start: float, end: float | None) -> None:
    with pytest.raises(ValidationError):
        planned(switch(), percent, start, end)


def test_a_start_in_the_past_is_now() -> None:
    assert planned(switch(), start=-5).starts_at == NOW


def test_the_task_keeps_plans_canaries_and_instances() -> None:
    made = switch()
    schedules.add(made, operator(), 0, NOW - timedelta(minutes=1), None, WHY, NOW - timedelta(minutes=1))
    instance(made, "gone", seen_at=timezone.now() - timedelta(hours=2))
    instance(made, "here")

    tasks.keep()

    assert Switch.objects.get().percent == 0
    assert list(Instance.objects.values_list("name", flat=True)) == ["here"]
