"""Canaries with real rules, polls and messages: they go up by themselves, and are rolled back by themselves."""

from datetime import timedelta

import pytest
from django.utils import timezone

from alerts.alert import Alert
from alerts.models import Channel, Delivery, EvaluationMark, Incident, Reason
from alerts.rule import Rule
from alerts.silence import Silence
from alerts.tests.guarded import aged, canary, gone, look, why
from alerts.tests.guarded import pager as pager
from alerts.tests.guarded import watched as watched
from alerts.tests.judged import Fleet, fleet, rule
from fleet.models import Cache
from switches import changing, run_book_steps
from switches.models import Instance, RunBook, Switch
from switches.tests.cast import WHY, operator

pytestmark = pytest.mark.django_db
Step = RunBook.Step


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
    titles = Incident.objects.get(reason=Reason.SWITCHED_OFF).titles
    assert "のアラート「メモリ」が発報中です" in titles["ja"]


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
