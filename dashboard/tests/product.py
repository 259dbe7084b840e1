"""The whole product with its demo fleet, started as a person starts it, and a browser on it."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Page, expect

from launcher.checkout import ROOT
from launcher.waiting import until

PASSWORD = "correct horse battery"
START_SECONDS = 150
# For what is drawn a poll or two later, on a machine with other work.
PATIENCE_SECONDS = 30
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESK, PHONE, HEIGHT = 1440, 390, 900
SERIOUS = {"serious", "critical"}
# No other rule of axe looks at colours, and none at the room that there is.
OF_COLOURS = ("color-contrast", "link-in-text-block")
OF_LAYOUT = ("scrollable-region-focusable",)
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
FIT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Product:
    """A running Shardwatch: its folder and its address, without the slash at the end."""

    data: Path
    url: str

    def manage(self, *words: str) -> str:
        return door("manage", "--data", str(self.data), *words)


def door(name: str, *words: str, **more: str) -> str:
    """Run a door of bin/ as from a shell that knows nothing of the tests; return what it prints."""
    foreign = ("DATABASE_URL", "CELERY_BROKER_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE")
    kept = {k: v for k, v in os.environ.items() if k not in foreign and not k.startswith("SHARDWATCH_")}
    done = subprocess.run(
        [str(ROOT / "bin" / name), *words],
        env={**kept, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=START_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def started(data: Path) -> Iterator[Product]:
    """Bring the product up with its demo fleet, polled every five seconds; stop it at the end."""
    settings = {"SHARDWATCH_ADMIN_PASSWORD": PASSWORD, "SHARDWATCH_POLL_INTERVAL_SECONDS": "5"}
    door("up", "--data", str(data), "--detach", **settings)
    try:
        yield Product(data, json.loads((data / "run.json").read_text())["url"].rstrip("/"))
    finally:
        door("up", "--data", str(data), "--stop")


@dataclass(slots=True)
class Visit:
    """A browser window with what went wrong in it."""

    page: Page
    product: Product
    complaints: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(self.product.url + path)
        return self.page


def visit(browser: Browser, product: Product, width: int = DESK, height: int = HEIGHT) -> Visit:
    """Open a window, signed in as the administrator; note console errors and requests to other hosts."""
    context: BrowserContext = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="light", locale="en-US", timezone_id="Asia/Tokyo"
    )
    made = Visit(context.new_page(), product)
    made.page.on("console", lambda said: made.complaints.append(said.text) if said.type == "error" else None)
    made.page.on("pageerror", lambda error: made.complaints.append(str(error)))
    made.page.on(
        "request",
        lambda asked: (
            None if asked.url.startswith((product.url, "data:", "blob:")) else made.strangers.append(asked.url)
        ),
    )
    made.open("/login/")
    made.page.fill("input[name=username]", "admin")
    made.page.fill("input[name=password]", PASSWORD)
    made.page.press("input[name=password]", "Enter")
    made.page.wait_for_url(f"{product.url}/")
    return made


COMPLETE = """
() => [...document.querySelectorAll("figure.chart")].every((figure) => {
  const lines = window.Chart?.getChart(figure.querySelector("canvas"))?.data.datasets ?? [];
  return lines.length && lines.every(({ data }) => data.filter(({ y }) => y !== null).length > 1);
})
"""


def is_complete(page: Page) -> bool:
    """Return whether every line of every chart on the page has two points; charts out of the window have none."""
    return bool(page.evaluate(COMPLETE))


def looked_over(seen: Visit, path: str, *widths: int) -> list[str]:
    """Open a page in light colours and at the first of these widths; return what is wrong with it."""
    in_colours(seen.page, "light")
    fit(seen.page, widths[0])
    page = seen.open(path)
    page.wait_for_load_state("load")
    return [f"{path}, {problem}" for problem in problems_of(page, *widths[1:])]


def problems_of(page: Page, *widths: int) -> list[str]:
    """Return what is wrong with an open page, for people who cannot see it well and for whoever looks at it.

    Its words, roles and colours are the same at every width, all but the colours in every scheme: after the first look
    only what differs is looked at.
    """
    found = [f"light: {problem}" for problem in barriers(page)]
    in_colours(page, "dark")
    found += [f"dark: {problem}" for problem in barriers(page, OF_COLOURS)]
    for width in widths:
        fit(page, width)
        found += [f"{width} px: {problem}" for problem in barriers(page, OF_LAYOUT)]
    in_colours(page, "light")
    return found


def in_colours(page: Page, scheme: Literal["dark", "light"]) -> None:
    """Have the system ask for these colours, and wait until the page has them."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", scheme)
    page.wait_for_function("document.getAnimations().every((moved) => !(moved instanceof CSSTransition))")


def fit(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})


def barriers(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Return what these rules of axe find, or all of them, and whether the page is wider than its window."""
    # It stays in a page, however often that is asked.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    only: dict[str, Any] = {"runOnly": list(rules)} if rules else {}
    found = page.evaluate("(options) => axe.run(options)", {"resultTypes": ["violations"], **only})
    serious = [f"{one['id']} {one['nodes'][0]['html']}" for one in found["violations"] if one["impact"] in SERIOUS]
    # Charts follow a new width a moment later.
    return serious + ([] if until(lambda: page.evaluate(FITS), FIT_SECONDS) else ["wider than the window"])
