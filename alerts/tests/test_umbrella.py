"""One message for many: nothing answers us any more, one rule opens incident after incident, one group is large."""

from datetime import timedelta

import pytest

from alerts import telling, umbrella
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.decision_words import sentence
from alerts.models import Channel, Delivery, Incident, Reason
from alerts.route import Route
from alerts.rule import Rule
from alerts.tests.cast import channel
from alerts.tests.judged import EVERY, Fleet, fleet, rule
from collectors.causes import Cause
from collectors.models import NodeStatus
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db
What = Decision.What
OUTAGE = "No cache answers Shardwatch any more"


@pytest.fixture(autouse=True)
def pager(db: None) -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


@pytest.fixture
def watched() -> list[Fleet]:
    """Three caches of one node each that answer, and a rule on nodes that do not."""
    rule("down", metric="down", warning=None, critical=0)
    return answering("game", "shop", "mail")


def answering(*names: str) -> list[Fleet]:
    made = [fleet(name=name) for name in names]
    for one in made:
        one.poll(0.5)
    return made


def refusing(fleets: list[Fleet], polls: int = 1) -> None:
    """Let all nodes refuse, and judge each cache afterwards."""
    for _ in range(polls):
        for one in fleets:
            one.tick += EVERY
            for node in one.nodes:
                one.failed(node, Cause.REFUSED)
        for one in fleets:
            one.judge()


def titles(kind: str = "trigger") -> list[str]:
    return [row.payload["title"] for row in Delivery.objects.filter(kind=kind).order_by("pk")]


def swept(watched: Fleet, seconds: int = 0) -> None:
    telling.sweep(watched.at + timedelta(seconds=seconds))


def test_that_nothing_answers_is_one_message(watched: list[Fleet]) -> None:
    refusing(watched)

    assert titles() == [OUTAGE]
    assert Alert.objects.filter(state="firing", kept_back=What.HIDDEN).count() == 3


def test_the_record_says_so_at_both_ends(watched: list[Fleet]) -> None:
    refusing(watched)

    assert [sentence(row) for row in Decision.objects.filter(what=What.OUTAGE)] == [
        "None of the 3 nodes that were asked answered."
    ]
    assert sentence(Decision.objects.filter(what=What.HIDDEN)[0]) == (
        f"Not told of shard 1, 127.0.0.1:7010 by itself: people hear of “{OUTAGE}”, which includes it."
    )


def test_where_one_still_answers_the_others_are_told(watched: list[Fleet]) -> None:
    refusing(watched[:2])

    assert len(titles()) == 2
    assert OUTAGE not in titles()


def test_two_caches_may_well_be_down() -> None:
    rule("down", metric="down", warning=None, critical=0)

    refusing(answering("game", "shop"))

    assert OUTAGE not in titles()


def test_what_is_still_down_when_one_answers_again_is_told(watched: list[Fleet]) -> None:
    refusing(watched)
    back, *down = watched
    for one in watched:
        one.tick += 60
    back.poll(0.5)
    swept(back)
    assert Incident.objects.get(subject=umbrella.OUTAGE).end_reason == Reason.RECOVERED

    refusing(down, polls=2)
    swept(down[0])

    assert sorted(titles()) == sorted(
        [OUTAGE, *(f"{name}: Down: shard 1, 127.0.0.1:7010" for name in ("shop", "mail"))]
    )


def test_it_is_not_told_before_it_was_judged_again(watched: list[Fleet]) -> None:
    refusing(watched)
    for one in watched:
        one.tick += 60
    watched[0].poll(0.5)

    swept(watched[0])
    swept(watched[0], seconds=10)

    assert titles() == [OUTAGE]


def test_an_outage_that_ends_for_all_ends_with_one_message(watched: list[Fleet]) -> None:
    refusing(watched)
    for one in watched:
        one.tick += 60
        one.poll(0.5)

    swept(watched[0])

    assert (titles(), titles("resolve")) == ([OUTAGE], [OUTAGE])
    assert not Incident.objects.open().exists()


def test_a_poller_that_does_not_ask_ends_nothing(watched: list[Fleet]) -> None:
    refusing(watched)

    swept(watched[0], seconds=600)

    assert Incident.objects.get(subject=umbrella.OUTAGE).is_open


def test_everybody_hears_of_it_who_would_hear_of_what_it_hides(watched: list[Fleet]) -> None:
    aside = Route.objects.create(parent=Route.objects.get(), name="aside", matchers=["cache=mail"])
    aside.channels.add(channel("other"))

    refusing(watched)

    assert set(Delivery.objects.values_list("channel__name", flat=True)) == {"pager", "other"}
    assert titles() == [OUTAGE, OUTAGE]


def test_what_was_told_before_is_still_told_to_be_over(watched: list[Fleet]) -> None:
    refusing(watched[:1])
    refusing(watched[1:])
    watched[0].poll(0.5)

    assert len(titles("resolve")) == 1


