"""What people do, in a real browser on the whole running product with its demo fleet."""

import re
from collections.abc import Callable
from functools import partial

from playwright.sync_api import Browser, Page, expect

from dashboard.tests import visited
from dashboard.tests.product import DESK, PATIENCE_SECONDS, PHONE, Product, Visit, looked_over, visit
from launcher import valkey
from launcher.waiting import until

HAS_POINTS = """
canvas => (window.Chart?.getChart(canvas)?.data.datasets ?? []).some(({ data }) => data.some(({ y }) => y !== null))
"""


def painted(page: Page, chart: str) -> bool:
    """Return whether the chart's canvas shows anything but its background."""
    return bool(
        page.locator(f"#{chart} canvas").evaluate(
            "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(v => v)"
        )
    )


def test_it_shows_every_cache_with_living_numbers(desk: Visit) -> None:
    page = desk.open("/")

    row = page.locator("tr", has_text="game-cache").first
    expect(row).to_contain_text("3 shards, 6 nodes")
    expect(row).to_contain_text(re.compile(r"[1-9][\d.,\u2009\u202f ]*/s"))
    expect(row).to_contain_text("of 500")


def test_it_leads_from_the_fleet_to_the_charts_of_a_cache(desk: Visit) -> None:
    page = desk.open("/")

    page.get_by_role("link", name="game-cache").first.click()

    expect(page.get_by_role("heading", name="game-cache")).to_be_visible()
    assert until(lambda: painted(page, "memory"), PATIENCE_SECONDS)


def test_it_goes_on_by_itself(desk: Visit) -> None:
    page = desk.open("/caches/game-cache/?span=900")
    with page.expect_response(lambda answer: "/series" in answer.url) as first:
        pass
    before = first.value.url

    with page.expect_response(lambda answer: "/series" in answer.url and answer.url != before):
        pass


def test_it_keeps_range_and_lines_in_the_address(desk: Visit) -> None:
    page = desk.open("/caches/game-cache/")

    page.get_by_role("button", name="6 h", exact=True).click()
    page.get_by_role("button", name="By node").click()

    expect(page).to_have_url(re.compile(r"span=21600.*by=node"))
    page.reload()
    expect(page.get_by_role("button", name="By node")).to_have_attribute("aria-pressed", "true")


def test_it_zooms_where_one_drags_and_back(desk: Visit) -> None:
    page = desk.open("/caches/game-cache/?span=3600")
    assert until(lambda: painted(page, "memory"), PATIENCE_SECONDS)
    # The hover waits until nothing moves any more.
    page.locator("#memory canvas").hover()
    box = page.locator("#memory canvas").bounding_box()
    assert box is not None

    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.5, steps=5)
    page.mouse.up()

    expect(page).to_have_url(re.compile(r"from=.*to="))
    page.locator("#zoom-reset").click()
    expect(page).to_have_url(re.compile(r"span=3600|/game-cache/$"))


def test_it_sorts_and_filters_in_the_address(desk: Visit) -> None:
    page = desk.open("/")

    page.get_by_placeholder(re.compile("Search")).fill("session")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"q=session"))
    expect(page.get_by_role("link", name="game-cache")).to_have_count(0)


def test_it_speaks_japanese_when_asked(desk: Visit) -> None:
    page = desk.open("/")

    page.get_by_role("button", name="日本語").click()

    expect(page.locator("html")).to_have_attribute("lang", "ja")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_it_remembers_the_theme(desk: Visit) -> None:
    page = desk.open("/")
    root = page.locator("html")
    seen = {root.get_attribute("data-bs-theme")}
    for _ in range(2):
        page.locator("[data-theme-toggle], #theme-toggle").first.click()
        seen.add(root.get_attribute("data-bs-theme"))

    chosen = root.get_attribute("data-bs-theme")
    page.reload()

    assert seen == {"light", "dark"}
    assert root.get_attribute("data-bs-theme") == chosen


def test_it_names_the_step_that_fails_when_a_connection_is_tested(desk: Visit) -> None:
    page = desk.open("/caches/new/")
    page.get_by_label("Address", exact=True).fill(f"redis://127.0.0.1:{valkey.free_port()}")

    page.get_by_role("button", name="Test connection").click()

    expect(page.locator("body")).to_contain_text("Nothing listens on this port")


