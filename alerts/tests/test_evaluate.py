"""Rules judged on stored samples, tick by tick."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from alerts import evaluate, judged_rules
from alerts.alert import Alert, EvaluationMark
from alerts.reason import Reason
from alerts.rule import Override, Rule
from alerts.tests.judged import EVERY, Fleet, fleet, history, rule, states
from collectors.event import Event, Kind
from collectors.failures import Cause
from collectors.models import NodeStatus
from fleet.models import Node

pytestmark = pytest.mark.django_db


def test_nothing_is_written_while_all_is_well() -> None:
    rule()

    outcome = fleet(shards=3).poll(0.1, 0.2, 0.3)

    assert (outcome.instances, states()) == (3, [])


def test_it_fires_at_once_without_a_for() -> None:
    rule()

    fleet().poll(0.85)

    alert = Alert.objects.get()
    assert (alert.state, alert.severity, alert.reason) == ("firing", "warning", Reason.THRESHOLD)
    assert (alert.value, alert.bound) == pytest.approx((0.85, 0.8))


def test_it_waits_for_its_time() -> None:
    rule(**{"for": "30s"})
    watched = fleet()

    seen = []
    for _ in range(3):
        watched.poll(0.85)
        seen += states()

    assert seen == ["pending", "pending", "firing"]


def test_what_was_only_pending_leaves_nothing_behind() -> None:
    rule(**{"for": "30s"})
    watched = fleet()
    watched.poll(0.85)

    outcome = watched.poll(0.5)

    assert (states(), outcome.changes) == ([], [])


def test_it_resolves_on_evidence_of_health() -> None:
    rule()
    watched = fleet()
    watched.poll(0.85)

    watched.poll(0.5)

    assert history() == [("firing", "warning"), ("resolved", "warning")]
    assert Alert.objects.get().resolved_at == watched.at


def test_it_recovers_for_a_while_before_it_resolves() -> None:
    rule(keep_firing="30s")
    watched = fleet()

    for share in (0.85, 0.5, 0.5, 0.5):
        watched.poll(share)

    assert [state for state, _ in history()] == ["firing", "recovering", "resolved"]


def test_the_value_that_broke_the_bound_stays_while_it_recovers() -> None:
    rule(keep_firing="30s")
    watched = fleet()
    watched.poll(0.85)

    watched.poll(0.1)

    assert Alert.objects.get().value == pytest.approx(0.85)


def test_it_rises_to_critical_and_falls_back_to_warning() -> None:
    rule()
    watched = fleet()

    for share in (0.85, 0.95, 0.85, 0.5):
        watched.poll(share)

    assert history() == [
        ("firing", "warning"),
        ("firing", "critical"),
        ("firing", "warning"),
        ("resolved", "warning"),
    ]


def test_a_target_keeps_its_row_for_the_next_episode() -> None:
    rule()
    watched = fleet()
    for share in (0.85, 0.5):
        watched.poll(share)

    watched.poll(0.95)

    alert = Alert.objects.get()
    assert (alert.state, alert.severity, alert.began_at) == ("firing", "critical", alert.fired_at)
    assert len(history()) == 3


def test_each_node_has_an_alert_of_its_own() -> None:
    rule()

    fleet(shards=3).poll(0.85, 0.5, 0.95)

    assert sorted(Alert.objects.values_list("severity", "node_address")) == [
        ("critical", "127.0.0.1:7030"),
        ("warning", "127.0.0.1:7010"),
    ]


def test_silence_never_resolves() -> None:
    rule()
    watched = fleet()
    watched.poll(0.85)

    for _ in range(8):
        watched.poll(None)

    alert = Alert.objects.get()
    assert (alert.state, alert.reason) == ("firing", Reason.NO_DATA)


def test_silence_may_count_as_true() -> None:
    rule(no_data="alert")
    watched = fleet()
    watched.poll(0.5)

    for _ in range(6):
        watched.poll(None)

    alert = Alert.objects.get()
    assert (alert.state, alert.severity, alert.reason, alert.value) == ("firing", "critical", Reason.NO_DATA, None)


def test_a_slow_answer_is_no_silence() -> None:
    rule(no_data="alert")
    watched = fleet()
    watched.poll(0.5)

    watched.poll(None)

    assert states() == []


def test_a_refused_connection_is_evidence_at_that_poll() -> None:
    rule("down", metric="down", warning=None, critical=0)
    watched = fleet()
    watched.poll(0.5)
    watched.tick += EVERY
    watched.failed(watched.nodes[0], Cause.REFUSED)

    watched.judge()

    assert history() == [("firing", "critical")]


def test_nobody_is_down_when_it_is_we_who_do_not_ask() -> None:
    rule("down", metric="down", warning=None, critical=0)
    watched = fleet()
    watched.poll(0.5)

    watched.tick += 200
    watched.judge()

    assert states() == []


def test_a_node_that_returns_resolves_its_alert() -> None:
    rule("down", metric="down", warning=None, critical=0)
    watched = fleet()
    watched.poll(0.5)
    watched.tick += EVERY
    watched.failed(watched.nodes[0], Cause.REFUSED)
    watched.judge()

    watched.poll(0.5)

    assert history() == [("firing", "critical"), ("resolved", "critical")]


def test_a_node_that_left_ends_its_alert_with_that_reason() -> None:
    rule()
    watched = fleet(shards=2)
    watched.poll(0.85, 0.5)
    Node.objects.filter(pk=watched.nodes[0].pk).update(left_at=timezone.now())

    watched.judge()

    assert (Alert.objects.get().state, Alert.objects.get().reason) == ("resolved", Reason.NODE_LEFT)


def test_a_rule_that_looks_elsewhere_now_ends_its_alerts_with_that_reason() -> None:
    made = rule()
    watched = fleet()
    watched.poll(0.85)
    Rule.objects.filter(pk=made.pk).update(text=made.text | {"where": {"cache": "shop"}})

    watched.judge()

    assert (Alert.objects.get().state, Alert.objects.get().reason) == ("resolved", Reason.RULE_CHANGED)


def test_a_rule_that_cannot_be_read_resolves_nothing() -> None:
    made = rule()
    rule("other", metric="keys")
    watched = fleet()
    watched.poll(0.85)
    Rule.objects.filter(pk=made.pk).update(text={"rule": "memory"})

    watched.poll(0.5)

    assert states() == ["firing"]


def test_a_raised_for_sends_a_firing_alert_back() -> None:
    made = rule()
    watched = fleet()
    watched.poll(0.85)
    Rule.objects.filter(pk=made.pk).update(text=made.text | {"for": "10m"})

    watched.poll(0.85)

    assert states() == ["pending"]


def test_an_older_tick_ends_nothing() -> None:
    rule()
    watched = fleet()
    watched.poll(0.5)
    watched.poll(0.85)

    evaluate.evaluate([watched.cache.pk], watched.tick - EVERY)

    assert states() == ["firing"]


@pytest.mark.parametrize("offset", [3600, -3600])
def test_a_tick_of_a_wrong_clock_judges_nothing(offset: int) -> None:
    rule()
    watched = fleet()
    watched.poll(0.85)

    assert evaluate.evaluate([watched.cache.pk], watched.tick + offset).instances == 0
    assert states() == ["firing"]


def test_it_goes_on_after_the_clock_was_set_back() -> None:
    rule(**{"for": "30s"})
    watched = fleet()
    EvaluationMark.objects.create(
        cache=watched.cache, tick_at=timezone.now() + timedelta(hours=1), judged_at=timezone.now()
    )

    for _ in range(3):
        watched.poll(0.85)

    assert states() == ["firing"]


def test_the_same_tick_twice_changes_nothing_twice() -> None:
    rule(keep_firing="30s")
    watched = fleet()
    watched.poll(0.85)

    assert watched.judge().changes == []
    assert len(history()) == 1


@pytest.mark.parametrize(("kind", "expected"), [(Kind.RESTART, []), (Kind.DEPLOY, ["firing"])])
def test_nothing_begins_soon_after_certain_events(kind: Kind, expected: list[str]) -> None:
    rule(calm={"restart": "5m"})
    watched = fleet()
    Event.objects.create(cache=watched.cache, kind=kind, at=watched.at)

    watched.poll(0.85)

    assert states() == expected


def test_what_fires_already_goes_on_after_such_events() -> None:
    rule(calm={"restart": "5m"})
    watched = fleet()
    watched.poll(0.85)
    Event.objects.create(cache=watched.cache, kind=Kind.RESTART, at=watched.at)

    watched.poll(0.5)

    assert states() == ["resolved"]


def test_what_is_asked_of_replicas_ends_for_a_node_that_was_promoted() -> None:
    rule(role="replica")
    watched = fleet(replicas=1)
    watched.poll(0.5, 0.85)
    assert states() == ["firing"]
    Node.objects.filter(cache=watched.cache, role="replica").update(role="primary")

    watched.poll(0.5, 0.85)

    assert (states(), Alert.objects.get().reason) == (["resolved"], Reason.RULE_CHANGED)


def test_what_waits_begins_to_wait_anew_after_such_events() -> None:
    rule(calm={"restart": "30s"}, **{"for": "30s"})
    watched = fleet()
    watched.poll(0.85)
    Event.objects.create(cache=watched.cache, kind=Kind.RESTART, at=watched.at)

    # Nothing begins until 30 s after the restart, and only then does the rule's own time.
    assert [states_after(watched, 0.85) for _ in range(4)] == [[], ["pending"], ["pending"], ["firing"]]


def test_the_worse_level_begins_after_them_too() -> None:
    rule(calm={"restart": "30s"})
    watched = fleet()
    watched.poll(0.85)
    Event.objects.create(cache=watched.cache, kind=Kind.RESTART, at=watched.at)

    watched.poll(0.95)
    assert Alert.objects.get().severity == "warning"

    watched.poll(0.95)
    assert Alert.objects.get().severity == "critical"


def states_after(watched: Fleet, *memory: float | None) -> list[str]:
    watched.poll(*memory)
    return states()


@pytest.mark.parametrize(
    ("judged", "across", "expected"),
    [("shard", "max", 2), ("cache", "max", 1), ("cache", "min", 0), ("cache", "avg", 0), ("spread", "max", 1)],
)
def test_it_judges_what_the_rule_names(judged: str, across: str, expected: int) -> None:
    rule(judged=judged, across=across)

    fleet(shards=3).poll(0.85, 0.95, 0.1)

    assert Alert.objects.count() == expected


def test_it_judges_the_spread_between_nodes() -> None:
    rule(judged="spread", warning=0.2, critical=0.5)

    fleet(shards=3).poll(0.5, 0.1, 0.3)

    assert Alert.objects.get().value == pytest.approx(0.4)


def test_one_node_alone_has_no_spread() -> None:
    rule(judged="spread", warning=0.0, critical=0.5)

    fleet(shards=2).poll(0.9, None)

    assert states() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"where": {"role": "replica"}}, ["127.0.0.1:7011"]),
        ({"where": {"shard": 2}}, []),
        ({"where": {"cache": "shop"}}, []),
        ({"gates": ["replicated"]}, ["127.0.0.1:7010", "127.0.0.1:7011"]),
        ({"gates": ["cluster"]}, []),
    ],
)
def test_it_looks_where_the_rule_says(changes: dict[str, Any], expected: list[str]) -> None:
    rule(**changes)

    fleet(replicas=1).poll(0.85, 0.85)

    assert sorted(Alert.objects.values_list("node_address", flat=True)) == expected


def test_a_paused_cache_is_not_judged() -> None:
    rule()
    watched = fleet()
    watched.cache.is_paused = True
    watched.cache.save()

    assert watched.poll(0.95).instances == 0


def test_a_disabled_rule_is_not_judged() -> None:
    made = rule()
    Rule.objects.filter(pk=made.pk).update(is_enabled=False)

    assert fleet().poll(0.95).instances == 0


def test_it_tells_which_rules_found_something_to_judge() -> None:
    made = rule()
    rule("hits", metric="hit_ratio")

    assert fleet().poll(0.5).matched == {made.pk}


def test_two_caches_do_not_mix() -> None:
    rule()
    first, second = fleet(name="game"), fleet(name="shop")
    first.poll(0.95, judge=False)
    second.poll(0.5, judge=False)

    evaluate.evaluate([first.cache.pk, second.cache.pk], first.tick)

    assert Alert.objects.get().cache_name == "game"


class TestOverrides:
    """The default, a label set, a cache, a node: the narrowest that says something counts."""

    @pytest.fixture
    def watched(self) -> Fleet:
        made = fleet(shards=2)
        made.cache.labels = {"env": "prod"}
        made.cache.save()
        return made

    def test_a_label_set_changes_a_bound(self, watched: Fleet) -> None:
        Override.objects.create(rule=rule(), labels={"env": "prod"}, bounds={"0": {"warning": 0.6}})

        watched.poll(0.7, 0.5)

        assert (Alert.objects.get().bound, Alert.objects.get().severity) == (0.6, "warning")

    def test_other_labels_change_nothing(self, watched: Fleet) -> None:
        Override.objects.create(rule=rule(), labels={"env": "dev"}, bounds={"0": {"warning": 0.6}})

        watched.poll(0.7, 0.5)

        assert states() == []

    def test_the_cache_goes_over_its_labels_and_the_node_over_its_cache(self, watched: Fleet) -> None:
        made = rule()
        Override.objects.create(rule=made, node=watched.nodes[0], bounds={"0": {"warning": 0.85}})
        Override.objects.create(rule=made, cache=watched.cache, bounds={"0": {"warning": 0.7}})
        Override.objects.create(rule=made, labels={"env": "prod"}, bounds={"0": {"warning": 0.6}}, hold=0)

        watched.poll(0.75, 0.75)

        assert Alert.objects.get().node == watched.nodes[1]

    def test_a_wider_one_still_counts_for_what_narrower_ones_leave_open(self, watched: Fleet) -> None:
        made = rule()
        Override.objects.create(rule=made, labels={"env": "prod"}, hold=600)
        Override.objects.create(rule=made, cache=watched.cache, bounds={"0": {"warning": 0.7}})

        watched.poll(0.75, 0.5)

        assert states() == ["pending"]

    def test_a_level_can_be_taken_away(self, watched: Fleet) -> None:
        Override.objects.create(rule=rule(), cache=watched.cache, bounds={"0": {"critical": None}})

        watched.poll(0.95, 0.5)

        assert Alert.objects.get().severity == "warning"

    def test_a_rule_can_be_turned_off_for_one_node(self, watched: Fleet) -> None:
        Override.objects.create(rule=rule(), node=watched.nodes[0], is_enabled=False)

        watched.poll(0.95, 0.95)

        assert Alert.objects.get().node == watched.nodes[1]


def test_it_notes_when_a_rule_could_be_judged_and_on_how_many_targets() -> None:
    known = rule()
    dead = rule("dead", metric="maxclients")
    watched = fleet(shards=3)

    watched.poll(0.1, 0.2, 0.3)

    known.refresh_from_db()
    dead.refresh_from_db()
    judged = judged_rules.current(timezone.now())
    assert (known.matched_at, dead.matched_at) == (watched.at, None)
    assert (judged.by_rule, judged.instances, judged.caches) == ({known.pk: 3}, 3, 1)


def test_it_notes_that_at_most_once_a_minute() -> None:
    known = rule()
    watched = fleet()
    watched.poll(0.1)
    first = watched.at

    watched.poll(0.1)
    known.refresh_from_db()
    soon = known.matched_at
    for _ in range(3):
        watched.poll(0.1)

    known.refresh_from_db()
    assert (soon, known.matched_at) == (first, watched.at)


def test_counts_of_long_ago_are_not_current() -> None:
    rule()
    fleet().poll(0.1)

    judged = judged_rules.current(timezone.now() + timedelta(hours=1))

    assert (judged.instances, judged.caches) == (0, 0)


def down_rule(**changes: Any) -> None:
    rule("down", metric="down", warning=None, critical=0, **changes)


def test_silence_waits_no_longer_than_it_takes_to_be_evidence() -> None:
    down_rule(**{"for": "1s"})
    watched = fleet()
    watched.poll(0.5)

    found = [bool(watched.poll(None).changes) for _ in range(4)]

    # Four polls of 15 s: known at the last one, and true since the first.
    assert found == [False, False, False, True]
    assert states() == [Alert.State.FIRING]


def test_a_refused_connection_waits_for_the_second_poll() -> None:
    down_rule(**{"for": "1s"})
    watched = fleet()
    watched.poll(0.5)

    for expected in (Alert.State.PENDING, Alert.State.FIRING):
        watched.tick += EVERY
        watched.failed(watched.nodes[0], Cause.REFUSED)
        watched.judge()
        assert states() == [expected]


def test_outcomes_that_are_written_late_count_for_their_poll() -> None:
    down_rule()
    watched = fleet()
    watched.poll(0.5)
    NodeStatus.objects.update(answered_at=watched.at + timedelta(seconds=4))

    for _ in range(3):
        watched.poll(None)
    assert states() == []
    watched.poll(None)

    assert states() == [Alert.State.FIRING]


def test_a_whole_cache_is_down_since_its_last_node_is() -> None:
    rule("all", metric="down", warning=None, critical=0, across="min", judged="cache", **{"for": "1m"})
    watched = fleet(shards=2)
    watched.poll(0.5, 0.5)
    watched.poll(None, 0.5)
    for _ in range(4):
        watched.poll(None, None)

    assert states() == [Alert.State.PENDING]
    watched.poll(None, None)
    assert states() == [Alert.State.FIRING]


def together(fleets: list[Fleet], *memory: float) -> evaluate.Outcome:
    """Let fleets report and be judged as one landing of their poller."""
    for one, share in zip(fleets, memory, strict=True):
        one.poll(share, judge=False)
    return evaluate.evaluate([one.cache.pk for one in fleets], fleets[0].tick)


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> list[Fleet]:
    """Four caches, of whose changes no more than two are written at once."""
    monkeypatch.setattr(evaluate, "CHANGES_AT_ONCE", 2)
    rule()
    return [fleet(name=f"cache-{number}") for number in range(4)]


def test_very_many_changes_are_written_in_parts_critical_ones_first(crowd: list[Fleet]) -> None:
    outcome = together(crowd, 0.85, 0.85, 0.95, 0.95)

    assert (outcome.instances, len(outcome.changes)) == (4, 4)
    assert list(Alert.objects.order_by("pk").values_list("cache_name", flat=True)) == [
        "cache-2",
        "cache-3",
        "cache-0",
        "cache-1",
    ]


def test_parts_are_transactions_of_their_own(crowd: list[Fleet]) -> None:
    together(crowd, 0.85, 0.85, 0.95, 0.95)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT xmin::text) FROM alerts_alert")
        (written,) = cursor.fetchone()
    assert written == 2


def test_each_part_moves_the_marks_of_its_caches(crowd: list[Fleet]) -> None:
    together(crowd, 0.85, 0.85, 0.95, 0.95)

    assert set(EvaluationMark.objects.values_list("tick_at", flat=True)) == {crowd[0].at}
    assert together_again(crowd).instances == 0


def together_again(fleets: list[Fleet]) -> evaluate.Outcome:
    return evaluate.evaluate([one.cache.pk for one in fleets], fleets[0].tick - EVERY)


def test_one_cache_is_never_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "CHANGES_AT_ONCE", 2)
    rule()

    outcome = fleet(shards=3).poll(0.95, 0.95, 0.95)

    assert len(outcome.changes) == 3


def test_caches_without_changes_come_last(crowd: list[Fleet]) -> None:
    outcome = together(crowd, 0.5, 0.95, 0.95, 0.95)

    assert (outcome.instances, len(outcome.changes)) == (4, 3)
    assert EvaluationMark.objects.count() == 4