def test_sight_leaves_out_what_was_not_asked(watched: list[Fleet]) -> None:
    at = watched[0].at
    assert umbrella.sight(at) == umbrella.Sight(nodes=3, caches=3, answering=3)

    Cache.objects.filter(name="game").update(is_paused=True)
    Node.objects.filter(cache__name="shop").update(left_at=at)
    NodeStatus.objects.filter(node__cache__name="mail").update(attempted_at=at - umbrella.ASKED)

    assert umbrella.sight(at) == umbrella.Sight(nodes=0, caches=0, answering=0)
    assert not umbrella.sight(at).is_blind


@pytest.fixture
def stormy(monkeypatch: pytest.MonkeyPatch) -> list[Fleet]:
    """Six caches, where three incidents a minute are a storm that is over once one is left."""
    monkeypatch.setattr(umbrella, "STORM_INCIDENTS", 3)
    monkeypatch.setattr(umbrella, "STORM_REST", 1)
    rule()
    return answering(*(f"cache-{number}" for number in range(6)))


def bad(fleets: list[Fleet], memory: float = 0.95) -> None:
    for one in fleets:
        one.poll(memory)


STORM = "Memory: many at once"


def test_the_first_are_told_at_once_and_the_others_together(stormy: list[Fleet]) -> None:
    bad(stormy)

    assert [title.split(":")[0] for title in titles()] == ["cache-0", "cache-1", "cache-2", "Memory"]
    assert Alert.objects.filter(state="firing").count() == 6
    assert Alert.objects.filter(kept_back=What.STORM, behind__subject="shardwatch:storm:memory").count() == 3


def test_the_record_says_what_a_storm_did(stormy: list[Fleet]) -> None:
    bad(stormy)

    told = [sentence(row) for row in Decision.objects.filter(what=What.STORM)]
    assert "More than 3 incidents of “Memory” within a minute: further ones are told here." in told
    assert f"Not told of shard 1, 127.0.0.1:7010 by itself, but with many others: “{STORM}”." in told


def test_news_of_a_storm_count_what_is_behind_it(stormy: list[Fleet]) -> None:
    bad(stormy)

    swept(stormy[-1], seconds=61)

    (message,) = [row.payload for row in Delivery.objects.filter(kind="update")]
    assert message["title"] == f"{STORM}, 3 more alerts"
    assert message["facts"] == [{"name": "Caches", "value": "3: cache-3, cache-4, cache-5"}]


def test_a_storm_of_a_rule_with_a_long_title_is_not_news_at_every_look(stormy: list[Fleet]) -> None:
    for one in Rule.objects.all():
        one.text["title"] = "Memory " * 100
        one.save()
    bad(stormy)

    for seconds in (61, 122, 183):
        swept(stormy[-1], seconds=seconds)

    assert Delivery.objects.filter(kind="update").count() == 0


def test_nothing_new_of_a_storm_is_told_twice(stormy: list[Fleet]) -> None:
    bad(stormy)

    for seconds in (61, 122, 183):
        swept(stormy[-1], seconds=seconds)

    assert len(titles("update")) == 1


def test_another_rule_pages_in_the_middle_of_a_storm(stormy: list[Fleet]) -> None:
    bad(stormy)
    rule("other", warning=0.1, critical=0.2)

    bad(stormy[5:])

    assert titles()[-1] == "cache-5: Other: shard 1, 127.0.0.1:7010 95% (bound 20%)"


def test_what_is_left_of_a_storm_is_told_by_itself(stormy: list[Fleet]) -> None:
    bad(stormy)
    bad(stormy[:5], 0.5)
    last = stormy[5]
    last.tick += 60
    last.poll(0.95)

    swept(last, seconds=10)
    last.poll(0.95)
    last.poll(0.95)
    swept(last)

    assert not umbrella.all_open().exists()
    assert titles()[-1] == "cache-5: Memory: shard 1, 127.0.0.1:7010 95% (bound 90%)"


def test_a_storm_that_is_over_ends_with_one_message(stormy: list[Fleet]) -> None:
    bad(stormy)
    bad(stormy, 0.5)

    swept(stormy[0], seconds=61)

    assert (titles("resolve")[-1], Incident.objects.open().count()) == (STORM, 0)
    assert len(titles("resolve")) == 4


def test_incidents_that_come_slowly_are_no_storm(stormy: list[Fleet]) -> None:
    for one in stormy:
        one.poll(0.95)
        Incident.objects.filter(cache=one.cache).update(opened_at=one.at - timedelta(seconds=61))

    assert (len(titles()), umbrella.all_open().count()) == (6, 0)


def test_two_judges_open_one_storm(stormy: list[Fleet]) -> None:
    bad(stormy)
    again = umbrella.open_storm(None, "memory", stormy[0].at, ())

    assert [row.pk for row in umbrella.all_open()] == [again.pk]


def test_a_large_group_is_one_message_with_its_count() -> None:
    rule()
    large = fleet(shards=300)

    large.poll(*[0.95] * 150, *[0.85] * 150)

    (message,) = [row.payload for row in Delivery.objects.all()]
    assert (message["title"], message["severity"]) == ("game: Memory (300 alerts)", "critical")
    assert [fact["name"] for fact in message["facts"]][-1] == "And more"
    assert message["facts"][-1]["value"] == "280 alerts"
    assert Alert.objects.filter(state="firing", told_at=large.at).count() == 300
