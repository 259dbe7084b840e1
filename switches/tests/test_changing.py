"""Changing switches: what is written, what is refused, and who wins."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction
from django.db.models import ProtectedError

from accounts.models import AuditEntry, Role
from accounts.tests.cast import person
from collectors.event import Event
from fleet.registration import ConflictError
from switches import changing
from switches.changing import Why
from switches.models import Installation, Instance, SwitchChange
from switches.tests.cast import WHY, cache, instance, operator, switch

pytestmark = pytest.mark.django_db


def serial() -> int:
    return Installation.objects.get().serial


def test_a_new_switch_is_on_for_everybody() -> None:
    made = switch(label="Users", ttl_seconds=7)

    made.refresh_from_db()
    assert (made.percent, made.can_use, made.revision, made.ttl_seconds) == (100, True, 1, 7)
    assert made.changes.get().kind == "created"


@pytest.mark.parametrize("key", ["", "User", "a/b", "a?b", "a b", "ü", "a\n", "x" * 101, "reports", "a\0"])
def test_it_refuses_keys_that_clients_would_not_ask_for(key: str) -> None:
    with pytest.raises(ValidationError):
        switch(key)


def test_a_key_is_taken_once() -> None:
    switch()

    with pytest.raises(ConflictError, match="exists already"):
        switch()


def test_off_is_one_change_with_its_reason() -> None:
    made = switch()

    after = changing.turn_off(made, operator(), WHY)

    assert (after.percent, after.can_use, after.revision) == (0, False, 2)
    change = made.changes.first()
    assert change is not None
    assert (change.kind, change.by, change.reason, change.ticket) == ("off", "ann", "cache is sick", "OPS-1")
    assert (change.before["percent"], change.after["percent"]) == (100, 0)


def test_each_change_is_in_the_audit() -> None:
    changing.turn_off(switch(), operator(), WHY)

    entry = AuditEntry.objects.filter(action="switch.off").get()
    assert (entry.username, entry.target, entry.detail["ticket"]) == ("ann", "user-cache", "OPS-1")


def test_a_change_marks_the_charts_of_the_cache() -> None:
    target = cache()

    changing.turn_off(switch(cache_now=target), operator(), WHY)

    event = Event.objects.get(cache=target)
    assert (event.kind, event.data["change"], event.author) == ("switch", "off", "ann")


def test_a_change_moves_the_serial() -> None:
    made = switch()
    before = serial()

    changing.turn_off(made, operator(), WHY)

    assert serial() > before


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "a\0b"])
def test_nothing_changes_without_a_reason(reason: str) -> None:
    made = switch()

    with pytest.raises(ValidationError), transaction.atomic():
        changing.turn_off(made, operator(), Why(reason))

    made.refresh_from_db()
    assert (made.revision, made.can_use) == (1, True)


def test_off_twice_is_a_conflict() -> None:
    off = changing.turn_off(switch(), operator(), WHY)

    with pytest.raises(ConflictError, match="off already"):
        changing.turn_off(off, operator(), WHY)


def test_who_comes_second_hears_who_was_first() -> None:
    made = switch()
    changing.turn_off(made, operator("ann"), WHY)

    with pytest.raises(ConflictError, match="ann changed"):
        changing.turn_on(made, operator("bob"), WHY, revision=1, percent=50)


@pytest.mark.parametrize("percent", [0, -1, 101])
def test_on_means_1_to_100_percent(percent: int) -> None:
    with pytest.raises(ValidationError):
        changing.turn_on(switch(), operator(), WHY, 1, percent)


def test_a_canary_goes_up_and_down() -> None:
    off = changing.turn_off(switch(), operator(), WHY)

    kinds = []
    for percent in (1, 10, 100, 25):
        off = changing.turn_on(off, operator(), WHY, off.revision, percent)
        kinds.append((off.changes.latest("revision").kind, off.percent))

    assert kinds == [("step", 1), ("step", 10), ("on", 100), ("step", 25)]


def test_a_step_to_where_it_stands_is_a_conflict() -> None:
    with pytest.raises(ConflictError, match="already"):
        changing.turn_on(switch(), operator(), WHY, 1)


def test_it_points_elsewhere_only_while_off() -> None:
    old, new = cache("old"), cache("new")

    with pytest.raises(ValidationError, match="Turn the switch off"):
        changing.repoint(switch(cache_now=old, cache_next=new), operator(), WHY, 1)


def test_pointing_elsewhere_keeps_the_way_back() -> None:
    old, new = cache("old"), cache("new")
    off = changing.turn_off(switch(cache_now=old, cache_next=new), operator(), WHY)

    there = changing.repoint(off, operator(), WHY, off.revision)
    back = changing.repoint(there, operator(), WHY, there.revision)

    assert (there.cache_now, there.cache_next, there.is_repointing) == (new, old, True)
    assert (back.cache_now, back.cache_next, back.revision) == (old, new, 4)


def test_both_caches_have_the_mark_of_a_move() -> None:
    old, new = cache("old"), cache("new")
    off = changing.turn_off(switch(cache_now=old, cache_next=new), operator(), WHY)

    changing.repoint(off, operator(), WHY, off.revision)

    moved = Event.objects.filter(data__change="repointed")
    assert {event.cache for event in moved} == {old, new}


def test_it_points_nowhere_without_another_cache() -> None:
    off = changing.turn_off(switch(cache_now=cache()), operator(), WHY)

    with pytest.raises(ValidationError, match="Name the cache"):
        changing.repoint(off, operator(), WHY, off.revision)


def test_an_edit_does_not_move_a_switch_that_is_on() -> None:
    made = switch(cache_now=cache("old"))

    with pytest.raises(ValidationError, match="Turn the switch off"):
        changing.edit(made, operator(), {"cache_now": cache("new")}, WHY, 1)


def test_an_edit_is_recorded_with_both_sides() -> None:
    made = switch(owner="web")

    changing.edit(made, operator(), {"owner": "shop", "fallback": "closed"}, WHY, 1)

    change = made.changes.first()
    assert change is not None
    assert (change.before["owner"], change.after["owner"], change.after["fallback"]) == ("web", "shop", "closed")


@pytest.mark.parametrize(
    "given",
    [{"ttl_seconds": 0}, {"ttl_seconds": 301}, {"floor_per_second": -1.0}, {"fallback": "ajar"}, {"note": "\0"}],
)
def test_it_refuses_settings_that_make_no_sense(given: dict[str, Any]) -> None:
    made = switch()

    with pytest.raises(ValidationError):
        changing.edit(made, operator(), given, WHY, 1)


def test_only_an_administrator_takes_the_second_person_away() -> None:
    made = switch(needs_two_people=True)

    with pytest.raises(ValidationError, match="administrator"):
        changing.edit(made, operator(), {"needs_two_people": False}, WHY, 1)
    changing.edit(made, person(Role.ADMIN, "root"), {"needs_two_people": False}, WHY, 1)

    made.refresh_from_db()
    assert made.needs_two_people is False


def test_a_retired_switch_changes_no_more() -> None:
    made = switch()
    changing.retire(made, operator(), WHY, 1)

    with pytest.raises(ConflictError, match="retired"):
        changing.turn_off(made, operator(), WHY)


@pytest.mark.parametrize("act", ["update", "delete"])
def test_the_database_keeps_the_record(act: str) -> None:
    changes = SwitchChange.objects.filter(switch=switch())

    with pytest.raises(DatabaseError, match="only added"), transaction.atomic():
        changes.update(reason="none") if act == "update" else changes._raw_delete("default")


def test_a_switch_with_a_record_is_not_deleted() -> None:
    with pytest.raises(ProtectedError):
        switch().delete()


def test_a_cache_that_goes_leaves_its_switch() -> None:
    made = switch(cache_now=cache())
    before = serial()

    assert made.cache_now is not None
    made.cache_now.delete()

    made.refresh_from_db()
    assert made.cache_now is None
    assert serial() > before


def test_another_address_of_a_cache_is_news_for_readers() -> None:
    target = cache()
    switch(cache_now=target)
    before = serial()

    target.address = "redis://10.0.0.6:6379"
    target.save()
    moved = serial()
    target.save()

    assert (moved > before, serial()) == (True, moved)


def test_turning_off_forgets_who_was_let_in() -> None:
    made = switch()
    instance(made, "pod-1", is_admitted=True)

    changing.turn_off(made, operator(), WHY)

    assert not Instance.objects.filter(is_admitted=True).exists()


def test_applications_may_read_a_view() -> None:
    changing.turn_off(switch("a"), operator(), WHY)
    changing.retire(switch("b"), operator(), WHY, 1)

    with connection.cursor() as cursor:
        cursor.execute("SELECT key, can_use, percent, revision, epoch, changed_at IS NOT NULL FROM switch_state")
        rows = cursor.fetchall()

    assert rows == [("a", False, 0, 2, 1, True)]
