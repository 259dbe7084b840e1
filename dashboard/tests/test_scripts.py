"""The modules of static/js that compute: run in Chromium, held against what the server says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from playwright.sync_api import Browser, Page

from dashboard.charts import CHARTS
from dashboard.templatetags import units

GIB = 2**30
BASE_DIR = Path(settings.BASE_DIR)
VALUES = [
    0,
    0.00004,
    0.0004,
    0.042,
    0.25,
    0.64,
    0.9996,
    1,
    1.5,
    9.96,
    59.9,
    125,
    999.7,
    1023,
    1024,
    7_500,
    9_999,
    12_345,
    90_000,
]
WRITERS = {
    "bytesSize": units.bytes_size,
    "bytesRate": units.bytes_rate,
    "count": units.count,
    "rate": units.rate,
    "ratio": units.ratio,
    "percent": units.percent,
    "finePercent": units.fine_percent,
    "microseconds": units.microseconds,
    "duration": units.duration,
    "grouped": units.grouped,
}
BERLIN_SPRING = 1_774_746_000  # 2026-03-29 02:00 in Berlin, when clocks go to 03:00


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that holds the words alone; scripts come from their folder, since Django and a browser's loop exclude
    each other in one thread."""
    page = browser.new_page(timezone_id="Asia/Tokyo")
    words = render_to_string("_words.html", {"id": "words", "words": units.unit_words()})
    page.route(
        "**/*", lambda route: route.fulfill(body=f"<html lang=en>{words}", content_type="text/html; charset=utf-8")
    )
    page.route(
        "**/static/**", lambda route: route.fulfill(path=BASE_DIR / route.request.url.split("shardwatch.test/")[1])
    )
    page.goto("http://shardwatch.test/")
    yield page
    page.close()


def run(page: Page, module: str, body: str, given: Any = None) -> Any:
    """Run the body of a function of `m`, the module, and `given`."""
    return page.evaluate(f"async (given) => {{ const m = await import('/static/js/{module}.js'); {body} }}", given)


def test_it_writes_numbers_as_the_server_does(page: Page) -> None:
    values = [*VALUES, 5.43 * GIB, 8 * GIB, 2**52, 2_000_000, None]

    written = run(
        page, "units", "return given[0].map((name) => given[1].map((v) => m[name](v)))", [list(WRITERS), values]
    )

    for (name, write), texts in zip(WRITERS.items(), written, strict=True):
        expected = ["not reported" if value is None else write(value) for value in values]
        assert texts == expected, name


def test_the_tab_of_the_page_is_scrolled_into_sight(page: Page) -> None:
    page.evaluate("""
        const bar = document.createElement("nav");
        bar.className = "tabs";
        bar.style = "display: flex; width: 200px; overflow-x: auto";
        bar.innerHTML = "<a style='flex: none; width: 90px'>tab</a>".repeat(9);
        bar.children[7].setAttribute("aria-current", "page");
        document.body.append(bar);
    """)

    seen = """
        const place = (at) => document.querySelector(at).getBoundingClientRect();
        const [tab, bar] = [place(".tabs [aria-current]"), place(".tabs")];
        return tab.left >= bar.left && tab.right <= bar.right;
    """

    assert run(page, "page", seen)


def test_it_reads_wall_clocks_in_the_viewers_zone_also_when_they_change(page: Page) -> None:
    page.evaluate("document.documentElement.dataset.timeZone = 'Europe/Berlin'")
    moments = [BERLIN_SPRING - 7_200, BERLIN_SPRING - 60, BERLIN_SPRING, BERLIN_SPRING + 7_200]

    clocks = run(page, "zones", "return given.map(m.toWallClock)", moments)
    back = run(page, "zones", "return given.map(m.fromWallClock)", clocks)

    assert clocks == ["2026-03-29T00:00", "2026-03-29T01:59", "2026-03-29T03:00", "2026-03-29T05:00"]
    assert back == moments


def test_it_puts_ticks_on_midnights_of_the_viewer(page: Page) -> None:
    page.evaluate("document.documentElement.dataset.timeZone = 'Asia/Tokyo'")
    week = [1_767_225_600, 1_767_225_600 + 7 * 86_400]

    ticks = run(page, "axes", "return m.timeTicks(given[0], given[1], 700).map((tick) => tick.value)", week)

    assert all((tick + 9 * 3600) % 86_400 == 0 for tick in ticks)
    assert 5 <= len(ticks) <= 9


@pytest.mark.parametrize(
    ("unit", "high", "expected"),
    [
        ("bytes", 144 * 2**20, [0, 64 * 2**20, 128 * 2**20, 192 * 2**20]),
        ("bytes", 0, [0, 512, 1024, 1536]),
        ("share", 1, [0, 0.5, 1]),
        ("share", 1.3, [0, 0.5, 1, 1.5]),
        ("count/s", 780, [0, 250, 500, 750, 1000]),
    ],
)
def test_it_ends_axes_on_round_numbers(page: Page, unit: str, high: float, expected: list[float]) -> None:
    body = "const axis = { min: 0, max: given[1] }; m.roundAxis(axis, given[0], true);"

    ticks = run(page, "axes", f"{body} return m.valueTicks(axis).map((tick) => tick.value)", [unit, high])

    assert ticks == pytest.approx(expected)


