"""Turning on what needs two people."""

import pytest
from django.core.exceptions import ValidationError

from fleet.registration import ConflictError
from switches import approving, changing
from switches.models import Proposal, Switch
from switches.tests.cast import WHY, operator, switch

pytestmark = pytest.mark.django_db


@pytest.fixture
def off() -> Switch:
    return changing.turn_off(switch(needs_two_people=True), operator(), WHY)


def proposed(off: Switch, percent: int = 10) -> Proposal:
    made = approving.turn_on(off, operator("ann"), WHY, off.revision, percent)
    assert isinstance(made, Proposal)
    return made


def test_one_person_only_proposes(off: Switch) -> None:
    proposed(off)

    off.refresh_from_db()
    assert (off.percent, off.revision) == (0, 2)


def test_the_plain_road_is_closed(off: Switch) -> None:
    with pytest.raises(ValidationError, match="two people"):
        changing.turn_on(off, operator(), WHY, off.revision)


def test_another_person_agrees(off: Switch) -> None:
    approving.approve(proposed(off), operator("bob"))

    change = off.changes.latest("revision")
    assert (change.kind, change.by, change.approved_by, change.after["percent"]) == ("step", "ann", "bob", 10)


def test_nobody_agrees_with_themselves(off: Switch) -> None:
    with pytest.raises(ValidationError, match="yourself"):
        approving.approve(proposed(off), operator("ann"))


def test_it_is_decided_once(off: Switch) -> None:
    made = proposed(off)
    approving.decline(made, operator("bob"))

    with pytest.raises(ConflictError):
        approving.approve(made, operator("cid"))
    with pytest.raises(ConflictError):
        approving.decline(made, operator("cid"))


def test_a_change_overtakes_it(off: Switch) -> None:
    made = proposed(off)
    changing.edit(off, operator(), {"note": "new"}, WHY, off.revision)

    with pytest.raises(ConflictError):
        approving.approve(made, operator("bob"))

    made.refresh_from_db()
    assert made.state == "stale"


def test_a_second_proposal_takes_the_place_of_the_first(off: Switch) -> None:
    first, second = proposed(off, 10), proposed(off, 25)

    first.refresh_from_db()
    assert (first.state, second.state) == ("stale", "waiting")


def test_it_must_know_the_switch_as_it_is(off: Switch) -> None:
    with pytest.raises(ConflictError, match="meantime"):
        approving.turn_on(off, operator(), WHY, 1, 10)


def test_further_steps_need_no_second_person(off: Switch) -> None:
    on = approving.approve(proposed(off), operator("bob"))

    raised = approving.turn_on(on, operator("ann"), WHY, on.revision, 50)

    assert isinstance(raised, Switch)
    assert raised.percent == 50


def test_other_switches_are_turned_on_at_once() -> None:
    plain = changing.turn_off(switch(), operator(), WHY)

    assert isinstance(approving.turn_on(plain, operator(), WHY, 2, 100), Switch)
