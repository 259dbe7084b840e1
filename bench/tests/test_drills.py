"""The drills with short periods, on the whole product."""

from collections.abc import Iterator

import pytest

from bench import drills, product
from bench.drill import sentence
from bench.drills import DRILLS, SHORT, Drill, DrillError, Outcome
from bench.product import Product


@pytest.fixture(scope="module")
def running() -> Iterator[Product]:
    with product.started(SHORT.settings) as started:
        yield started


@pytest.mark.parametrize("name", DRILLS)
def test_it_holds(name: str, running: Product) -> None:
    outcome = drills.run(name, running, SHORT)

    assert outcome.held, sentence(outcome)


def test_it_notices_a_sample_that_is_gone(running: Product) -> None:
    drill = Drill(running, SHORT)
    before = {*drill.samples(), (0, drill.began)}

    with pytest.raises(DrillError, match="1 stored samples are gone"):
        drill.recover(drill.began, before)


def test_it_notices_that_a_fault_did_not_heal(running: Product) -> None:
    with pytest.raises(DrillError, match="a miracle: not within 0 s"):
        Drill(running, SHORT).require(lambda: False, "a miracle", seconds=0.1)


def test_it_says_what_did_not_hold() -> None:
    outcome = Outcome("beat-stop", False, 12.3, {"samples_lost": 3}, "3 stored samples are gone")

    assert sentence(outcome) == "beat-stop: DID NOT HOLD: 3 stored samples are gone (12 s; samples lost 3)"
