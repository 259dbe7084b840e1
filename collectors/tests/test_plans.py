"""What is asked at once, and when what is asked changes."""

import hiredis
import pytest
from pytest_django.fixtures import Settings

from collectors.capabilities import Support
from collectors.connections import Access, pack
from collectors.plans import Plan
from collectors.sources.info import INFO, Info, InfoDetail
from collectors.sources.slowlog import CommandLog, SlowLog
from collectors.targets import NodeRow, Target, Way
from fleet.engines import Engine

TICK = 1_800_000_000


@pytest.fixture
def target(settings: Settings) -> Target:
    """A standalone Valkey of which everything was asked at TICK."""
    settings.COMMANDS_INTERVAL_SECONDS = settings.LATENCY_INTERVAL_SECONDS = 60
    made = Target(NodeRow(1, 1, "id", "127.0.0.1", 6379, "primary", None), Way(Access(tls=False), None), Support())
    made.learn({"valkey_version": "9.1.0", "redis_version": "7.2.4", "redis_mode": "standalone"})
    ask(made, TICK)
    return made


def ask(target: Target, tick: int) -> Plan:
    """Take the plan of a tick as carried out."""
    plan = target.plan(tick)
    for source in plan.sources:
        target.ran(source, tick)
    return plan


def names(plan: Plan) -> list[str]:
    return [source.name for source in plan.sources]


def test_a_command_of_two_sources_is_sent_once() -> None:
    plan = Plan.of([Info(), InfoDetail(), SlowLog()])

    assert plan.commands == (INFO, SlowLog().commands()[0])
    assert plan.places == ((0,), (0,), (1,))
    assert plan.payload == pack(plan.commands)


def test_a_source_of_two_commands_gets_both_replies() -> None:
    assert Plan.of([Info(), CommandLog()]).places == ((0,), (1, 2))


def test_a_plan_of_nothing_asks_nothing() -> None:
    assert Plan.of([]) == Plan((), (), (), b"")


def test_between_two_turns_the_same_is_asked_again(target: Target) -> None:
    # Turns come at multiples of the minute, a tick apart from node to node.
    first = ask(target, TICK + 5)

    assert names(first) == ["info"]
    assert ask(target, TICK + 10) is first


def test_all_sources_have_their_turn_each_minute(target: Target) -> None:
    asked = [name for tick in range(TICK + 5, TICK + 65, 5) for name in names(ask(target, tick))]

    assert asked.count("info") == 12
    assert {name: asked.count(name) for name in ("commandstats", "errorstats", "slowlog", "commandlog")} == {
        "commandstats": 1,
        "errorstats": 1,
        "slowlog": 1,
        "commandlog": 1,
    }


def test_what_got_no_answer_is_asked_again(target: Target) -> None:
    due = next(tick for tick in range(TICK + 5, TICK + 65, 5) if "slowlog" in names(target.plan(tick)))

    assert "slowlog" in names(target.plan(due + 5))


def test_a_refusal_is_left_out_at_once(target: Target) -> None:
    due = next(tick for tick in range(TICK + 5, TICK + 65, 5) if "slowlog" in names(target.plan(tick)))

    target.support.note(SlowLog().commands()[0], hiredis.ReplyError("NOPERM no permission"))

    assert "slowlog" not in names(target.plan(due))


def test_a_node_that_joins_a_cluster_is_asked_for_its_view(target: Target) -> None:
    before = names(target.plan(TICK + 5))

    target.standing.in_cluster = True

    assert "cluster_info" not in before
    assert "cluster_info" in names(target.plan(TICK + 5))


def test_a_node_that_turns_out_to_be_another_engine_is_asked_other_things(target: Target) -> None:
    target.standing.engine, target.standing.valkey_version = Engine.REDIS, ()

    assert "commandlog" not in names(target.plan(TICK + 120))
    assert "slowlog" in names(target.plan(TICK + 120))


def test_a_clock_that_is_set_back_makes_a_new_plan(target: Target) -> None:
    kept = target.plan(TICK + 5)

    assert target.plan(TICK - 3600) is not kept


def test_good_replies_teach_nothing_new() -> None:
    support = Support()
    support.note(INFO, b"redis_version:7.0.0")
    lessons = support.lessons

    support.note(INFO, b"redis_version:7.0.0")

    assert (lessons, support.lessons) == (1, 1)


def test_a_command_that_is_refused_later_is_news() -> None:
    support = Support()
    support.note(INFO, b"redis_version:7.0.0")
    support.news()

    support.note(INFO, hiredis.ReplyError("NOPERM this user has no permissions"))

    assert support.is_refused(INFO)
    assert list(support.news()) == ["INFO"]
