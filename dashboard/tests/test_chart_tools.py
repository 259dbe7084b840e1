"""What charts offer beside their lines, TV mode and keyboard shortcuts, in a browser on the whole running product."""

import csv
import io
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from dashboard.tests.product import DESK, PHONE, Product, Visit, looked_over, problems_of, visit

BOARD = "/caches/game-cache/?span=900"
PNG = b"\x89PNG\r\n\x1a\n"
# As if the fleet had been polled a day ago as well.
YESTERDAY = """
from datetime import timedelta
from django.db import connection
from django.utils import timezone
from collectors.partitions import ensure_partition
for hours in (24, 25):
    ensure_partition("sample", timezone.now() - timedelta(hours=hours))
with connection.cursor() as cursor:
    cursor.execute("SELECT string_agg(column_name, ',') FROM information_schema.columns"
                   " WHERE table_name = 'sample' AND column_name <> 'at'")
    columns = cursor.fetchone()[0]
    cursor.execute(f"INSERT INTO sample (at, {columns}) SELECT at - interval '1 day', {columns} FROM sample"
                   " ON CONFLICT DO NOTHING")
"""

# As if two commands had been counted today and yesterday.
COUNTED = """
from datetime import timedelta
from django.utils import timezone
from collectors import tallies
from collectors.tallies import COMMAND, NodeTallies, Tally
from fleet.models import Node
ids = Node.objects.filter(cache__name="game-cache", role="primary").values_list("pk", flat=True)
counts = {name: Tally(calls=600, usec=9_000, buckets={4: 600}) for name in ("get", "set")}
for days in (0, 1):
    for minutes in range(2, 12):
        at = timezone.now() - timedelta(days=days, minutes=minutes)
        tallies.write([NodeTallies(pk, at, 60, COMMAND, counts) for pk in ids])
"""


def drawn(page: Page, chart: str) -> Locator:
    """Return the chart once it shows a line."""
    figure = page.locator(f"#{chart}")
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_attribute("data-state", "drawn")
    return figure


def choose(figure: Locator, item: str) -> None:
    figure.locator(".chart-menu > summary").click()
    figure.get_by_role("button", name=item).click()


def scale_of(figure: Locator) -> dict[str, Any]:
    found: dict[str, Any] = figure.locator("canvas").evaluate(
        "canvas => { const { type, min, max } = Chart.getChart(canvas).scales.y; return { type, min, max }; }"
    )
    return found


def labels_of(figure: Locator) -> list[str]:
    labels: list[str] = figure.locator("canvas").evaluate(
        "canvas => Chart.getChart(canvas).data.datasets.map((line) => line.label)"
    )
    return labels


def hidden_lines(figure: Locator) -> list[str]:
    labels: list[str] = figure.locator("canvas").evaluate(
        "canvas => Chart.getChart(canvas).data.datasets.filter((line) => line.hidden).map((line) => line.label)"
    )
    return labels


def point_at(figure: Locator, share: float) -> None:
    """Move the mouse over the chart, once it lies still."""
    canvas = figure.locator("canvas")
    box = canvas.bounding_box()
    assert box is not None
    canvas.hover(position={"x": box["width"] * share, "y": box["height"] / 2})


def test_it_shows_the_values_of_one_time_on_all_charts(desk: Visit) -> None:
    page = desk.open("/caches/game-cache/?span=10800")
    commands, memory = drawn(page, "commands"), drawn(page, "memory")

    point_at(memory, 0.3)

    expect(memory.locator(".chart-at")).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    expect(commands.locator(".chart-at")).to_have_text(memory.locator(".chart-at").inner_text())
    expect(commands.locator(".chart-legend b").first).to_have_text("no sample")
    page.mouse.move(2, 2)
    expect(commands.locator(".chart-at")).to_be_empty()
    expect(commands.locator(".chart-legend b").first).to_have_text(re.compile(r"\d.*/s"))


