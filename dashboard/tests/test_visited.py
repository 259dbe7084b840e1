"""No page is left out by the browser tests: a new one that nobody looks at fails here."""

from collections.abc import Iterable
from urllib.parse import urlsplit

import pytest
from django.urls import Resolver404, resolve

from accounts.models import Role
from accounts.tests.cast import client_of
from dashboard.tests import visited
from dashboard.tests.test_guards import PAGES

NUMBERS = dict.fromkeys(("channel", "incident", "route", "book", "event", "scan", "key"), 1) | {"link": "x"}


def names(paths: Iterable[str]) -> set[str]:
    return {resolve(urlsplit(path).path).url_name or "" for path in paths}


@pytest.mark.django_db
def test_every_page_is_looked_at_in_a_browser() -> None:
    client = client_of(Role.ADMIN)
    # Acts answer 405; what sends people on, and what is written for programs, is no page.
    answers = {path: client.get(path) for path in PAGES}
    pages = [path for path, answer in answers.items() if answer.status_code not in {302, 405}]
    pages = [path for path in pages if "text/html" in answers[path].headers["Content-Type"]]

    looked_at = names(visited.PAGES) | names(path.format(**NUMBERS) for path in visited.MORE)

    assert names(pages) - looked_at - visited.NOT_VISITED == set()


@pytest.mark.parametrize("path", [*visited.PAGES, *visited.MORE])
def test_what_is_looked_at_exists(path: str) -> None:
    try:
        resolve(urlsplit(path.format(**NUMBERS)).path)
    except Resolver404:
        pytest.fail(f"{path} leads nowhere")
