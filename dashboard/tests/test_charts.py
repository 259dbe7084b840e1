"""The tables of charts: what the script is told agrees with what the API can answer."""

import json
from typing import Any

import pytest
from django.utils import translation

from collectors.metrics.lookup import shown
from dashboard import charts, command_charts
from dashboard.charts import CHARTS, Chart, Line, spread

KINDS = {"main", "more", "spread_top", "spread_bottom", "limit", "alarm"}
UNITS = {"bytes", "bytes/s", "share", "fine share", "count", "count/s", "seconds", "ratio", "usec"}
EVERY = [*CHARTS, *command_charts.CHARTS, command_charts.MEAN]


def key_of(chart: Any) -> str:
    return str(chart.key)


@pytest.mark.parametrize("chart", CHARTS, ids=key_of)
def test_its_metrics_are_in_the_catalogue(chart: Chart) -> None:
    metrics = {*chart.metrics, *(name for name, _label in chart.by_node), *filter(None, [chart.limit])}

    assert all(shown(metric).meaning for metric in metrics)


@pytest.mark.parametrize("chart", CHARTS, ids=key_of)
def test_its_lines_are_of_known_kinds(chart: Chart) -> None:
    assert {line.kind for line in chart.lines} <= KINDS
    assert {line.over for line in chart.lines} <= {"sum", "max", "min", "mean"}
    assert len({(line.metric, line.over) for line in chart.lines}) == len(chart.lines)


@pytest.mark.parametrize("chart", CHARTS, ids=key_of)
def test_a_highest_line_comes_with_a_lowest(chart: Chart) -> None:
    tops, bottoms = (
        {line.metric for line in chart.lines if line.kind == kind} for kind in ("spread_top", "spread_bottom")
    )

    assert tops == bottoms


@pytest.mark.parametrize("chart", CHARTS, ids=key_of)
def test_ratios_are_never_added_up(chart: Chart) -> None:
    assert chart.unit not in {"share", "ratio"} or not [
        line for line in chart.lines if line.over == "sum" and not line.against
    ]


@pytest.mark.parametrize("chart", CHARTS, ids=key_of)
def test_a_limit_by_node_is_a_limit_of_all(chart: Chart) -> None:
    limits = {line.metric for line in chart.lines if line.kind == "limit"}

    assert limits == ({chart.limit} if chart.limit else set())


@pytest.mark.parametrize("chart", EVERY, ids=key_of)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_script_gets_plain_texts(chart: Any, language: str) -> None:
    with translation.override(language):
        spec = json.loads(json.dumps(chart.spec(), default=lambda value: pytest.fail(f"lazy: {value!r}")))

    assert spec["unit"] in UNITS
    assert spec["title"]
    assert spec["by_node"]


def test_no_two_charts_share_a_place_on_the_page() -> None:
    keys = [key_of(chart) for chart in EVERY]

    assert len({*keys}) == len(keys)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (Line("used_memory", "sum", "x"), "totals over primaries"),
        (Line("connected_clients", "sum", "x"), "totals over all nodes"),
        (Line("connected_clients", "max", "x"), ""),
    ],
)
def test_it_says_over_which_nodes_totals_run(line: Line, words: str) -> None:
    chart = Chart("x", "x", "count", (line,), ())

    assert str(chart.added_up) == words


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((Line("connected_clients", "sum", "x"),), [charts.OVER_ALL]),
        ((Line("used_memory", "sum", "x"),), [charts.OVER_PRIMARIES]),
        (spread("connected_clients"), [charts.SPREAD_SENTENCE]),
        (spread("connected_clients", "sum"), [charts.OVER_ALL, charts.SPREAD_SENTENCE]),
        ((Line("maxclients", "min", "x", "limit"),), []),
    ],
)
def test_it_explains_how_nodes_make_one_line(lines: tuple[Line, ...], expected: list[Any]) -> None:
    assert Chart("x", "x", "count", lines, ()).combined == [*expected, charts.BY_NODE]


def test_a_share_is_made_of_two_metrics_each_once() -> None:
    chart = Chart("x", "x", "share", (Line("a", "sum", "x", against="b"), Line("a", "max", "x")), ())

    assert chart.metrics == ["a", "b"]


@pytest.mark.parametrize("name", charts.words())
def test_words_keep_their_places_in_japanese(name: str) -> None:
    english = charts.words()[name]

    with translation.override("ja"):
        japanese = charts.words()[name]

    assert all((place in japanese) == (place in english) for place in ("%s", "%(from)s", "%(to)s", "%(total)s"))
    assert japanese
