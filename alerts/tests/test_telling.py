"""From alerts to incidents and messages, tick by tick."""

from datetime import timedelta

import pytest
from django.utils import timezone

from alerts import incident_acts, telling
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.models import Channel, Delivery, Incident, Reason
from alerts.route import Route
from alerts.rule import Rule
from alerts.silence import Silence
from alerts.tests.cast import channel
from alerts.tests.judged import Fleet, fleet, rule
from collectors.event import Event, Kind
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db
What = Decision.What


@pytest.fixture
def pager(db: None) -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


@pytest.fixture
def watched(pager: Channel) -> Fleet:
    rule()
    return fleet(shards=3)


def silence(*lines: str, hours: float = 1, **fields: object) -> Silence:
    now = timezone.now()
    return Silence.objects.create(
        matchers=list(lines),
        author="ann",
        comment="planned",
        starts_at=now - timedelta(hours=1),
        ends_at=now + timedelta(hours=hours),
        **fields,
    )


def sent() -> list[str]:
    """Return the kinds of all messages in the outbox, in order, those overtaken left out."""
    rows = Delivery.objects.exclude(state=Delivery.State.SUPERSEDED).order_by("pk")
    return list(rows.values_list("kind", flat=True))


def decided() -> list[str]:
    return list(Decision.objects.order_by("pk").values_list("what", flat=True))


def test_an_alert_that_fires_is_told(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)

    incident = Incident.objects.get()
    assert (sent(), decided()) == (["trigger"], [What.TOLD])
    assert (incident.severity, incident.cache_name, Alert.objects.get().incident) == ("critical", "game", incident)


def test_a_message_says_what_where_and_how_bad(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)

    message = Delivery.objects.get().payload
    assert message["title"] == "game: Memory: shard 1, 127.0.0.1:7010 95% (bound 90%)"
    assert (message["severity"], message["source"], message["labels"]["rule"]) == ("critical", "game", "memory")


def test_texts_of_a_rule_are_filled_with_what_the_alert_knows(pager: Channel) -> None:
    texts = {"message": "{node} of {cache} at {value}, bound {bound}", "why": "Ask {team}; {nobody} knows more."}
    rule(labels={"team": "game & more"}, runbook="https://books.example.org/{rule}?team={team}", **texts)

    fleet().poll(0.85)

    told = Delivery.objects.get().payload
    assert told["text"] == "127.0.0.1:7010 of game at 85%, bound 80%\nAsk game & more; {nobody} knows more."
    assert told["runbook"] == "https://books.example.org/memory?team=game%20%26%20more"


def test_what_is_added_up_is_an_amount(pager: Channel) -> None:
    rule("rejected", metric="rejected_connections", read="increase", over="1m", warning=0, critical=60)
    watched = fleet()
    for refused in (0, 30):
        watched.tick += watched.every
        watched.report({node: {"rejected_connections": refused} for node in watched.nodes})
        watched.judge()

    assert "30 connections (bound 0 connections)" in Delivery.objects.get().payload["title"]


def test_what_is_pending_is_told_to_nobody(pager: Channel) -> None:
    rule(**{"for": "5m"})

    fleet().poll(0.95)

    assert (sent(), Incident.objects.count()) == ([], 0)


def test_its_end_is_told(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)

    watched.poll(0.5, 0.5, 0.5)

    incident = Incident.objects.get()
    assert (sent(), decided()) == (["trigger", "resolve"], [What.TOLD, What.ENDED])
    assert (incident.closed_at, incident.end_reason) == (watched.at, Reason.RECOVERED)


def test_what_belongs_together_is_one_incident(watched: Fleet) -> None:
    watched.poll(0.95, 0.95, 0.95)

    assert (sent(), Incident.objects.count()) == (["trigger"], 1)
    assert Delivery.objects.get().payload["title"] == "game: Memory (3 alerts)"


def test_one_that_joins_soon_waits_for_the_next_message(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)

    watched.poll(0.95, 0.95, 0.5)

    assert sent() == ["trigger"]
    assert decided() == [What.TOLD, What.JOINED, What.WAITED]


def test_news_are_told_when_their_time_has_come(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)
    watched.poll(0.95, 0.95, 0.5)

    telling.sweep(watched.at + timedelta(seconds=60))

    assert sent() == ["trigger", "update"]
    assert Incident.objects.get().news_at is None


def test_that_it_begins_to_recover_is_told_to_nobody(pager: Channel) -> None:
    rule(keep_firing="15s")
    watched = fleet()
    watched.poll(0.95)
    watched.tick += 120

    watched.poll(0.5)
    recovering = (sent(), decided(), Incident.objects.get().news_at)
    watched.poll(0.5)

    assert recovering == (["trigger"], [What.TOLD], None)
    assert sent() == ["trigger", "resolve"]


