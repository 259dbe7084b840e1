"""Rows, tables and files of a bench."""

import json
from pathlib import Path

import pytest

from bench.report import NOT_INSTALLED, Report, Row, compared, quartile_spread, table, write_json


def test_it_sets_the_medians_of_both_beside_each_other() -> None:
    row = compared("panel", "ms", [2, 9, 4], [8, 8, 20], bar=0.6)

    assert (row.ours, row.peer, row.ratio, row.runs, row.holds) == (4, 8, 0.5, 3, True)


def test_it_says_when_the_peer_is_not_installed() -> None:
    row = compared("panel", "ms", [4], None, bar=0.5)

    assert (row.peer, row.ratio, row.holds, row.note) == (None, None, None, NOT_INSTALLED)


@pytest.mark.parametrize(("ours", "bar", "holds"), [(1.0, 0.5, True), (1.2, 0.5, False), (9.0, None, None)])
def test_it_tells_whether_the_bar_holds(ours: float, bar: float | None, holds: bool | None) -> None:
    assert Row("cpu", "s", ours, peer=2.0, bar=bar).holds is holds


def test_it_can_hold_the_bar_against_our_figure_alone() -> None:
    assert Row("lag", "s", 2.5, bar=2, bar_on="ours").holds is False


def test_it_gives_the_spread_as_a_share_of_the_median() -> None:
    assert quartile_spread([1, 2, 3, 4, 5]) == pytest.approx(2 / 3)
    assert quartile_spread([1]) is None


def test_it_prints_a_line_a_row_with_unknown_as_a_dash() -> None:
    lines = table([Row("cpu", "s", 0.2, 4.0, bar=0.1), Row("memory", "bytes", None)])

    assert lines[1].split() == ["cpu", "s", "0.2", "4", "0.05x", "0.1x", "1", "-", "holds"]
    assert lines[2].split() == ["memory", "bytes", "-", "-", "-", "-", "1", "-"]


def test_it_writes_every_row_with_the_name_of_its_bench(tmp_path: Path) -> None:
    report = Report("storage")
    report.add(Row("cpu", "s", 0.2, 4.0))

    write_json(tmp_path / "out.json", [report], {"pages": "no browser"})

    found = json.loads((tmp_path / "out.json").read_text())
    names = {"bench", "measure", "unit", "ours", "peer", "ratio", "runs", "spread"}
    assert names <= found["rows"][0].keys()
    assert found["rows"][0]["ratio"] == 0.05
    assert found["failed"] == {"pages": "no browser"}
