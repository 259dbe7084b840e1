"""Someone who is signed in: requests over one kept connection, and first charts in a real browser."""

import http.client
import http.cookies
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

PATIENCE_SECONDS = 30.0
BROWSER_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# All charts of a page lie in a window so high.
TALL = 12_000
# Runs in the page from its first moment on: notes when a chart says that it is drawn and has a pixel that is not blank,
# and the longest task of the main thread.
WATCH = """
(() => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
  }).observe({ type: "longtask", buffered: true });
  const isPainted = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Uint32Array(data.buffer).some((pixel) => pixel);
  };
  const look = () => {
    const canvas = document.querySelector('[data-state="drawn"] canvas');
    if (canvas && isPainted(canvas)) window.firstChartAt = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
JSON_SENT = """
performance.getEntriesByType("resource")
  .filter((entry) => entry.name.includes("/api/"))
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0)
"""


@dataclass(slots=True)
class Person:
    """A name and a password made up for one bench."""

    name: str = "bench"
    password: str = field(default_factory=lambda: secrets.token_urlsafe(16))


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    seconds: float


@dataclass(frozen=True, slots=True)
class Look:
    """What one visit to a page with charts took: until the first was painted, the longest task, the JSON sent."""

    first_chart_seconds: float
    longest_ms: float
    json_bytes: float


class Visitor:
    """A client with the cookies of one session."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        self.cookies: dict[str, str] = {}

    def sign_in(self, person: Person) -> None:
        """Raise RuntimeError where the sign-in is refused."""
        # Not compressed, for it is read here.
        page = self._request("GET", "/login/", (200,), None, {"Accept-Encoding": "identity"})
        found = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', page.body)
        if found is None:
            raise RuntimeError("The page to sign in has no form.")
        form = {"csrfmiddlewaretoken": found[1].decode(), "username": person.name, "password": person.password}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        self._request("POST", "/login/", (302,), urlencode(form), headers)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer as it came, compressed or not. Raise RuntimeError unless the status is 200 or 204."""
        return self._request("GET", path, (200, 204), None, {"Accept-Encoding": "gzip", **(headers or {})})

    def _request(
        self, method: str, path: str, wanted: tuple[int, ...], body: str | None, headers: Mapping[str, str]
    ) -> Answer:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        began = time.perf_counter()
        self.connection.request(method, path, body, {**headers, "Cookie": cookies})
        reply = self.connection.getresponse()
        content = reply.read()
        seconds = time.perf_counter() - began
        if reply.status not in wanted:
            raise RuntimeError(f"{method} {path} answered {reply.status}.")
        for header in reply.headers.get_all("Set-Cookie") or []:
            self.cookies |= {name: morsel.value for name, morsel in http.cookies.SimpleCookie(header).items()}
        return Answer(content, seconds)


def looks(program: str, port: int, cookies: Mapping[str, str], path: str, runs: int) -> list[Look]:
    """Return what a browser sees of a page with all its charts in sight, files being cached."""
    address = f"http://127.0.0.1:{port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(BROWSER_OPTIONS))
        # Our policy forbids what Playwright asks pages with; it costs no time.
        context = browser.new_context(bypass_csp=True, viewport={"width": 1920, "height": TALL})
        context.add_cookies([_cookie(name, value, address) for name, value in cookies.items()])
        context.add_init_script(WATCH)
        page = context.new_page()
        seen = [_look(page, address + path) for _ in range(runs + 1)]
        browser.close()
    return seen[1:]


def _cookie(name: str, value: str, address: str) -> Any:
    return {"name": name, "value": value, "url": address}


def _look(page: Page, address: str) -> Look:
    page.goto(address, wait_until="networkidle")
    page.wait_for_function("window.firstChartAt", timeout=PATIENCE_SECONDS * 1000)
    return Look(page.evaluate("window.firstChartAt") / 1000, page.evaluate("window.longest"), page.evaluate(JSON_SENT))
