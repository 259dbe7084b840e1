"""How each metric of the catalogue becomes a series, and what is said of one that is none."""

import re

import pytest

from collectors.metrics.catalogue import Kind, Metric
from collectors.metrics.hot import HOT
from collectors.metrics.lookup import DERIVED_BY_NAME, HOT_BY_NAME, UnknownMetricError, shown
from collectors.metrics.slots import ROLLED, SLOT


@pytest.mark.parametrize("name", [metric.name for metric in HOT])
def test_every_hot_metric_has_a_place_in_the_rollups(name: str) -> None:
    metric = shown(name)

    assert 1 <= metric.slot <= len(ROLLED)
    assert metric.sql
    assert not metric.is_detail


@pytest.mark.parametrize("name", ROLLED)
def test_every_place_in_the_rollups_can_be_shown(name: str) -> None:
    assert shown(name).slot == SLOT[name]


def test_no_place_in_the_rollups_is_given_twice() -> None:
    assert len({*ROLLED}) == len(ROLLED)
    # Stored rows keep positions only: these were written by the first version.
    assert (ROLLED[0], ROLLED[16], ROLLED[40]) == ("used_memory", "connected_clients", "commands_per_second")


@pytest.mark.parametrize("metric", [metric for metric in HOT if metric.kind is Kind.COUNTER], ids=lambda m: m.name)
def test_a_counter_is_shown_per_second(metric: Metric) -> None:
    name = metric.name

    assert shown(name).unit.endswith("/s")
    assert f"prev_{name}" in shown(name).sql


@pytest.mark.parametrize(
    ("name", "over"),
    [
        ("used_memory", "primaries"),
        ("keys", "primaries"),
        ("connected_clients", "all"),
        ("maxclients", "max"),
        ("replication_lag_bytes", "max"),
        ("mem_fragmentation_ratio", "max"),
        ("is_primary", "max"),
        ("hit_ratio", "max"),
        ("rejected_connections_per_second", "all"),
        ("total_commands_processed", "primaries"),
    ],
)
def test_nodes_make_one_number_of(name: str, over: str) -> None:
    assert shown(name).over_nodes == over


@pytest.mark.parametrize(("name", "near"), [("used_memry", "used_memory"), ("hitratio", "hit_ratio"), ("Keys", "keys")])
def test_a_mistyped_name_is_answered_with_those_that_look_like_it(name: str, near: str) -> None:
    with pytest.raises(UnknownMetricError, match=near):
        shown(name)


@pytest.mark.parametrize("name", ["", "秘密", "%(near)s", "; DROP TABLE sample", "x" * 100_000])
def test_any_other_name_is_refused_in_a_short_sentence(name: str) -> None:
    with pytest.raises(UnknownMetricError) as caught:
        shown(name)

    assert len(str(caught.value)) < 300


def test_names_that_stand_in_sql_are_plain_words() -> None:
    columns = [*HOT_BY_NAME, *DERIVED_BY_NAME]

    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in columns)
