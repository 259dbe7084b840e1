"""The Python client as an application meets it: a thread keeps it fresh, and forks get one of their own."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from alerts.tests.peers import hangs, says
from clients.tests.cast import KEY, PATIENT_MILLISECONDS, START, ScriptedShardwatch, Wishes, answers, python_options
from launcher.waiting import until
from shardwatch_client import Default, Options, Switches
from shardwatch_client.memory import Memory

OFF = answers(can_use=False, percent=0, revision=2, ttl_seconds=1)
PATIENCE_SECONDS = 20.0

Opens = Callable[..., Switches]


@pytest.fixture
def opened(wishes: Wishes) -> Iterator[Opens]:
    every: list[Switches] = []

    def open_switches(milliseconds: int = PATIENT_MILLISECONDS) -> Switches:
        options = python_options(replace(wishes, milliseconds=milliseconds), None)
        every.append(Switches(replace(options, clock=Options.clock)))
        return every[-1]

    yield open_switches
    for switches in every:
        switches.close()


def test_the_first_question_waits_for_the_first_answer(opened: Opens, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(OFF)

    assert not opened().can_use(KEY)


def test_a_change_arrives_without_a_question_of_the_application(opened: Opens, shardwatch: ScriptedShardwatch) -> None:
    switches = opened()
    shardwatch.then(answers(ttl_seconds=1), OFF)

    assert switches.can_use(KEY)

    assert until(lambda: not switches.can_use(KEY), PATIENCE_SECONDS)
    assert until(lambda: [report["revision"] for report in shardwatch.reports[:2]] == [1, 2], PATIENCE_SECONDS)


def test_processes_with_one_folder_ask_once(opened: Opens, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(answers(can_use=False, ttl_seconds=300))

    assert [opened().can_use(KEY) for _ in range(5)] == [False] * 5

    assert len(shardwatch.polls) == 1


def test_a_server_that_hangs_holds_up_only_the_first_question(wishes: Wishes, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(hangs)
    switches = Switches(replace(python_options(replace(wishes, milliseconds=100), None), clock=Options.clock))

    assert all(switches.can_use(KEY) for _ in range(1_000))

    switches.close()


def test_a_forked_process_keeps_itself_fresh(opened: Opens, shardwatch: ScriptedShardwatch) -> None:
    switches = opened()
    shardwatch.then(answers(ttl_seconds=1), OFF)
    switches.can_use(KEY)

    child = os.fork()
    if child == 0:
        os._exit(0 if until(lambda: not switches.can_use(KEY), PATIENCE_SECONDS) else 1)

    assert os.waitpid(child, 0)[1] == 0


def test_it_tells_why_nothing_new_came(opened: Opens, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(says(503))
    switches = opened()

    assert switches.can_use(KEY)

    assert switches.last_error == "answered 503"
    assert switches.age_seconds(KEY) is None


def test_it_gives_endpoint_and_age(opened: Opens, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(answers(endpoint={"host": "10.0.0.9", "port": 6379}))
    switches = opened()
    switches.can_use(KEY)

    endpoint = switches.endpoint(KEY)

    assert endpoint is not None
    assert (endpoint.host, endpoint.port, endpoint.tls) == ("10.0.0.9", 6379, False)
    assert switches.age_seconds(KEY) is not None


@pytest.mark.parametrize("key", ["Upper", "a/b", "", "a b", "é"])
def test_odd_names_are_refused_at_once(wishes: Wishes, key: str) -> None:
    with pytest.raises(ValueError, match="a-z, 0-9"):
        Options(wishes.url, "swc_key", {key: Default.OPEN}, wishes.directory)


def test_its_key_stays_out_of_logs(wishes: Wishes) -> None:
    assert "swc_key" not in repr(python_options(wishes, None))


def test_what_cannot_be_renewed_is_logged_and_tried_again(
    opened: Opens, shardwatch: ScriptedShardwatch, caplog: pytest.LogCaptureFixture
) -> None:
    # The first question waits twice as long for an answer.
    switches = opened(milliseconds=500)
    broken = switches._keeper.renew
    switches._keeper.renew = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]

    assert switches.can_use(KEY)
    shardwatch.then(OFF)
    switches._keeper.renew = broken  # type: ignore[method-assign]

    assert until(lambda: not switches.can_use(KEY), PATIENCE_SECONDS)
    assert "could not be renewed" in caplog.text


def test_only_one_process_has_the_turn_until_it_is_over(wishes: Wishes) -> None:
    one, other = (Memory(wishes.directory, "place") for _ in range(2))

    assert [one.take_turn(START), other.take_turn(START + 0.9), other.take_turn(START + 1.1)] == [True, False, True]


def test_a_turn_does_not_outlive_a_clock_that_was_set_back(wishes: Wishes) -> None:
    memory = Memory(wishes.directory, "place")

    assert memory.take_turn(START)

    assert memory.take_turn(START - 60)