def test_a_finger_leaves_the_crosshair_where_it_touched(browser: Browser, sampled: Product) -> None:
    seen = visit(browser, sampled, PHONE)
    figure = drawn(seen.open(BOARD), "memory")

    figure.locator("canvas").dispatch_event("pointerdown", {"pointerType": "touch", "clientX": 200, "button": 0})
    figure.locator("canvas").dispatch_event("pointerleave", {"pointerType": "touch"})

    expect(figure.locator(".chart-at")).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    seen.page.locator("h1").dispatch_event("pointerdown")
    expect(figure.locator(".chart-at")).to_be_empty()
    seen.page.context.close()


def test_it_compares_with_the_day_before(desk: Visit) -> None:
    desk.product.manage("shell", "-c", YESTERDAY)
    page = desk.open(BOARD)
    figure = drawn(page, "memory")

    page.get_by_label("Compare with").select_option("Day before")

    expect(page).to_have_url(re.compile("compare=day"))
    expect(figure.locator(".chart-legend small").first).to_have_text(re.compile(r"before \d.*MiB"))
    assert "used, a day before" in labels_of(figure)
    page.get_by_label("Compare with").select_option("Week before")
    expect(page.locator("#compare-note")).to_have_text("No samples from that time.")


def test_commands_are_compared_as_sums_and_percentiles_one_by_one(desk: Visit) -> None:
    desk.product.manage("shell", "-c", COUNTED)
    page = desk.open("/caches/game-cache/commands/?span=900&compare=day")
    calls, p99 = drawn(page, "command-calls"), drawn(page, "command-p99")

    expect(page.get_by_label("Compare with")).to_have_value("day")
    assert labels_of(calls).count("a day before") == 1
    assert any(label.endswith(", a day before") for label in labels_of(p99))
    page.get_by_label("Compare with").select_option("Week before")
    expect(page.locator("#compare-note")).to_have_text("No samples from that time.")


def test_it_draws_all_or_one_on_a_logarithmic_scale(desk: Visit) -> None:
    page = desk.open(BOARD + "&scale=log")
    commands, evictions = drawn(page, "commands"), drawn(page, "evictions")

    scale = scale_of(commands)

    assert scale["type"] == scale_of(evictions)["type"] == "logarithmic"
    assert scale["min"] > 0
    choose(commands, "Logarithmic scale")
    expect(page).to_have_url(re.compile("scale=log%2Ccommands"))
    assert (scale_of(commands)["type"], scale_of(evictions)["type"]) == ("linear", "logarithmic")


def test_it_saves_true_values_with_times_and_units(desk: Visit, tmp_path: Path) -> None:
    page = desk.open(BOARD)
    figure = drawn(page, "memory")

    with page.expect_download() as saving:
        choose(figure, "Save as CSV")

    assert re.fullmatch(r"game-cache-memory-[\dT-]+Z\.csv", saving.value.suggested_filename)
    saving.value.save_as(tmp_path / "chart.csv")
    head, *rows = csv.reader(io.StringIO((tmp_path / "chart.csv").read_text()))
    values = [float(row[1]) for row in rows if row[1]]
    assert head[:2] == ["time", "used [bytes]"]
    assert datetime.fromisoformat(rows[1][0]) > datetime.fromisoformat(rows[0][0])
    assert min(values) > 2**20


