"""Run books: every step forward and back, whoever is first, and what is written down."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEntry, Role, User
from accounts.tests.cast import person
from fleet.models import Cache
from fleet.registration import ConflictError
from switches import changing, run_book_steps
from switches.changing import Why
from switches.models import RunBook, RunBookEntry, Switch
from switches.tests.cast import WHY, cache, operator, switch

pytestmark = pytest.mark.django_db
Step = RunBook.Step
SOUND = {"check": "reach", "verdict": "ok", "data": {}}


@pytest.fixture
def made() -> Switch:
    return switch(cache_now=cache("old"))


@pytest.fixture
def target() -> Cache:
    return cache("new", "redis://10.0.0.6:6379")


def begun(of: Switch, target: Cache | None, **given: Any) -> RunBook:
    return run_book_steps.begin(of, operator(), target, WHY, **{"bake_seconds": 60, **given})


def at(book: RunBook) -> RunBook:
    """Return it as it is stored now."""
    return RunBook.objects.select_related("switch__cache_now", "switch__cache_next", "target").get(pk=book.pk)


def looked(book: RunBook, *verdicts: str) -> RunBook:
    """Return it with a look at the target that found this."""
    findings = [SOUND | {"verdict": verdict} for verdict in verdicts or ("ok",)]
    RunBook.objects.filter(pk=book.pk).update(findings=findings, checked_at=timezone.now())
    return at(book)


def drained(book: RunBook) -> RunBook:
    run_book_steps.turn_off(looked(book), operator())
    return at(book)


def pointed(book: RunBook) -> RunBook:
    run_book_steps.repoint(drained(book), operator())
    return at(book)


def in_canary(book: RunBook) -> RunBook:
    run_book_steps.confirm(pointed(book), operator())
    return at(book)


def told(book: RunBook) -> list[str]:
    return list(RunBookEntry.objects.filter(run_book=book).order_by("pk").values_list("what", flat=True))


def place(book: RunBook) -> tuple[str, int, str]:
    """Return the step, the percentage of the switch, and the cache that it points at."""
    stored = at(book)
    now = stored.switch.cache_now
    return stored.step, stored.switch.percent, now.name if now else ""


def test_it_leads_from_one_cache_to_the_other(made: Switch, target: Cache) -> None:
    book = begun(made, target, percents=[10, 100])

    places = [place(book), place(drained(book))]
    run_book_steps.repoint(at(book), operator())
    places.append(place(book))
    run_book_steps.confirm(at(book), operator())
    places.append(place(book))
    for _time in range(2):
        run_book_steps.advance(at(book))
        places.append(place(book))

    assert places == [
        (Step.CHECK, 100, "old"),
        (Step.DRAIN, 0, "old"),
        (Step.DEPLOY, 0, "new"),
        (Step.CANARY, 10, "new"),
        (Step.CANARY, 100, "new"),
        (Step.DONE, 100, "new"),
    ]
    assert told(book) == ["begun", "off", "repointed", "confirmed", "percent", "percent", "done"]
    assert AuditEntry.objects.filter(action="switch.run-book", detail__target="new").exists()


def test_every_step_can_be_taken_back(made: Switch, target: Cache) -> None:
    book = in_canary(begun(made, target, percents=[10, 100]))
    run_book_steps.advance(book)

    places = []
    for _time in range(4):
        run_book_steps.undo(at(book), operator())
        places.append(place(book))

    assert places == [
        (Step.CANARY, 10, "new"),
        (Step.DEPLOY, 0, "new"),
        (Step.DRAIN, 0, "old"),
        (Step.CHECK, 100, "old"),
    ]
    with pytest.raises(ValidationError, match="no step to take back"):
        run_book_steps.undo(at(book), operator())


def test_the_target_is_looked_at_first(made: Switch, target: Cache) -> None:
    with pytest.raises(ValidationError, match="Look at the target"):
        run_book_steps.turn_off(begun(made, target), operator())

    assert Switch.objects.get().can_use


def test_a_target_that_cannot_be_used_is_refused(made: Switch, target: Cache) -> None:
    book = looked(begun(made, target), "ok", "failed")

    with pytest.raises(ValidationError, match="cannot be used"):
        run_book_steps.turn_off(book, operator())


def test_a_target_with_warnings_is_for_people_to_judge(made: Switch, target: Cache) -> None:
    run_book_steps.turn_off(looked(begun(made, target), "warning", "unknown"), operator())

    assert Switch.objects.get().percent == 0


def test_a_look_is_kept(made: Switch) -> None:
    book = begun(made, cache("far", "redis://127.0.0.1:1"))

    run_book_steps.check(at(book), operator())

    kept = at(book)
    assert kept.checked_at
    assert [one["verdict"] for one in kept.findings] == ["failed", "failed"]
    assert told(book) == ["begun", "checked"]


def test_without_a_target_it_leads_back_into_use(made: Switch) -> None:
    book = begun(changing.turn_off(made, operator(), WHY), None)

    run_book_steps.confirm(at(book), operator())

    assert place(book) == (Step.CANARY, 1, "old")
    run_book_steps.undo(at(book), operator())
    with pytest.raises(ValidationError, match="no step"):
        run_book_steps.undo(at(book), operator())


@pytest.mark.parametrize("percents", [[], [10], [100, 10], [10, 10, 100], [0, 100], [-5, 100], [10, 200], [1] * 30])
def test_percentages_rise_to_100(made: Switch, target: Cache, percents: list[int]) -> None:
    with pytest.raises(ValidationError):
        begun(made, target, percents=percents)


@pytest.mark.parametrize("seconds", [0, 9, 86_401])
def test_a_bake_time_has_bounds(made: Switch, target: Cache, seconds: int) -> None:
    with pytest.raises(ValidationError):
        begun(made, target, bake_seconds=seconds)


def test_a_target_is_another_cache_than_now(made: Switch) -> None:
    with pytest.raises(ValidationError, match="already"):
        begun(made, made.cache_now)


def test_a_switch_that_is_on_needs_a_target(made: Switch) -> None:
    with pytest.raises(ValidationError, match="name the cache"):
        begun(made, None)


def test_a_switch_without_a_cache_cannot_be_watched() -> None:
    off = changing.turn_off(switch(), operator(), WHY)

    with pytest.raises(ValidationError, match="no cache"):
        begun(off, None)


def test_one_is_under_way_at_a_time(made: Switch, target: Cache) -> None:
    first = begun(made, target)

    with pytest.raises(ConflictError):
        begun(made, target)
    run_book_steps.stop(at(first), operator())
    begun(made, target)

    assert RunBook.objects.open().count() == 1


def test_who_comes_second_does_nothing(made: Switch, target: Cache) -> None:
    book = in_canary(begun(made, target, percents=[1, 10, 100]))
    one, other = at(book), at(book)

    run_book_steps.advance(one)
    with pytest.raises(ConflictError):
        run_book_steps.advance(other)

    assert place(book)[1] == 10


def test_a_worker_killed_in_a_step_leaves_nothing_of_it(
    made: Switch, target: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = in_canary(begun(made, target, percents=[1, 10, 100]))

    def die(*_given: object, **_named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(RunBookEntry.objects, "create", die)
        with pytest.raises(KeyboardInterrupt):
            run_book_steps.advance(at(book))
    assert place(book) == (Step.CANARY, 1, "new")
    run_book_steps.advance(at(book))

    assert place(book) == (Step.CANARY, 10, "new")
    assert told(book).count("percent") == 2


def test_a_roll_back_turns_it_off_and_waits_for_people(made: Switch, target: Cache) -> None:
    book = in_canary(begun(made, target))

    run_book_steps.roll_back(book, "node down")

    last = Switch.objects.get().changes.first()
    assert place(book) == (Step.DEPLOY, 0, "new")
    assert last
    assert (last.by, last.reason) == ("run book", "rolled back: node down")
    run_book_steps.confirm(at(book), operator())
    assert place(book) == (Step.CANARY, 1, "new")


def test_what_others_change_overtakes_it(made: Switch, target: Cache) -> None:
    book = in_canary(begun(made, target))
    changing.turn_off(made, operator("bob"), WHY)

    with pytest.raises(ConflictError):
        run_book_steps.advance(at(book))
    run_book_steps.catch_up()

    assert at(book).step == Step.OVERTAKEN
    assert RunBookEntry.objects.filter(what="overtaken", by="bob").exists()


def test_a_new_owner_changes_nothing_of_its_way(made: Switch, target: Cache) -> None:
    book = in_canary(begun(made, target, percents=[1, 100]))
    stored = Switch.objects.get()
    changing.edit(stored, operator("bob"), {"owner": "bob"}, WHY, stored.revision)

    run_book_steps.catch_up()
    run_book_steps.advance(at(book))

    assert place(book) == (Step.CANARY, 100, "new")


def second() -> User:
    return User.objects.filter(username="bob").first() or person(Role.OPERATOR, "bob")


def test_two_people_are_the_author_and_who_confirms(target: Cache) -> None:
    book = pointed(begun(switch(cache_now=cache("old"), needs_two_people=True), target))

    with pytest.raises(ValidationError, match="two people"):
        run_book_steps.confirm(book, operator())
    run_book_steps.confirm(at(book), second())

    last = Switch.objects.get().changes.first()
    assert last
    assert (last.by, last.approved_by, last.after["percent"]) == ("ann", "bob", 1)


def test_a_target_that_was_deleted_leads_nowhere(made: Switch, target: Cache) -> None:
    book = drained(begun(made, target))
    target.delete()

    with pytest.raises(ValidationError, match="removed"):
        run_book_steps.repoint(at(book), operator())
    run_book_steps.undo(at(book), operator())

    assert place(book) == (Step.CHECK, 100, "old")


def test_a_reason_is_asked_for(made: Switch, target: Cache) -> None:
    with pytest.raises(ValidationError):
        run_book_steps.begin(made, operator(), target, Why(" "), 60)


def test_a_retired_switch_has_no_way(target: Cache) -> None:
    made = switch()
    retired = changing.retire(made, operator(), WHY, 1)

    with pytest.raises(ConflictError):
        begun(retired, target)
