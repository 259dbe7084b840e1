"""Alerts that fire again and again: seen as such at every period, told once, and ended cleanly."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from alerts import flap
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.decision_words import sentence
from alerts.evaluate import Book
from alerts.judging import Target, Verdict
from alerts.models import Channel, Delivery, Incident
from alerts.route import Route
from alerts.rule import Rule
from alerts.scene import Watched
from alerts.spec import Spec
from alerts.spec_form import read_spec
from alerts.tests.cast import channel
from alerts.tests.judged import EVERY, Fleet, fleet, rule

State = Alert.State
HOLD = 10 * EVERY
PERIODS = (0.2, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5)
TERM = {"metric": "memory_used_ratio", "warning": 0.8, "critical": 0.9}


def spec(hold: int = HOLD, keep: int = 0) -> Spec:
    return read_spec({"rule": "memory", "when": {"all": [TERM]}, "for": f"{hold}s", "keep_firing": f"{keep}s"})


def judged(made: Spec, conditions: Iterable[bool], start: int = 0) -> Iterator[str]:
    """Yield the state after each tick of one target, without a database; "" where there is no alert."""
    known: list[Alert] = []
    cache = Watched(1, "game", {}, "cluster", EVERY)
    for index, is_true in enumerate(conditions):
        book = Book([cache], start + index * EVERY, known)
        book.enter(Rule.of(made, pk=1), Verdict(Target("c1", cache), made, 1 if is_true else 0, (0.85,)))
        known = list({id(alert): alert for alert in (*known, *(change.alert for change in book.changes))}.values())[-1:]
        yield known[0].state if known else ""


def wave(period: float, seconds: int) -> list[bool]:
    """Return a condition that is true for the first half of each period."""
    return [at % period < period / 2 for at in range(0, seconds, EVERY)]


def begins(states: list[str]) -> int:
    """Return how often it began to fire, each of which is a page."""
    firing = [state in {State.FIRING, State.RECOVERING, State.FLAPPING} for state in states]
    return sum(now and not before for before, now in zip([False, *firing], firing, strict=False))


@pytest.mark.parametrize("share", [share for share in PERIODS if share >= 2.5])
def test_a_square_wave_that_fires_flaps_from_its_third_time_on(share: float) -> None:
    states = list(judged(spec(), wave(share * HOLD, 12 * 5 * HOLD)))

    first = states.index(State.FLAPPING)
    assert begins(states[: first + 1]) == flap.TIMES
    assert set(states[first:]) == {State.FLAPPING}


@pytest.mark.parametrize("share", [share for share in PERIODS if share < 2])
def test_a_wave_that_is_never_true_for_long_enough_never_fires(share: float) -> None:
    assert begins(list(judged(spec(), wave(share * HOLD, 20 * HOLD)))) == 0


@pytest.mark.parametrize("share", PERIODS)
@pytest.mark.parametrize("keep", [0, HOLD // 2, HOLD, 3 * HOLD])
def test_no_wave_is_told_more_often_than_it_takes_to_see_that_it_flaps(share: float, keep: int) -> None:
    states = list(judged(spec(keep=keep), wave(share * HOLD, 60 * HOLD)))

    assert begins(states) <= flap.TIMES


@pytest.mark.parametrize("share", PERIODS)
@pytest.mark.parametrize("keep", [0, HOLD, 3 * HOLD])
def test_every_wave_ends_once_it_is_calm(share: float, keep: int) -> None:
    made = spec(keep=keep)
    quiet = [False] * (flap.calm(made) // EVERY + 2)

    states = list(judged(made, [*wave(share * HOLD, 30 * HOLD), *quiet]))

    assert states[-1] in {"", State.RESOLVED}
    assert begins(states[-len(quiet) :]) <= 1


def test_what_comes_back_before_it_is_over_flaps_without_another_page() -> None:
    states = list(judged(spec(hold=0, keep=60), wave(60, 900)))

    assert begins(states) == 1
    assert states[-1] == State.FLAPPING


def test_what_fired_long_ago_does_not_count() -> None:
    made = spec(hold=0)
    apart = [True] + [False] * (flap.window(made) // EVERY)

    assert State.FLAPPING not in list(judged(made, apart * 4))


def test_it_is_over_at_the_end_of_the_calm_and_no_sooner() -> None:
    made = spec(hold=0)
    calm = flap.calm(made) // EVERY

    states = list(judged(made, [*([True, False] * 3), *[False] * (calm + 1)]))

    assert states[4:].count(State.FLAPPING) == calm + 1
    assert states[-1] == State.RESOLVED


def test_what_flapped_a_moment_ago_flaps_at_its_first_return() -> None:
    made = spec(hold=0)
    quiet = [False] * (flap.calm(made) // EVERY + 1)

    states = list(judged(made, [*([True, False] * 3), *quiet, True]))

    assert states[-2:] == [State.RESOLVED, State.FLAPPING]


def test_missing_data_neither_flaps_nor_calms() -> None:
    made = spec(hold=0)
    alert = Alert(state=State.FLAPPING, critical_clock=[], warning_clock=[0, 0, None], firings=[0, 15, 30])
    alert.rule_id, alert.target = 1, "c1"
    cache = Watched(1, "game", {}, "cluster", EVERY)
    book = Book([cache], 10_000, [alert])

    book.enter(Rule.of(made, pk=1), Verdict(Target("c1", cache), made, None, (None,)))

    assert (alert.state, alert.firings) == (State.FLAPPING, [0, 15, 30])


@pytest.mark.parametrize(
    ("hold", "keep", "window", "calm"),
    [
        (0, 0, 1_800, 300),
        (300, 0, 3_600, 900),
        (300, 600, 10_800, 900),
        (300, 3_600, 21_600, 3_600),
        (86_400, 0, 21_600, 21_600),
    ],
)
def test_its_times_follow_the_rule(hold: int, keep: int, window: int, calm: int) -> None:
    assert (flap.window(spec(hold, keep)), flap.calm(spec(hold, keep))) == (window, calm)


@pytest.fixture
def pager(db: None) -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


@pytest.fixture
def watched(pager: Channel, settings: Settings) -> Fleet:
    """A cache of the last hour."""
    settings.ALERT_SKEW_SECONDS = 7_200
    rule()
    made = fleet()
    made.tick = int((timezone.now() - timedelta(hours=1)).timestamp()) // EVERY * EVERY
    return made


def flaps(watched: Fleet, times: int = flap.TIMES) -> None:
    for _ in range(times):
        watched.poll(0.95)
        watched.poll(0.5)


def kinds() -> list[str]:
    rows = Delivery.objects.exclude(state=Delivery.State.SUPERSEDED).order_by("pk")
    return list(rows.values_list("kind", flat=True))


def test_the_third_page_says_that_it_flaps_and_is_the_last(watched: Fleet) -> None:
    flaps(watched, times=7)

    assert kinds() == ["trigger", "resolve", "trigger", "resolve", "trigger"]
    message = Delivery.objects.order_by("-pk")[0].payload
    assert message["title"].endswith(", flapping")
    assert "flaps: it fired 3 times within 1 min" in message["facts"][0]["value"]


def test_the_incident_stays_open_until_it_is_calm_and_then_ends_once(watched: Fleet) -> None:
    flaps(watched)
    assert Incident.objects.open().count() == 1

    for _ in range(flap.SHORTEST_CALM // EVERY):
        watched.poll(0.5)

    assert (Incident.objects.open().count(), kinds().count("resolve")) == (0, 3)


def test_the_record_says_how_often_it_fired(watched: Fleet) -> None:
    flaps(watched)

    decision = Decision.objects.get(what=Decision.What.FLAPPING)
    assert "127.0.0.1:7010 flaps: it fired 3 times within 1 min. It is over once it was calm for 5 min." in sentence(
        decision
    )


def test_firings_survive_between_two_judges(watched: Fleet) -> None:
    flaps(watched, times=2)

    assert len(Alert.objects.get().firings) == 2


def test_what_waits_in_vain_forgets_no_earlier_firing(watched: Fleet) -> None:
    flaps(watched, times=2)
    Rule.objects.all().delete()
    rule(**{"for": "60s"})
    Alert.objects.update(rule=Rule.objects.get())

    watched.poll(0.95)
    watched.poll(0.5)

    assert (len(Alert.objects.get().firings), Alert.objects.get().state) == (2, State.RESOLVED)


def test_other_targets_do_not_count(pager: Channel, settings: Settings) -> None:
    rule()
    other = fleet(shards=3)

    for memory in ((0.95, 0.5, 0.5), (0.5, 0.95, 0.5), (0.5, 0.5, 0.95)):
        other.poll(*memory)

    assert not Alert.objects.filter(state=State.FLAPPING).exists()
