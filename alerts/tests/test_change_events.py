"""Change events at PagerDuty: each event of the kinds that a channel wants, once and in order."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from alerts import change_events, tasks
from alerts.channels.pagerduty import PagerDutyForm
from alerts.models import Channel
from alerts.tests.cast import KEY, channel
from alerts.tests.peers import Service, in_turn, says
from collectors.event import Event, Kind
from collectors.tests.cast import cache_with_nodes
from config.celery import app
from switches import changing
from switches.changing import Why
from switches.tests.cast import WHY, operator, switch

pytestmark = pytest.mark.django_db
ACCEPTS = says(202, {"status": "success"})


def happened(title: str = "release 42", kind: str = Kind.DEPLOY, ago: float = 60, **given: Any) -> Event:
    at = timezone.now() - timedelta(seconds=ago)
    return Event.objects.create(kind=kind, title=title, at=at, source=Event.Source.API, **given)


@pytest.fixture
def pager(pagerduty: Service) -> Channel:
    """A channel that wants deploys, and has looked once."""
    made = channel(routing_key=KEY, changes=["deploy"])
    tell()
    return made


def tell() -> int:
    return change_events.tell(timezone.now())


def summaries(pagerduty: Service) -> list[str]:
    return [event.json["payload"]["summary"] for event in pagerduty.seen]


def test_an_event_is_told_as_a_change(pager: Channel, pagerduty: Service, settings: Settings) -> None:
    settings.PUBLIC_URL = "https://watch.example.org"
    event = happened(cache=cache_with_nodes(), author="ci", url="https://ci.example.org/42")

    tell()

    (seen,) = pagerduty.seen
    assert (seen.path, seen.json["routing_key"]) == ("/v2/change/enqueue", KEY)
    assert seen.json["payload"]["summary"] == "game: release 42"
    assert seen.json["payload"]["custom_details"] == {"kind": "deploy", "by": "ci"}
    assert [one["href"] for one in seen.json["links"]] == [
        f"https://watch.example.org{event.get_absolute_url()}",
        "https://ci.example.org/42",
    ]


def test_each_is_told_once_and_in_order(pager: Channel, pagerduty: Service) -> None:
    happened("one")
    happened("two")

    assert [tell(), tell()] == [2, 0]
    assert summaries(pagerduty) == ["one", "two"]


def test_only_the_kinds_that_are_wanted(pager: Channel, pagerduty: Service) -> None:
    happened("a restart", Kind.RESTART)

    assert tell() == 0
    assert not pagerduty.seen


def test_what_is_part_of_a_story_is_told_with_it(pager: Channel, pagerduty: Service) -> None:
    happened("a part", story=happened("the story"))

    tell()

    assert summaries(pagerduty) == ["the story"]


def test_what_was_before_is_not_told(pagerduty: Service) -> None:
    happened("long ago")
    channel(routing_key=KEY, changes=["deploy"])

    tell()
    tell()

    assert not pagerduty.seen


def test_a_channel_that_wants_none_is_left_alone(pagerduty: Service) -> None:
    channel()
    happened()

    tell()

    assert not pagerduty.seen
    assert Channel.objects.get().changes_told is None


def test_what_happened_just_now_waits_for_others_that_began_before(pager: Channel, pagerduty: Service) -> None:
    happened(ago=2)

    assert tell() == 0


def test_what_is_planned_is_told_at_once(pager: Channel, pagerduty: Service) -> None:
    happened("tomorrow", ago=-86_400)

    assert tell() == 1


@pytest.mark.parametrize("script", [says(429), says(503), says(500)], ids=["busy", "away", "fails"])
def test_nothing_is_lost_while_the_service_is_away(pager: Channel, pagerduty: Service, script: Any) -> None:
    happened("one")
    pagerduty.script = in_turn(script, ACCEPTS)

    assert [tell(), tell()] == [0, 1]


def test_one_that_is_refused_does_not_hold_up_the_others(pager: Channel, pagerduty: Service) -> None:
    happened("odd")
    happened("even")
    pagerduty.script = in_turn(says(400), ACCEPTS)

    assert tell() == 1
    assert tell() == 0


def test_a_broken_channel_is_not_tried(pager: Channel, pagerduty: Service) -> None:
    Channel.objects.update(broken_at=timezone.now())
    happened()

    assert tell() == 0


def test_labels_stand_for_the_caches_of_a_note(pager: Channel, pagerduty: Service) -> None:
    happened(labels={"env": "live"})

    tell()

    assert pagerduty.seen[0].json["payload"]["source"] == "env=live"


@pytest.fixture
def for_switches(pagerduty: Service) -> Channel:
    """A channel that wants changes of switches, and has looked once."""
    made = channel(routing_key=KEY, changes=["switch", "deploy"])
    tell()
    return made


def tell_later() -> int:
    return change_events.tell(timezone.now() + timedelta(seconds=11))


def test_a_switch_says_what_was_done_and_why(for_switches: Channel, pagerduty: Service) -> None:
    made = switch(cache_now=cache_with_nodes())
    changing.turn_off(made, operator(), Why("the cache is sick", "OPS-7"))

    tell_later()

    assert summaries(pagerduty) == [
        "game: switch user-cache: created: new",
        "game: switch user-cache: off, 0%: the cache is sick",
    ]
    assert pagerduty.seen[1].json["payload"]["custom_details"] == {"kind": "switch", "by": "ann", "ticket": "OPS-7"}


def test_a_switch_without_a_cache_is_told_too(for_switches: Channel, pagerduty: Service) -> None:
    made = switch()
    made = changing.edit(made, operator(), {"ttl_seconds": 9, "note": "x"}, Why("calmer"), made.revision)
    changing.retire(made, operator(), Why("gone"), made.revision)

    tell_later()

    assert summaries(pagerduty) == [
        "switch user-cache: created: new",
        "switch user-cache: edited, note, ttl_seconds: calmer",
        "switch user-cache: retired: gone",
    ]


def test_a_switch_that_points_elsewhere_says_where(for_switches: Channel, pagerduty: Service) -> None:
    made = switch(cache_now=cache_with_nodes(), cache_next=cache_with_nodes(name="shop"))
    made = changing.turn_off(made, operator(), WHY)
    changing.repoint(made, operator(), WHY, made.revision)

    tell_later()

    assert summaries(pagerduty)[-1] == "shop: switch user-cache: repointed, game to shop: cache is sick"


def test_a_change_of_a_switch_is_told_once(for_switches: Channel, pagerduty: Service) -> None:
    switch(cache_now=cache_with_nodes())
    happened("release")

    assert [tell(), tell_later(), tell_later()] == [1, 1, 0]
    assert len(pagerduty.seen) == 2


def test_changes_of_switches_are_not_told_where_nobody_wants_them(pager: Channel, pagerduty: Service) -> None:
    switch()

    assert tell_later() == 0


def test_one_that_is_told_by_another_sender_is_left_to_it(pager: Channel, pagerduty: Service) -> None:
    happened()
    Channel.objects.update(changes_leased_until=timezone.now() + timedelta(seconds=60))

    assert (tell(), pagerduty.seen) == (0, [])


def test_what_a_lost_sender_held_is_told_by_the_next(pager: Channel, pagerduty: Service) -> None:
    happened()
    Channel.objects.update(changes_leased_until=timezone.now() - timedelta(seconds=1))

    assert tell() == 1
    assert Channel.objects.get().changes_leased_until is None


def test_one_that_waits_keeps_back_those_that_came_after_it(pager: Channel, pagerduty: Service) -> None:
    happened("just now", ago=2)
    happened("written late", ago=60)

    assert tell() == 0
    assert tell_later() == 2
    assert summaries(pagerduty) == ["just now", "written late"]


def test_one_that_is_planned_is_told_once(pager: Channel, pagerduty: Service) -> None:
    happened("tomorrow", ago=-86_400)
    happened("before", ago=60)

    assert [tell(), tell()] == [2, 0]


@pytest.mark.parametrize(
    ("given", "found"), [("", []), ("deploy", ["deploy"]), ("deploy, failover;deploy", ["deploy", "failover"])]
)
def test_kinds_may_be_written_in_many_ways(given: str, found: list[str]) -> None:
    form = PagerDutyForm({"routing_key": KEY, "changes": given})

    assert form.is_valid()
    assert form.cleaned_data["changes"] == found


def test_a_kind_that_there_is_not_is_refused() -> None:
    form = PagerDutyForm({"routing_key": KEY, "changes": "deploy, party"})

    assert not form.is_valid()
    assert "party" in form.errors["changes"][0]


def test_beat_tells_them(pager: Channel, pagerduty: Service) -> None:
    happened()

    tasks.tell_changes()

    assert len(pagerduty.seen) == 1
    assert app.conf.beat_schedule["tell-changes"]["task"] == tasks.tell_changes.name