def test_that_it_gets_milder_is_told(pager: Channel) -> None:
    rule()
    watched = fleet()
    watched.poll(0.95)
    watched.tick += 120

    watched.poll(0.85)

    assert sent() == ["trigger", "update"]


def test_that_one_of_several_ended_is_told(watched: Fleet) -> None:
    watched.poll(0.95, 0.95, 0.5)
    watched.tick += 120

    watched.poll(0.95, 0.5, 0.5)

    assert sent() == ["trigger", "update"]
    assert len(Delivery.objects.get(kind="update").payload["facts"]) == 1


def test_of_what_is_acknowledged_people_hear_the_end_alone(pager: Channel) -> None:
    rule(keep_firing="15s")
    watched = fleet()
    watched.poll(0.95)
    incident_acts.acknowledge_elsewhere(Incident.objects.get(), "ann", watched.at)
    watched.tick += 120

    watched.poll(0.5)
    watched.poll(0.5)

    assert sent() == ["trigger", "acknowledge", "resolve"]


def test_what_gets_worse_is_told_at_once(watched: Fleet) -> None:
    watched.poll(0.85, 0.5, 0.5)

    watched.poll(0.95, 0.5, 0.5)

    assert sent() == ["trigger", "update"]
    assert Incident.objects.get().severity == "critical"


@pytest.fixture
def waiting(watched: Fleet) -> Fleet:
    """A fleet whose route waits a minute before it tells of anything."""
    Route.objects.update(wait_seconds=60)
    return watched


def test_the_first_message_waits_for_others_of_the_group(waiting: Fleet) -> None:
    waiting.poll(0.95, 0.5, 0.5)
    waiting.poll(0.95, 0.95, 0.5)
    assert (sent(), decided()) == ([], [What.GATHERS])

    telling.sweep(waiting.at + timedelta(seconds=45))

    assert sent() == ["trigger"]
    assert "(2 alerts)" in Delivery.objects.get().payload["title"]
    assert decided() == [What.GATHERS, What.TOLD]


def test_it_waits_no_longer_than_it_is_told_to(waiting: Fleet) -> None:
    waiting.poll(0.95, 0.5, 0.5)

    telling.sweep(waiting.at + timedelta(seconds=59))
    assert sent() == []
    telling.sweep(waiting.at + timedelta(seconds=60))
    telling.sweep(waiting.at + timedelta(seconds=65))

    assert sent() == ["trigger"]


def test_what_is_over_before_the_wait_is_told_to_nobody(waiting: Fleet) -> None:
    waiting.poll(0.95, 0.5, 0.5)
    waiting.poll(0.5, 0.5, 0.5)

    telling.sweep(waiting.at + timedelta(minutes=2))

    assert (sent(), decided()) == ([], [What.GATHERS, What.ENDED_UNTOLD])


def test_once_told_it_waits_no_more(waiting: Fleet) -> None:
    waiting.poll(0.85, 0.5, 0.5)
    telling.sweep(waiting.at + timedelta(seconds=60))

    waiting.poll(0.85, 0.95, 0.5)

    assert sent() == ["trigger", "update"]


def test_an_incident_ends_with_its_last_alert(watched: Fleet) -> None:
    watched.poll(0.95, 0.95, 0.5)
    watched.poll(0.5, 0.95, 0.5)

    assert Incident.objects.get().is_open

    watched.poll(0.5, 0.5, 0.5)

    assert (Incident.objects.get().is_open, sent()[-1]) == (False, "resolve")


def test_the_next_episode_is_another_incident(watched: Fleet) -> None:
    for share in (0.95, 0.5, 0.95):
        watched.poll(share, 0.5, 0.5)

    assert sent() == ["trigger", "resolve", "trigger"]
    assert Incident.objects.open().count() == 1


def test_it_is_told_again_while_nobody_acknowledged_it(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)

    telling.sweep(watched.at + timedelta(hours=4))

    assert (sent(), decided()[1:]) == (["trigger", "update"], [What.REPEATED, What.TOLD])


def test_it_is_not_told_again_once_acknowledged(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)
    Incident.objects.update(acknowledged_at=watched.at)

    telling.sweep(watched.at + timedelta(hours=4))

    assert sent() == ["trigger"]


def test_the_sweep_leaves_the_others_alone(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)

    assert telling.sweep(watched.at + timedelta(minutes=10)) == 0


def test_a_silence_keeps_the_message_back_but_not_the_state(watched: Fleet) -> None:
    silence("cache=game")

    watched.poll(0.95, 0.5, 0.5)

    assert (sent(), decided()) == ([], [What.SILENCED])
    assert (Alert.objects.get().state, Incident.objects.get().is_open) == ("firing", True)