def test_it_saves_a_picture(desk: Visit, tmp_path: Path) -> None:
    page = desk.open(BOARD)
    figure = drawn(page, "memory")

    with page.expect_download() as saving:
        choose(figure, "Save as PNG")

    saving.value.save_as(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(PNG)


def test_it_lists_the_points_in_a_table(desk: Visit) -> None:
    page = desk.open(BOARD)
    figure = drawn(page, "memory")

    choose(figure, "Show as a table")

    table = figure.get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(
        ["Time", "used", "resident", "data set", "peak", "maxmemory"]
    )
    expect(table.get_by_role("rowheader").first).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    expect(table.get_by_role("cell").first).to_have_text(re.compile(r"\d.*MiB"))
    figure.get_by_role("button", name="Close the table").click()
    expect(table).to_have_count(0)


def test_a_table_stands_still_while_it_is_read_and_then_follows(desk: Visit) -> None:
    page = desk.open(BOARD)
    figure = drawn(page, "memory")
    choose(figure, "Show as a table")
    newest = figure.get_by_role("table").get_by_role("rowheader").first
    read = newest.inner_text()

    for _ in range(2):
        page.wait_for_event("requestfinished", lambda asked: "/series" in asked.url)

    expect(newest).to_have_text(read)
    page.locator("h1").click()
    expect(newest).not_to_have_text(read)


def test_a_limit_out_of_the_picture_stands_in_the_table_unless_switched_off(desk: Visit) -> None:
    page = desk.open(BOARD)
    figure = drawn(page, "connections")
    limits = figure.get_by_role("table").get_by_role("columnheader", name="maxclients")

    choose(figure, "Show as a table")

    expect(limits).to_have_count(1)
    assert hidden_lines(figure) == ["total", "maxclients"]
    figure.get_by_role("button", name="maxclients").click()
    expect(limits).to_have_count(0)


def test_it_explains_a_chart(desk: Visit) -> None:
    page = desk.open(BOARD)
    figure = drawn(page, "memory")

    choose(figure, "Explain this chart")

    about = figure.get_by_role("region", name="About this chart")
    expect(about).to_contain_text("Memory that the allocator gave to the server.")
    expect(about).to_contain_text("Totals count primaries only")
    expect(about).to_contain_text("one point every 5 s, from the samples of each poll")


def test_a_link_restores_the_exact_view(desk: Visit) -> None:
    desk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = desk.open(BOARD + "&scale=log&by=node")
    choose(drawn(page, "commands"), "Copy the link to this view")
    expect(page.get_by_text("Link copied.")).to_be_visible()

    page.goto(page.evaluate("navigator.clipboard.readText()"))

    expect(page).to_have_url(re.compile(r"scale=log&by=node&from=[^&]+Z&to=[^&]+Z#commands"))
    assert scale_of(drawn(page, "commands"))["type"] == "logarithmic"
    expect(page.get_by_role("button", name="By node")).to_have_attribute("aria-pressed", "true")


def test_keys_press_the_buttons(desk: Visit) -> None:
    page = desk.open("/caches/game-cache/")
    drawn(page, "memory")

    for key in "3nl":
        page.keyboard.press(key)

    expect(page).to_have_url(re.compile(r"span=21600.*by=node.*scale=log"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Lines by node")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url("**/health/")


def test_keys_are_letters_in_fields_and_can_be_switched_off(desk: Visit) -> None:
    page = desk.open("/health/")
    page.keyboard.press("/")
    page.wait_for_url("**/#q")
    expect(page.locator("#q")).to_be_focused()

    page.keyboard.type("t?")
    expect(page.locator("#q")).to_have_value("t?")
    page.locator("#q").blur()
    page.keyboard.press("?")
    page.get_by_label("Use single-key shortcuts in this browser").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("t")

    expect(page.locator("html")).not_to_have_attribute("data-tv", "1")


def test_it_fills_a_screen_on_the_wall_and_goes_on(desk: Visit) -> None:
    for path in ("/?tv=1", BOARD + "&tv=1"):
        page = desk.open(path)
        expect(page.locator("main")).to_be_visible()
        for chrome in (".top-bar", ".page-foot", ".chart-tools", ".fleet-filter"):
            expect(page.locator(chrome)).to_be_hidden()
    with page.expect_response(lambda answer: "/series" in answer.url):
        pass

    page.keyboard.press("t")

    expect(page.locator(".top-bar")).to_be_visible()
    expect(page).not_to_have_url(re.compile("tv="))


def test_it_is_accessible_with_everything_open(browser: Browser, sampled: Product) -> None:
    seen = visit(browser, sampled)
    page = seen.open(BOARD + "&compare=day&scale=log")
    choose(drawn(page, "memory"), "Show as a table")
    choose(drawn(page, "commands"), "Explain this chart")
    page.locator("#connections .chart-menu > summary").click()
    found = problems_of(page, PHONE)

    page.keyboard.press("Escape")
    page.keyboard.press("?")
    found += problems_of(page, DESK)
    found += looked_over(seen, "/?tv=1", DESK, PHONE)

    assert (found, seen.complaints, seen.strangers) == ([], [], [])
    seen.page.context.close()
