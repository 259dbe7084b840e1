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
# Runs in the page from its first moment on: notes when a chart says that it is drawn and has a pixel that is not blank.
WATCH_CANVASES = """
(() => {
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


@dataclass(slots=True)
class Person:
    """A name and a password made up for one bench."""

    name: str = "bench"
    password: str = field(default_factory=lambda: secrets.token_urlsafe(16))


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    seconds: float


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


def first_charts(program: str, port: int, cookies: Mapping[str, str], path: str, runs: int) -> list[float]:
    """Return the milliseconds from asking for the page to its first chart painted, files being cached."""
    address = f"http://127.0.0.1:{port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(BROWSER_OPTIONS))
        # Our policy forbids what Playwright asks pages with; it costs no time.
        context = browser.new_context(bypass_csp=True, viewport={"width": 1920, "height": 1080})
        context.add_cookies([_cookie(name, value, address) for name, value in cookies.items()])
        context.add_init_script(WATCH_CANVASES)
        page = context.new_page()
        taken = [_first_chart(page, address + path) for _ in range(runs + 1)]
        browser.close()
    return taken[1:]


def _cookie(name: str, value: str, address: str) -> Any:
    return {"name": name, "value": value, "url": address}


def _first_chart(page: Page, address: str) -> float:
    page.goto(address)
    page.wait_for_function("window.firstChartAt", timeout=PATIENCE_SECONDS * 1000)
    return float(page.evaluate("window.firstChartAt"))
