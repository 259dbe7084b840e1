"""What people read where a rule asks whether nodes answer."""

import pytest

from alerts import story, unreachable
from alerts.alert import Alert, moment
from alerts.models import Delivery, Route
from alerts.rule import Rule
from alerts.tests.cast import channel
from alerts.tests.judged import EVERY, Fleet, fleet, rule
from collectors.causes import Cause

pytestmark = pytest.mark.django_db
DOWN = {"metric": "down", "warning": None, "critical": 0}


def gone(*causes: Cause, **more: object) -> Fleet:
    """Return a fleet of which so many nodes failed at this poll, each for its cause."""
    rule("node-down", **DOWN, **more)
    watched = fleet(shards=len(causes))
    watched.poll(*[0.5] * len(causes))
    watched.tick += EVERY
    for node, cause in zip(watched.nodes, causes, strict=True):
        watched.failed(node, cause)
    watched.judge()
    return watched


@pytest.mark.parametrize(
    ("cause", "words"),
    [(Cause.REFUSED, "connection refused"), (Cause.CUT, "connection closed in the middle of an answer")],
)
def test_it_says_that_a_node_does_not_answer_and_why(cause: Cause, words: str) -> None:
    gone(cause)

    alert = Alert.objects.get()
    assert (alert.cause, story.state(alert)) == (cause, f"unreachable: {words}")


def test_a_message_says_it_too_and_since_when() -> None:
    Route.objects.create(name="root").channels.add(channel())
    watched = gone(Cause.REFUSED)

    told = Delivery.objects.get().payload
    assert told["title"] == "game: Node-down: shard 1, 127.0.0.1:7010"
    since = f"{watched.at:%Y-%m-%d %H:%M:%S} UTC"
    assert told["facts"][0]["value"] == f"unreachable: connection refused, critical since {since}"


def test_nodes_that_answer_do_not_hide_why_another_one_does_not() -> None:
    rule("node-down", **DOWN, judged="cache")
    watched = fleet(shards=2)
    watched.poll(0.5, 0.5)
    watched.tick += EVERY

    watched.failed(watched.nodes[1], Cause.REFUSED)
    watched.judge()

    assert Alert.objects.get().cause == Cause.REFUSED


def test_silence_counts_from_the_first_poll_that_failed() -> None:
    rule("node-down", **DOWN)
    watched = fleet()
    watched.poll(0.5)
    first = moment(watched.tick + EVERY)

    for _ in range(4):
        watched.poll(None)

    alert = Alert.objects.get()
    assert (alert.began_at, alert.fired_at) == (first, watched.at)
    assert story.state(alert) == "unreachable: it accepts connections but does not answer"


@pytest.mark.parametrize(
    ("causes", "words"),
    [
        ((Cause.REFUSED, Cause.REFUSED), "unreachable: connection refused"),
        ((Cause.REFUSED, Cause.CUT), "unreachable"),
    ],
    ids=["the same", "different"],
)
def test_a_whole_cache_is_down_for_a_cause_that_all_share(causes: tuple[Cause, ...], words: str) -> None:
    gone(*causes, across="min", judged="cache")

    assert story.state(Alert.objects.get()) == words


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("", "unreachable"),
        ("from another version", "unreachable"),
        (Cause.TLS_OTHER, "unreachable"),
        (Cause.PASSWORD_MISSING, "unreachable: The server wants a password, and perhaps a user."),
    ],
)
def test_every_cause_has_words(cause: str, words: str) -> None:
    assert unreachable.words(Alert(rule=rule("node-down", **DOWN), cause=cause)) == words


def test_a_cause_of_old_is_forgotten_with_the_next_episode() -> None:
    watched = gone(Cause.REFUSED)
    watched.poll(0.5)
    watched.tick += EVERY
    watched.failed(watched.nodes[0], Cause.CUT)
    watched.judge()

    assert Alert.objects.get().cause == Cause.CUT


def test_other_rules_tell_their_value() -> None:
    rule()
    fleet().poll(0.95)

    assert story.state(Alert.objects.get()) == "95% (bound 90%)"


@pytest.mark.parametrize(
    ("metric", "value", "words"), [("loading", 1, "loading: yes"), ("master_link_up", 0, "master_link_up: no")]
)
def test_what_is_true_or_not_is_told_with_its_name(metric: str, value: float, words: str) -> None:
    made = rule("claim", metric=metric, warning=1, critical=None)

    assert story.state(Alert(rule=made, value=value)) == words


def test_without_its_rule_nothing_is_known() -> None:
    gone(Cause.REFUSED)
    Rule.objects.all().delete()

    assert story.state(Alert.objects.get()) == ""