def test_it_adds_a_server_that_is_not_ours(desk: Visit, valkey_server: Callable[[], valkey.Valkey]) -> None:
    server = valkey_server()
    page = desk.open("/caches/new/")
    page.get_by_label("Name", exact=True).fill("visitor")
    page.get_by_label("Address", exact=True).fill(server.url)

    page.get_by_role("button", name="Add the cache").click()

    expect(page.get_by_role("heading", name="visitor")).to_be_visible()
    expect(page.locator("#memory .chart-now")).to_have_text(re.compile(r"\d"))
    desk.product.manage("shell", "-c", "from fleet.models import Cache; Cache.objects.get(name='visitor').delete()")


def test_it_is_accessible_and_fits_on_every_page(browser: Browser, sampled: Product) -> None:
    # What does not fit, and what axe finds, shows on a phone: there all pages are looked at, on a desk the busiest.
    looks = [(path, (DESK, PHONE)) for path in visited.PAGES] + [(path, (PHONE,)) for path in visited.more(sampled)]
    seen = visit(browser, sampled)

    found = [problem for path, widths in looks for problem in looked_over(seen, path, *widths)]

    assert (found, seen.complaints, seen.strangers) == ([], [], [])
    seen.page.context.close()


def marked(page: Page, chart: str) -> list[str]:
    """Return what the flags on a chart stand for."""
    titles: list[str] = page.locator(f"#{chart} canvas").evaluate(
        "canvas => (Chart.getChart(canvas).flags ?? []).flatMap(flag => flag.events.map(event => event.title))"
    )
    return titles


def is_marked(page: Page, chart: str, title: str) -> bool:
    return title in marked(page, chart)


def test_it_shows_an_emulated_project_with_an_instance_of_each_product(desk: Visit) -> None:
    page = desk.open("/projects/demo-project/")

    main = page.locator("main")
    for short_id in ("sessions", "game", "far-away"):
        expect(main).to_contain_text(short_id)
    expect(main).to_contain_text(re.compile("pages|The demo has no Memcached instance here"))
    # Of this one the service alone tells.
    page = desk.open("/caches/far-away/?span=900")
    canvas = page.locator("#service-memory canvas")
    assert until(lambda: bool(canvas.evaluate(HAS_POINTS)), PATIENCE_SECONDS)


def test_a_note_is_marked_on_the_charts_until_they_are_switched_off(desk: Visit) -> None:
    page = desk.open("/caches/game-cache/")
    page.locator(".note-form summary").click()
    page.fill("input[name=title]", "Release <b>4.2</b>")
    page.get_by_role("button", name="Add the note").click()
    expect(page.locator(".events-table")).to_contain_text("Release <b>4.2</b>")

    page = desk.open("/caches/game-cache/")
    expect(page.locator("#memory .chart-now")).to_have_text(re.compile(r"\d.*MiB"))

    # Others may stand beside it: a slow machine has events of its own.
    for chart in ("memory", "memory-share"):
        assert until(partial(is_marked, page, chart, "Release <b>4.2</b>"), PATIENCE_SECONDS), marked(page, chart)
    canvas = page.locator("#memory canvas")
    x, y = canvas.evaluate("c => { const k = Chart.getChart(c); return [k.flags.at(-1).x, k.chartArea.top + 7] }")
    canvas.hover(position={"x": x, "y": y})
    expect(page.locator("#memory .event-tip")).to_contain_text("Release <b>4.2</b>")
    page.locator("#events-toggle").click()
    expect(page.locator("#events-toggle")).to_have_attribute("aria-pressed", "false")
    assert "events=off" in page.url


def test_a_switch_is_made_turned_off_and_on_again(desk: Visit) -> None:
    page = desk.open("/new-switch/")
    page.get_by_label("Key", exact=True).fill("user-cache")
    page.get_by_label("Cache", exact=True).select_option("session-store")
    page.get_by_role("button", name="Add the switch").click()
    expect(page.locator("#state-title")).to_contain_text("enabled")

    page.get_by_label("Why").first.fill("it evicts")
    page.get_by_role("button", name="Turn it off").click()

    # Nobody reports here: once the polls are quiet, or not, the page says what is missing without a click.
    expect(page.locator("#state-title")).to_contain_text(re.compile("draining|unproven"))
    expect(page.locator("#live")).to_contain_text(re.compile("No instance reports"))
    assert until(lambda: painted(page, "commands"), PATIENCE_SECONDS)
    page.get_by_label("Why").first.fill("it is well")
    page.get_by_role("button", name="Let them use the cache").click()
    expect(page.locator("#state-title")).to_contain_text("enabled")
