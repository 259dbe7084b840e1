"""The drills with short periods, on the whole product."""

import time
from collections.abc import Iterator

import pytest

from bench import drills, paging, product
from bench.drill import sentence
from bench.drills import SHORT, Drill, DrillError, Outcome
from bench.product import Product
from bench.receivers import PAGERDUTY_PATH, SLACK_PATH, Received, Receivers, receivers

# The others take minutes, however short their faults are.
QUICK = {**drills.DRILLS, "node-kill": paging.node_kill}


@pytest.fixture(scope="module")
def heard() -> Iterator[Receivers]:
    with receivers() as made:
        yield made


@pytest.fixture(scope="module")
def running(heard: Receivers) -> Iterator[Product]:
    with product.started({**SHORT.settings, **heard.settings()}) as started:
        yield started


@pytest.fixture
def drill(running: Product, heard: Receivers) -> Drill:
    return Drill(running, SHORT, heard)


@pytest.mark.parametrize("name", QUICK)
def test_it_holds(name: str, drill: Drill) -> None:
    outcome = drills.run(name, QUICK[name], drill)

    assert outcome.held, sentence(outcome)


def test_it_notices_a_page_of_nothing(drill: Drill) -> None:
    event = {"event_action": "trigger", "payload": {"summary": "game-cache: nonsense"}}
    paging.require_no_page(drill, time.time(), "a miracle")
    drill.receivers.seen.append(Received(time.time(), PAGERDUTY_PATH, event))

    with pytest.raises(DrillError, match="a miracle paged"):
        paging.require_no_page(drill, time.time() - 1, "a miracle")


def test_it_notices_a_page_that_comes_too_late(drill: Drill) -> None:
    for path in (PAGERDUTY_PATH, SLACK_PATH):
        drill.receivers.seen.append(Received(time.time(), path, {"event_action": "", "text": "10.9.9.9:1 is down"}))

    with pytest.raises(DrillError, match="more than 5 s"):
        paging.require_page(drill, time.time() - 60, "10.9.9.9:1", 5)


def test_it_notices_a_sample_that_is_gone(drill: Drill) -> None:
    before = {*drill.samples(), (0, drill.began)}

    with pytest.raises(DrillError, match="1 stored samples are gone"):
        drill.recover(drill.began, before)


def test_it_notices_that_a_fault_did_not_heal(drill: Drill) -> None:
    with pytest.raises(DrillError, match="a miracle: not within 0 s"):
        drill.require(lambda: False, "a miracle", seconds=0.1)


def test_it_says_what_did_not_hold() -> None:
    outcome = Outcome("beat-stop", False, 12.3, {"samples_lost": 3}, "3 stored samples are gone")

    assert sentence(outcome) == "beat-stop: DID NOT HOLD: 3 stored samples are gone (12 s; samples lost 3)"
