"""Guards of switches, with real rules, polls and messages: canaries, leave to turn off, and what nobody is told."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from alerts import guards, incident_acts, tasks, telling
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.decision_words import sentence
from alerts.models import Channel, Delivery, EvaluationMark, Incident, Reason
from alerts.route import Route
from alerts.rule import Rule
from alerts.silence import Silence
from alerts.tests.cast import channel
from alerts.tests.judged import EVERY, Fleet, fleet, rule
from collectors.causes import Cause
from fleet.models import Cache
from switches import allowing, changing, run_book_steps
from switches.models import AutoOff, Instance, RunBook, Switch
from switches.tests.cast import WHY, operator, switch

pytestmark = pytest.mark.django_db
Step = RunBook.Step


@pytest.fixture(autouse=True)
def pager(db: None) -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


@pytest.fixture
def watched() -> Fleet:
    """A cache with two primaries that is polled up to now, and a rule on its memory."""
    rule()
    made = fleet(shards=2)
    made.tick = int(timezone.now().timestamp()) // EVERY * EVERY - 3 * EVERY
    made.poll(0.5, 0.5)
    made.poll(0.5, 0.5)
    return made


def canary(watched: Fleet, percents: tuple[int, ...] = (10, 50, 100), age: int = 0) -> RunBook:
    """Return a canary that has been at its first percentage for so many seconds, watched all the time."""
    off = changing.turn_off(switch(cache_now=watched.cache), operator(), WHY)
    book = run_book_steps.begin(off, operator(), None, WHY, 60, percents)
    run_book_steps.confirm(book, operator())
    aged(book, age)
    return book


def aged(book: RunBook, seconds: int, **given: Any) -> None:
    now = timezone.now()
    ago = now - timedelta(seconds=seconds)
    times = {"step_at": ago, "canary_at": ago, "looked_at": now, "seen_at": now}
    RunBook.objects.filter(pk=book.pk).update(**times | given)


def look(at: datetime | None = None) -> tuple[str, int]:
    """Let the guards look; return the step of the run book and the percentage of the switch."""
    guards.watch(at or timezone.now())
    return RunBook.objects.get().step, Switch.objects.get().percent


def why() -> str:
    entry = RunBook.objects.get().entries.filter(what="rolled_back").first()
    return str(entry.data["why"]) if entry else ""


def gone(watched: Fleet) -> None:
    """Let both primaries refuse connections at the newest poll."""
    watched.tick += EVERY
    for node in watched.nodes:
        watched.failed(node, Cause.REFUSED)


def test_a_canary_waits_until_it_is_baked(watched: Fleet) -> None:
    canary(watched, age=50)

    assert look() == (Step.CANARY, 10)


def test_a_canary_goes_up_once_it_is_baked(watched: Fleet) -> None:
    canary(watched, age=61)

    assert [look(), look()] == [(Step.CANARY, 50), (Step.CANARY, 50)]


def test_the_last_percentage_is_baked_too(watched: Fleet) -> None:
    book = canary(watched, percents=(100,), age=50)
    assert look() == (Step.CANARY, 100)

    aged(book, 61)

    assert look() == (Step.DONE, 100)


def test_it_goes_all_the_way(watched: Fleet) -> None:
    book = canary(watched)
    percents = []
    for _time in range(3):
        aged(book, 61)
        percents.append(look())

    assert percents == [(Step.CANARY, 50), (Step.CANARY, 100), (Step.DONE, 100)]


def test_an_alert_of_the_cache_rolls_it_back(watched: Fleet) -> None:
    canary(watched, age=61)
    watched.poll(0.95, 0.5)

    assert look() == (Step.DEPLOY, 0)
    assert "Memory" in why()
    assert Switch.objects.get().changes.filter(kind="off", by="run book").exists()


def test_people_are_told_that_it_was_rolled_back_until_the_switch_is_on_again(watched: Fleet, pager: Channel) -> None:
    book = canary(watched)
    gone(watched)
    assert look() == (Step.DEPLOY, 0)
    look()

    page = Incident.objects.get(reason=Reason.SWITCHED_OFF)
    assert (page.severity, page.is_open) == ("critical", True)
    assert "The canary of switch user-cache was rolled back: 127.0.0.1:7010 does not answer" in page.title
    assert Delivery.objects.filter(incident=page, channel=pager, kind="trigger").count() == 1

    book.refresh_from_db()
    changing.turn_on(book.switch, operator(), WHY, None)
    look()

    page.refresh_from_db()
    assert not page.is_open


def test_a_warning_that_came_with_the_canary_rolls_it_back(watched: Fleet) -> None:
    canary(watched, age=50)
    watched.poll(0.85, 0.5)

    assert look() == (Step.DEPLOY, 0)


def test_a_warning_that_was_there_before_does_not(watched: Fleet) -> None:
    watched.poll(0.85, 0.5)
    book = canary(watched, age=61)
    aged(book, 61, canary_at=timezone.now() + timedelta(seconds=1))

    assert look() == (Step.CANARY, 50)


def test_an_alert_of_another_cache_does_not(watched: Fleet) -> None:
    other = fleet(name="other")
    other.tick = watched.tick
    canary(watched, age=61)
    other.poll(0.95)

    assert look() == (Step.CANARY, 50)


def test_what_people_silenced_does_not(watched: Fleet) -> None:
    now = timezone.now()
    Silence.objects.create(
        matchers=["rule=memory"],
        comment="known",
        author="ann",
        starts_at=now - timedelta(hours=1),
        ends_at=now + timedelta(hours=1),
        created_at=now,
    )
    canary(watched, age=50)
    watched.poll(0.95, 0.5)

    assert look() == (Step.CANARY, 10)


def test_it_waits_while_an_alert_is_pending(watched: Fleet) -> None:
    rule("patient", **{"for": "5m"})
    Alert.objects.all().delete()
    canary(watched, age=61)
    Rule.objects.filter(key="memory").update(is_enabled=False)
    watched.poll(0.95, 0.5)

    assert look() == (Step.CANARY, 10)
    assert Alert.objects.get().state == "pending"


def test_a_target_that_dies_rolls_it_back_at_once(watched: Fleet) -> None:
    canary(watched, age=5)
    gone(watched)

    assert look() == (Step.DEPLOY, 0)
    assert "does not answer" in why()


def test_a_target_that_falls_silent_rolls_it_back_after_a_while(watched: Fleet) -> None:
    book = canary(watched, age=61)
    watched.poll(None, 0.5, judge=False)

    assert look() == (Step.CANARY, 10)
    aged(book, 100, seen_at=timezone.now() - timedelta(seconds=46))
    assert look() == (Step.DEPLOY, 0)
    assert "does not answer" in why()


def test_samples_that_stay_away_roll_it_back(watched: Fleet) -> None:
    book = canary(watched, age=61)
    later = timezone.now() + timedelta(seconds=100)
    aged(book, 0, step_at=later - timedelta(seconds=70), looked_at=later, seen_at=later - timedelta(seconds=46))

    assert look(later) == (Step.DEPLOY, 0)


def test_rules_that_nobody_judges_are_missing_data(watched: Fleet) -> None:
    book = canary(watched, age=61)
    EvaluationMark.objects.update(judged_at=timezone.now() - timedelta(minutes=5))
    assert look() == (Step.CANARY, 10)

    aged(book, 61, seen_at=timezone.now() - timedelta(seconds=50))

    assert look() == (Step.DEPLOY, 0)
    assert "nobody judges" in why()


@pytest.mark.parametrize("change", [{"is_paused": True}])
def test_a_paused_cache_cannot_be_watched(watched: Fleet, change: dict[str, bool]) -> None:
    book = canary(watched, age=61)
    Cache.objects.update(**change)
    aged(book, 61, seen_at=timezone.now() - timedelta(seconds=50))

    assert look() == (Step.DEPLOY, 0)


def test_a_deleted_cache_rolls_it_back(watched: Fleet) -> None:
    canary(watched, age=5)
    watched.cache.delete()

    assert look() == (Step.DEPLOY, 0)


def test_a_guard_that_was_away_bakes_again_and_does_not_panic(watched: Fleet) -> None:
    book = canary(watched, age=600)
    hour_ago = timezone.now() - timedelta(hours=1)
    aged(book, 3_600, looked_at=hour_ago, seen_at=hour_ago)
    EvaluationMark.objects.update(judged_at=hour_ago)

    assert look() == (Step.CANARY, 10)
    assert RunBook.objects.get().step_at > hour_ago


def test_what_people_change_meanwhile_ends_it(watched: Fleet) -> None:
    canary(watched, age=61)
    stored = Switch.objects.get()
    changing.turn_on(stored, operator("bob"), WHY, stored.revision, 100)

    assert look() == (Step.OVERTAKEN, 100)


def test_a_guard_killed_in_a_step_neither_skips_nor_doubles_it(watched: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    canary(watched, age=61)

    def die(*_given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(run_book_steps, "_follow", die)
        with pytest.raises(KeyboardInterrupt):
            look()
    before = RunBook.objects.get()

    assert (before.position, Switch.objects.get().percent) == (0, 10)
    assert [look(), look()] == [(Step.CANARY, 50), (Step.CANARY, 50)]
    assert list(Switch.objects.get().changes.values_list("after__percent", flat=True)) == [50, 10, 0, 100]


def test_instances_that_were_let_in_are_put_out_again(watched: Fleet) -> None:
    canary(watched, age=5)
    Instance.objects.create(
        switch=Switch.objects.get(),
        name="pod",
        revision=3,
        is_admitted=True,
        first_seen_at=timezone.now(),
        seen_at=timezone.now(),
    )
    gone(watched)

    look()

    assert not Instance.objects.get().is_admitted


def leave(watched: Fleet, *rules: str, **given: int) -> Switch:
    made = switch(cache_now=watched.cache)
    allowing.allow(made, operator(), rules or ("memory",), **{"cooldown_seconds": 3_600, "limit_per_day": 2} | given)
    Switch.objects.update(stepped_at=watched.at - timedelta(hours=1))
    return made


def guarded() -> int:
    guards.watch(timezone.now())
    return Switch.objects.get().percent


def test_a_critical_rule_turns_a_switch_off_and_pages(watched: Fleet, pager: Channel) -> None:
    leave(watched)
    watched.poll(0.95, 0.5)

    assert guarded() == 0

    last, page = Switch.objects.get().changes.first(), Incident.objects.get(reason=Reason.SWITCHED_OFF)
    assert last
    assert (last.by, "Memory" in last.reason) == ("auto-off", True)
    assert (page.severity, page.cache) == ("critical", watched.cache)
    assert Delivery.objects.filter(incident=page, channel=pager, kind="trigger").count() == 1


@pytest.mark.parametrize("memory", [0.5, 0.85])
def test_less_than_critical_does_not(watched: Fleet, memory: float) -> None:
    leave(watched)
    watched.poll(memory, 0.5)

    assert guarded() == 100


def test_another_rule_does_not(watched: Fleet) -> None:
    leave(watched, "other")
    watched.poll(0.95, 0.5)

    assert guarded() == 100


def test_without_leave_nothing_is_turned_off(watched: Fleet) -> None:
    switch(cache_now=watched.cache)
    watched.poll(0.95, 0.5)

    assert guarded() == 100
    assert not AutoOff.objects.exists()


def test_nothing_turns_it_on_again(watched: Fleet) -> None:
    leave(watched)
    watched.poll(0.95, 0.5)
    guarded()
    watched.poll(0.5, 0.5)

    assert [guarded(), guarded()] == [0, 0]


def test_what_fired_when_people_turned_it_on_does_not_turn_it_off(watched: Fleet) -> None:
    made = leave(watched)
    watched.poll(0.95, 0.5)
    Switch.objects.filter(pk=made.pk).update(stepped_at=timezone.now())

    assert guarded() == 100


def test_it_cools_down(watched: Fleet) -> None:
    made = leave(watched, cooldown_seconds=3_600)
    watched.poll(0.95, 0.5)
    guarded()
    changing.turn_on(made, operator(), WHY, None)
    Switch.objects.update(stepped_at=watched.at - timedelta(hours=1))

    assert guarded() == 100


def test_the_page_ends_when_people_turn_it_on(watched: Fleet) -> None:
    made = leave(watched)
    watched.poll(0.95, 0.5)
    guarded()

    changing.turn_on(made, operator(), WHY, None)
    Switch.objects.update(stepped_at=timezone.now() + timedelta(seconds=1))
    guarded()

    page = Incident.objects.get(reason=Reason.SWITCHED_OFF)
    assert (page.is_open, page.end_reason) == (False, Reason.RECOVERED)


def test_alerts_of_a_cache_that_is_switched_off_are_written_down_and_told_to_nobody(watched: Fleet) -> None:
    changing.turn_off(switch(cache_now=watched.cache), operator(), WHY)

    watched.poll(0.95, 0.5)

    alert = Alert.objects.get()
    assert (alert.state, alert.reason, alert.told_at) == ("firing", Reason.SWITCHED_OFF, None)
    assert not Delivery.objects.exists()
    decision = Decision.objects.get()
    assert decision.what == Decision.What.SWITCHED_OFF
    assert "the switch user-cache keeps applications off" in sentence(decision)


def test_they_are_told_once_the_switch_is_on_again(watched: Fleet) -> None:
    made = changing.turn_off(switch(cache_now=watched.cache), operator(), WHY)
    watched.poll(0.95, 0.5)
    changing.turn_on(made, operator(), WHY, None)

    telling.sweep(timezone.now())

    assert Delivery.objects.filter(kind="trigger").count() == 1


def test_a_canary_is_in_service(watched: Fleet) -> None:
    canary(watched)

    watched.poll(0.95, 0.5)

    assert Alert.objects.get().reason == Reason.THRESHOLD
    assert Delivery.objects.filter(kind="trigger").count() == 1


def test_what_people_knew_before_is_still_told_to_be_over(watched: Fleet) -> None:
    watched.poll(0.95, 0.5)
    changing.turn_off(switch(cache_now=watched.cache), operator(), WHY)
    Alert.objects.update(critical_clock=[], warning_clock=[])
    watched.poll(0.5, 0.5)

    assert list(Delivery.objects.order_by("pk").values_list("kind", flat=True)) == ["trigger", "resolve"]


def test_a_switch_that_was_forgotten_is_told_of_once() -> None:
    changing.turn_off(switch(), operator(), WHY)
    Switch.objects.update(stepped_at=timezone.now() - timedelta(days=8))

    guarded()
    guarded()

    told = Incident.objects.get()
    assert "off for a week" in told.title
    incident_acts.close(operator("bob"), told, timezone.now())
    guarded()
    assert Incident.objects.count() == 1


def test_what_was_forgotten_is_over_once_people_turn_it_on() -> None:
    made = changing.turn_off(switch(), operator(), WHY)
    Switch.objects.update(stepped_at=timezone.now() - timedelta(days=8))
    guarded()

    changing.turn_on(made, operator(), WHY, None)
    guarded()
    assert not Incident.objects.open().exists()


def test_the_task_looks_at_everything(watched: Fleet) -> None:
    canary(watched, age=61)

    tasks.watch_switches()

    assert Switch.objects.get().percent == 50
