"""The simulated servers: the same at every run, and right for both databases."""

from collections.abc import Sequence

import pytest

from bench.workload import GROWTH, SimulatedNode, Value, open_metrics, samples_in
from collectors.metrics.hot import HOT, HOT_INDEX
from collectors.rates import DERIVED


def column(name: str, *pieces: Sequence[Sequence[Value]]) -> list[Value]:
    return [value for columns in pieces for value in columns[HOT_INDEX[name]]]


def test_it_gives_the_same_numbers_at_every_run() -> None:
    assert SimulatedNode(3).piece(900_000, 50) == SimulatedNode(3).piece(900_000, 50)


def test_it_gives_every_node_numbers_of_its_own() -> None:
    first, second = (column("used_memory", SimulatedNode(number).piece(0, 50)) for number in (1, 2))

    assert first != second


@pytest.mark.parametrize("name", GROWTH)
def test_it_lets_counters_grow_from_piece_to_piece(name: str) -> None:
    node = SimulatedNode(1)

    values = column(name, node.piece(0, 30), node.piece(450, 30))

    assert values == sorted(values, key=lambda value: value or 0)


def test_it_fills_every_hot_metric_on_a_replica() -> None:
    columns = SimulatedNode(2, is_primary=False).piece(0, 4)

    assert len(columns) == len(HOT)
    assert samples_in(columns) == 4 * len(HOT)


def test_it_writes_lines_for_promtool_in_base_units() -> None:
    node = SimulatedNode(1)
    columns = node.piece(1_500, 1)
    microseconds = columns[HOT_INDEX["used_cpu_sys"]][0] or 0

    lines = {line.split("{")[0]: line.split("} ")[1] for line in open_metrics(node, columns, [1_500])}

    assert lines["used_cpu_sys"] == f"{microseconds / 1e6} 1500\n"
    assert lines["is_primary"] == "1 1500\n"
    assert "replication_lag_bytes" not in lines


def test_it_gives_what_every_derived_number_reads() -> None:
    columns = SimulatedNode(1).piece(0, 1)

    assert {name for derived in DERIVED for name in derived.reads if columns[HOT_INDEX[name]][0] is None} == set()