def series_of(metric: str, **lines: list[float | None]) -> dict[str, Any]:
    given = [{"label": label, "mean": values} for label, values in lines.items()]
    return {"metric": metric, "unit": "x", "start": 0, "step": 15, "nodes": [2, 2, 2, 2], "lines": given}


def hit_lines(page: Page, nodes: int) -> list[list[Any]]:
    """Return label and values of each line of the hit ratio's chart, whose idle node hits always."""
    spec = json.loads(json.dumps(next(chart for chart in CHARTS if chart.key == "hits").spec(), default=str))
    found = [
        series_of("keyspace_hits_per_second", sum=[90, 0, None, 10]),
        series_of("keyspace_misses_per_second", sum=[10, 0, 5, None]),
        series_of("hit_ratio", max=[1, None, None, 1], min=[0.9, None, None, 1]),
    ]
    for series in found:
        series["nodes"] = [nodes] * 4
    body = (
        "const found = new Map(given[1].map((one) => [one.metric, one]));"
        "const lines = m.wholeCacheLines(given[0], found, { series: ['#111111', '#222222'], limit: '#333333' });"
        "return lines.map((line) => [line.label, line.data.map((point) => point.y)]);"
    )
    page.evaluate("document.getElementById('words').id = 'chart-words'")
    return run(page, "lines", body, [spec, found])  # type: ignore[no-any-return]


def test_the_hit_ratio_of_a_cache_weighs_nodes_by_their_lookups(page: Page) -> None:
    whole, highest, lowest = hit_lines(page, nodes=2)

    assert whole == ["whole cache", [0.9, None, None, None]]
    assert (highest[0], lowest[0]) == ("highest node", "lowest node")


def bounds_drawn(page: Page, metric: str, body: str) -> list[list[Any]]:
    """Return label, values and colour of the bounds that a chart of the highest CPU and the sum of keys draws."""
    bound = {"metric": metric, "value": 0.8, "level": "warning", "label": "busy", "rule": "r", "is_above": True}
    lines = [{"metric": "cpu", "over": "max", "label": "x"}, {"metric": "keys", "over": "sum", "label": "y"}]
    spec = {"lines": lines, "by_node": [{"metric": "keys", "label": "y"}], "bounds": [bound]}
    found = [series_of("cpu", max=[0.1, None]), series_of("keys", sum=[1, 2])]
    page.evaluate("document.getElementById('words').id = 'chart-words'")
    draw = (
        "const palette = { series: ['#111111', '#222222'], limit: '#333333', warning: '#444444', soft: '#555555' };"
        "const found = new Map(given[1].map((one) => [one.metric, one]));"
        f"const lines = {body};"
        "const bounds = lines.filter((line) => line.isBound);"
        "return bounds.map((line) => [line.label, line.data.map((point) => point.y), line.borderColor]);"
    )
    return run(page, "lines", draw, [spec, found])  # type: ignore[no-any-return]


def test_the_bound_of_a_rule_is_drawn_over_the_whole_range(page: Page) -> None:
    drawn = bounds_drawn(page, "cpu", "m.wholeCacheLines(given[0], found, palette)")

    assert drawn == [["busy", [0.8, 0.8], "#444444"]]


def test_a_sum_has_no_bound_of_a_node(page: Page) -> None:
    assert bounds_drawn(page, "keys", "m.wholeCacheLines(given[0], found, palette)") == []


def test_by_node_a_chart_has_the_bounds_of_the_chosen_metric(page: Page) -> None:
    assert bounds_drawn(page, "keys", "m.nodeLines(given[0], 'keys', found, palette)") == [
        ["busy", [0.8, 0.8], "#444444"]
    ]


@pytest.mark.parametrize(
    ("is_below", "values", "is_hidden"),
    [(False, [0.1], True), (False, [0.5], False), (True, [0.9], True), (True, [0.3], False)],
)
def test_a_bound_far_from_the_data_does_not_press_it_flat(
    page: Page, is_below: bool, values: list[float], is_hidden: bool
) -> None:
    page.evaluate("document.getElementById('words').id = 'chart-words'")
    line = {"data": [{"x": 0, "y": value} for value in values]}
    bound = {"isBelow": is_below, "data": [{"x": 0, "y": 0.2 if is_below else 0.8}]}

    assert run(page, "lines", "return m.isFar(given[1], m.rangeOf([given[0]]))", [line, bound]) is is_hidden


def test_one_node_has_one_line_of_hits(page: Page) -> None:
    assert hit_lines(page, nodes=1) == [["hit ratio", [1, None, None, 1]]]
