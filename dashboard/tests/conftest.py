"""A browser, and the whole running product to look at with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from dashboard.tests.product import PATIENCE_SECONDS, SWITCHES, Product, Visit, is_complete, started, visit
from launcher.spreading import lent
from launcher.waiting import until


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    """A browser for one module: while it runs, Django's database is out of reach of this thread."""
    expect.set_options(timeout=PATIENCE_SECONDS * 1000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium_path, args=list(SWITCHES))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def product(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with lent(request, lambda: started(tmp_path_factory.mktemp("product") / "var")) as running:
        yield running


@pytest.fixture(scope="module")
def sampled(request: pytest.FixtureRequest, product: Product, browser: Browser) -> Iterator[Product]:
    """The product once both caches are laid out and every line of their charts has two points."""
    with lent(request, lambda: drawn(product, browser)) as seen:
        yield seen


@contextmanager
def drawn(product: Product, browser: Browser) -> Iterator[Product]:
    seen = visit(browser, product, height=9_000)
    for cache, size in (("game-cache", "6 nodes"), ("session-store", "2 nodes")):
        page = seen.open(f"/caches/{cache}/?span=900")
        expect(page.locator(".cache-facts")).to_contain_text(size)
        assert until(partial(is_complete, page), 3 * PATIENCE_SECONDS), page.locator("main").inner_text()
    seen.page.context.close()
    yield product


@pytest.fixture
def desk(browser: Browser, sampled: Product) -> Iterator[Visit]:
    """A window on a desk; afterwards nothing may have complained or left the house."""
    seen = visit(browser, sampled)
    yield seen
    assert (seen.complaints, seen.strangers) == ([], [])
    seen.page.context.close()
