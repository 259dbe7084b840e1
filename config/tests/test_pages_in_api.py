"""The README says that what pages show of caches is in the API, too."""

import pytest
from django.urls import reverse

from config.api import api

PAGES = {
    "fleet": "/fleet",
    "health": "/health",
    "fleet-events": "/events",
    "cache": "/caches/{name}",
    "cache-commands": "/caches/{name}/commands",
    "cache-latency": "/caches/{name}/latency",
    "cache-clients": "/caches/{name}/clients",
    "cache-balance": "/caches/{name}/balance",
    "cache-internals": "/caches/{name}/internals",
    "cache-slowlog": "/caches/{name}/slowlog",
}


@pytest.mark.parametrize("page", PAGES)
def test_the_api_has_what_the_page_shows(page: str) -> None:
    arguments = ["game"] if page.startswith("cache") else []
    known = [path for path in api.get_openapi_schema()["paths"] if path.startswith(f"/api/v1{PAGES[page]}")]

    assert reverse(page, args=arguments)
    assert known