def test_a_silence_for_others_hides_nothing(watched: Fleet) -> None:
    silence("cache=shop")

    watched.poll(0.95, 0.5, 0.5)

    assert sent() == ["trigger"]


def test_a_silence_never_swallows_the_end_of_what_was_told(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)
    silence("cache=game")

    watched.poll(0.5, 0.5, 0.5)

    assert sent() == ["trigger", "resolve"]


def test_what_still_fires_when_the_silence_ends_is_told(watched: Fleet) -> None:
    made = silence("cache=game")
    watched.poll(0.95, 0.5, 0.5)
    Silence.objects.filter(pk=made.pk).update(ends_at=timezone.now() - timedelta(minutes=1))

    telling.sweep(timezone.now())

    assert sent() == ["trigger"]


def test_what_was_over_before_anybody_was_told_is_told_to_nobody(watched: Fleet) -> None:
    silence("cache=game")
    watched.poll(0.95, 0.5, 0.5)

    watched.poll(0.5, 0.5, 0.5)

    assert (sent(), decided()[-1]) == ([], What.ENDED_UNTOLD)


def test_a_silence_of_one_node_hides_that_node_alone(watched: Fleet) -> None:
    silence("node=127.0.0.1:7010")

    watched.poll(0.95, 0.95, 0.5)

    assert Delivery.objects.get().payload["title"] == "game: Memory: shard 2, 127.0.0.1:7020 95% (bound 90%)"


def test_a_silence_ends_with_its_event(watched: Fleet) -> None:
    event = Event.objects.create(cache=watched.cache, kind=Kind.LOAD_TEST, until=timezone.now() - timedelta(minutes=9))
    silence("cache=game", event=event)

    watched.poll(0.95, 0.5, 0.5)

    assert sent() == ["trigger"]


def test_without_a_channel_the_record_says_so(pager: Channel) -> None:
    Route.objects.get().channels.clear()
    rule()

    fleet().poll(0.95)

    assert (sent(), decided()) == ([], [What.NOWHERE])


def test_a_deleted_rule_ends_its_incident_with_that_reason(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)
    Rule.objects.all().delete()
    rule("other", metric="keys")

    watched.poll(0.95, 0.5, 0.5)

    assert (sent(), Incident.objects.get().end_reason) == (["trigger", "resolve"], Reason.RULE_DELETED)
    assert "rule deleted" in Delivery.objects.get(kind="resolve").payload["text"]


def test_deleted_rules_end_all_their_alerts_of_one_node(watched: Fleet) -> None:
    for number in range(3):
        rule(f"more-{number}")
    watched.poll(0.95, 0.5, 0.5)
    Rule.objects.all().delete()
    rule("other", metric="keys")

    watched.poll(0.95, 0.5, 0.5)

    assert not Alert.objects.active().exists()


def test_a_rule_turned_off_ends_its_incident(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)
    Rule.objects.update(is_enabled=False)

    watched.poll(0.95, 0.5, 0.5)

    assert (sent(), Incident.objects.get().end_reason) == (["trigger", "resolve"], Reason.RULE_CHANGED)


def test_a_deleted_cache_ends_its_incident_with_that_reason(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)
    Cache.objects.all().delete()

    telling.sweep(timezone.now())

    assert (sent(), Incident.objects.get().end_reason) == (["trigger", "resolve"], Reason.CACHE_DELETED)


def test_a_node_that_left_ends_its_incident_with_that_reason(watched: Fleet) -> None:
    watched.poll(0.95, 0.5, 0.5)
    Node.objects.filter(pk=watched.nodes[0].pk).update(left_at=timezone.now())

    watched.judge()

    assert (sent(), Incident.objects.get().end_reason) == (["trigger", "resolve"], Reason.NODE_LEFT)
    assert "node left" in Delivery.objects.get(kind="resolve").payload["text"]


def test_an_incident_that_partly_recovered_names_what_was_no_recovery(watched: Fleet) -> None:
    watched.poll(0.95, 0.95, 0.5)
    watched.poll(0.5, 0.95, 0.5)
    Node.objects.filter(pk=watched.nodes[1].pk).update(left_at=timezone.now())

    watched.judge()

    assert Incident.objects.get().end_reason == Reason.NODE_LEFT


def test_links_lead_to_the_incident(watched: Fleet, settings: pytest.FixtureRequest) -> None:
    settings.PUBLIC_URL = "https://watch.example.com"  # type: ignore[attr-defined]

    watched.poll(0.95, 0.5, 0.5)

    link = Delivery.objects.get().payload["link"]
    assert link == f"https://watch.example.com/incidents/{Incident.objects.get().pk}/"
