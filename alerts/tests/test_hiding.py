"""Alerts that stand for others: one message for one cause, and nothing lost when the cause ends."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from alerts import pack, telling
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.decision_words import sentence
from alerts.models import Channel, Delivery, Incident
from alerts.route import Route
from alerts.rule import Rule
from alerts.silence import Silence
from alerts.tests.cast import channel
from alerts.tests.judged import EVERY, Fleet, fleet, rule
from fleet.models import Node

pytestmark = pytest.mark.django_db
What = Decision.What


@pytest.fixture(autouse=True)
def pager(db: None) -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


def wide(**changes: Any) -> Rule:
    """Keep a rule on the mean of a cache's nodes that stands for what is wrong with each."""
    given = {"judged": "cache", "across": "avg", "warning": 0.7, "critical": 0.8, "hides": ["cache"]}
    return rule("whole", **given | changes)


@pytest.fixture
def watched() -> Fleet:
    """A cache of two nodes, with a rule for each and one for both."""
    rule()
    wide()
    return fleet(shards=2)


def titles(kind: str = "trigger") -> list[str]:
    return [row.payload["title"] for row in Delivery.objects.filter(kind=kind).order_by("pk")]


def kept_back() -> dict[str, str]:
    return dict(Alert.objects.order_by("pk").values_list("target", "kept_back"))


def swept(watched: Fleet, seconds: int = 0) -> datetime:
    at = watched.at + timedelta(seconds=seconds)
    telling.sweep(at)
    return at


def test_one_cause_is_one_message(watched: Fleet) -> None:
    watched.poll(0.95, 0.95)

    assert titles() == ["game: Whole: 95% (bound 80%)"]
    assert Alert.objects.filter(kept_back=What.HIDDEN).count() == 2


def test_the_record_says_behind_what_it_is_hidden(watched: Fleet) -> None:
    watched.poll(0.95, 0.5)
    watched.poll(0.95, 0.95)

    decision = Decision.objects.filter(what=What.HIDDEN).latest("pk")
    assert "127.0.0.1:7010 by itself: people hear of “game: Whole: 7" in sentence(decision)


def test_the_message_counts_what_it_stands_for(watched: Fleet) -> None:
    watched.poll(0.95, 0.95)

    facts = {fact["name"]: fact["value"] for fact in Delivery.objects.get().payload["facts"]}
    assert facts["Not told by themselves"] == "2 alerts: Memory"


def test_what_still_fires_is_told_when_the_cause_has_ended(watched: Fleet) -> None:
    watched.poll(0.95, 0.95)
    watched.poll(0.95, 0.2)
    watched.poll(0.95, 0.2)

    swept(watched)

    assert len(titles("resolve")) == 1
    assert titles()[1:] == ["game: Memory: shard 1, 127.0.0.1:7010 95% (bound 90%)"]


def test_it_is_judged_once_more_before_it_is_told(watched: Fleet) -> None:
    watched.poll(0.95, 0.95)
    watched.poll(0.95, 0.2)

    swept(watched)

    assert len(titles()) == 1


def test_but_not_waited_for_longer_than_two_minutes(watched: Fleet) -> None:
    watched.poll(0.95, 0.95)
    watched.poll(0.95, 0.2)

    swept(watched, seconds=121)

    assert len(titles()) == 2


def test_what_ended_with_its_cause_is_told_to_nobody(watched: Fleet) -> None:
    watched.poll(0.95, 0.95)
    watched.poll(0.2, 0.2)
    watched.poll(0.2, 0.2)

    swept(watched)

    assert (len(titles()), len(titles("resolve")), Incident.objects.open().count()) == (1, 1, 0)


def test_what_recovers_when_its_cause_ends_is_not_told(watched: Fleet) -> None:
    Rule.objects.get(key="memory").delete()
    rule(keep_firing="60s")
    watched.poll(0.95, 0.95)
    watched.poll(0.2, 0.2)
    watched.poll(0.2, 0.2)

    swept(watched)

    assert len(titles()) == 1


