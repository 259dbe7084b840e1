"""What a minute of our questions costs, at any interval and with any refusals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.capabilities import name_of
from collectors.own_load import PRICES, Charge, OwnLoad, charges, price_of
from collectors.source import Standing
from fleet.engines import Engine

CLUSTER = Standing(Engine.VALKEY, (7, 2, 4), in_cluster=True, reports_limits=True, valkey_version=(9, 1))
REFUSED = st.sets(st.sampled_from(sorted(PRICES)))


@pytest.mark.parametrize(
    ("every", "usec", "per_minute"), [(60, 10.0, 10), (15, 10.0, 40), (1, 10.0, 600), (3_600, 6.0, 0.1), (60, 0.0, 0)]
)
def test_a_charge_is_reckoned_by_the_minute(every: int, usec: float, per_minute: float) -> None:
    charge = Charge("INFO", every, usec, 300)

    assert charge.usec_per_minute == pytest.approx(per_minute)
    assert charge.bytes_per_minute == pytest.approx(300 * 60 / every)


def test_a_server_that_does_nothing_else_has_a_share_of_one() -> None:
    assert OwnLoad([Charge("X", 60, 60e6, 0)]).time_share == 1
    assert OwnLoad([]).time_share == 0


@given(REFUSED, st.integers(1, 120))
@settings(max_examples=30, deadline=None)
def test_refusing_more_never_asks_for_what_is_refused(refused: set[str], interval: int) -> None:
    found = charges(CLUSTER, interval, refused)

    names = [charge.name for charge in found]
    assert len(names) == len({*names})
    assert "INFO" in names
    assert not {name_of(tuple(name.split(" "))) for name in names} & (refused - {"INFO"})


@given(st.integers(1, 120))
@settings(max_examples=30, deadline=None)
def test_nothing_is_asked_more_often_than_polls_come(interval: int) -> None:
    assert min(charge.every for charge in charges(CLUSTER, interval)) == interval


@pytest.mark.parametrize("refused", [set(), {"CLUSTER SHARDS"}, {"CLUSTER SHARDS", "CLUSTER SLOTS"}])
def test_the_layout_is_asked_for_in_one_way_only(refused: set[str]) -> None:
    once = {charge.name for charge in charges(CLUSTER, 15, refused) if charge.once}

    assert ("CLUSTER SHARDS" in once) is not bool(refused)
    assert not refused & once


@pytest.mark.parametrize("engine", [Engine.VALKEY, Engine.REDIS, Engine.UNKNOWN, "memcached"])
def test_a_command_without_a_price_costs_nothing_known(engine: str) -> None:
    assert price_of(("NEW", "COMMAND"), engine) == (0.0, 0)


@pytest.mark.parametrize("name", PRICES)
def test_an_unknown_engine_is_reckoned_at_the_dearest(name: str) -> None:
    usec, size = price_of(tuple(name.split(" ")), Engine.UNKNOWN)

    assert usec == max(PRICES[name].usec.values())
    assert size == PRICES[name].reply_bytes