def test_what_was_told_before_its_cause_is_still_told_to_be_over(watched: Fleet) -> None:
    watched.poll(0.95, 0.2)
    watched.poll(0.95, 0.95)
    assert titles() == ["game: Memory: shard 1, 127.0.0.1:7010 95% (bound 90%)", "game: Whole: 95% (bound 80%)"]

    watched.poll(0.2, 0.2)

    assert len(titles("resolve")) == 2


def test_a_milder_cause_hides_nothing_worse() -> None:
    rule()
    wide(warning=0.6, critical=0.99)

    fleet(shards=2).poll(0.95, 0.95)

    assert len(titles()) == 2


def test_a_silenced_cause_hides_nothing(watched: Fleet) -> None:
    now = timezone.now()
    Silence.objects.create(
        matchers=["rule=whole"],
        author="ann",
        comment="x",
        starts_at=now - timedelta(hours=1),
        ends_at=now + timedelta(hours=1),
    )

    watched.poll(0.95, 0.95)

    assert titles() == ["game: Memory (2 alerts)"]


def test_a_cause_that_is_told_elsewhere_hides_nothing(watched: Fleet) -> None:
    aside = Route.objects.create(parent=Route.objects.get(), name="aside", matchers=["rule=whole"])
    aside.channels.add(channel("other"))

    watched.poll(0.95, 0.95)

    assert len(titles()) == 2


def test_a_cause_whose_incident_was_closed_by_hand_hides_nothing_new(watched: Fleet) -> None:
    watched.poll(0.95, 0.5)
    Incident.objects.filter(title__contains="Whole").update(closed_at=watched.at)
    Incident.objects.filter(title__contains="Memory").update(closed_at=watched.at)

    watched.poll(0.95, 0.95)

    assert titles()[-1] == "game: Memory: shard 2, 127.0.0.1:7020 95% (bound 90%)"


def test_two_that_could_hide_each_other_do_not() -> None:
    wide()
    rule("other", judged="cache", across="max", warning=0.7, critical=0.8, hides=["cache"])

    fleet(shards=2).poll(0.95, 0.95)

    assert len(titles()) == 1


def test_a_label_that_is_missing_is_not_shared() -> None:
    rule()
    wide(hides=["zone"])

    fleet(shards=2).poll(0.95, 0.95)

    assert len(titles()) == 2


def test_a_label_of_the_caches_joins_several() -> None:
    rule()
    wide(hides=["zone"], where={"cache": "game"})
    for name in ("game", "shop"):
        one = fleet(shards=2, name=name)
        one.cache.labels = {"zone": "b"}
        one.cache.save()
        one.poll(0.95, 0.95)

    assert len(titles()) == 1
    assert Alert.objects.filter(kept_back=What.HIDDEN, cache_name="shop").count() == 2


def test_a_restart_of_ours_forgets_no_cause(watched: Fleet) -> None:
    watched.poll(0.95, 0.2)
    watched.poll(0.95, 0.95)
    before = len(titles())

    # Everything that is known is in the database: a new process reads it from there.
    telling.sweep(watched.at + timedelta(seconds=EVERY))

    assert len(titles()) == before


def test_a_dead_cache_of_one_node_is_told_once() -> None:
    pack.install()
    watched = fleet(shards=1)
    watched.poll(0.5)
    for _ in range(7):
        watched.poll(None)

    assert titles() == ["game: Whole cache down"]
    assert kept_back() == {f"n{Node.objects.get().pk}": What.HIDDEN, f"c{watched.cache.pk}": ""}


@pytest.mark.parametrize("hidden", [True, False])
def test_what_it_costs_does_not_grow_with_what_is_hidden(hidden: bool) -> None:
    rule("down", metric="keys", warning=1, critical=5, hides=["cache", "node"] if hidden else [])
    rule()

    def queries(name: str, shards: int) -> int:
        watched = fleet(shards=shards, name=name)
        watched.tick += EVERY
        watched.report({node: {"memory": 0.95, "keys": 9} for node in watched.nodes})
        with CaptureQueriesContext(connection) as captured:
            watched.judge()
        return len(captured)

    # The first one fills what is kept in memory.
    queries("warm", 1)
    assert abs(queries("few", 3) - queries("many", 15)) <= 4
