"""Who may do what, over all addresses that there are: a new one that nobody guards fails here."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import AuditEntry, Role
from accounts.tests.cast import bearer_of, client_of, person
from dashboard.tests.api import ROOT, schema
from fleet.models import Cache

pytestmark = pytest.mark.django_db

# Nothing has these names, so that a guard that is missing shows as 404, not as an act.
FILLED = {"int": "987654321", "str": "nowhere", "slug": "nothing"}
# What needs no person, and what says itself that it wants a token.
OPEN = {"/healthz", "/readyz", "/login/", "/i18n/setlang/", "/acknowledge/nowhere/", "/hooks/pagerduty/987654321/"}
TOKENS = {"/metrics", "/metrics/fleet"}
# What everybody may change: what is their own, what a link gives them, or what is signed.
OWN = ("/account/", "/login/", "/logout/", "/i18n/setlang/", "/acknowledge/", "/hooks/")
ADMINISTRATORS = ("/users/", "/audit/", "/channels/", "/routes/")
# Operations that are asked by POST, as the question is long, and write nothing.
QUESTIONS = ("/preview", "/routes/test")


def addresses(parts: list[Any], before: str = "/") -> Iterator[str]:
    for part in parts:
        route = before + str(part.pattern)
        if isinstance(part, URLResolver):
            yield from addresses(part.url_patterns, route)
        elif isinstance(part, URLPattern) and not route.startswith("/api/"):
            yield filled(route, part)


def filled(route: str, pattern: URLPattern) -> str:
    for name, converter in pattern.pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower().replace("string", "str")
        route = route.replace(f"<{kind}:{name}>", FILLED[kind])
    return route


def operations() -> Iterator[tuple[str, str]]:
    for template, found in schema()["paths"].items():
        path = template
        for parameter in next(iter(found.values())).get("parameters", []):
            kind = "int" if parameter["schema"].get("type") == "integer" else "str"
            path = path.replace(f"{{{parameter['name']}}}", FILLED[kind])
        yield from ((method, path) for method in found)


PAGES = list(addresses(get_resolver().url_patterns))
OPERATIONS = list(operations())
OTHERS = [path for path in PAGES if not path.startswith(OWN)]
WRITES = [(method, path) for method, path in OPERATIONS if method != "get"]


def strange(client: Client, method: str, paths: list[str], expected: set[int]) -> dict[str, int]:
    """Return the addresses that answer something else."""
    statuses = {path: getattr(client, method)(path).status_code for path in paths}
    return {path: status for path, status in statuses.items() if status not in expected}


def written(role: str) -> dict[str, int]:
    """Return what every writing operation answers a token of the role for an empty body."""
    client, headers, given = Client(), bearer_of(role), {"data": {}, "content_type": "application/json"}
    return {
        f"{method} {path}": getattr(client, method)(path, headers=headers, **given).status_code
        for method, path in WRITES
    }


def test_it_looks_at_all_of_them() -> None:
    assert (len(PAGES) > 50, len(OPERATIONS) > 50) == (True, True)
    assert [path for path in PAGES if "<" in path] == []


def test_a_visitor_is_sent_to_sign_in() -> None:
    closed = [path for path in PAGES if path not in OPEN | TOKENS]

    answers = {path: Client().get(path) for path in closed}

    assert {path: answer.get("Location") for path, answer in answers.items()} == {
        path: f"/login/?next={path}" for path in closed
    }


def test_a_visitor_changes_nothing() -> None:
    closed = [path for path in PAGES if path not in OPEN | TOKENS]

    assert strange(Client(), "post", closed, {302, 405}) == {}
    assert not AuditEntry.objects.exists()


def test_a_viewer_changes_nothing_but_what_is_their_own() -> None:
    assert strange(client_of(Role.VIEWER), "post", OTHERS, {403, 405}) == {}


def test_an_operator_is_kept_from_people_and_channels() -> None:
    kept = [path for path in OTHERS if path.startswith(ADMINISTRATORS)]

    assert strange(client_of(Role.OPERATOR), "post", kept, {403, 405}) == {}


def test_an_operator_is_kept_from_nothing_else() -> None:
    free = [path for path in OTHERS if not path.startswith(ADMINISTRATORS)]

    assert strange(client_of(Role.OPERATOR), "post", free, {200, 302, 400, 404, 405}) == {}


@pytest.mark.parametrize("method", ["get", "post"])
def test_no_role_keeps_an_administrator_out(method: str) -> None:
    assert strange(client_of(Role.ADMIN), method, OTHERS, {200, 302, 400, 404, 405, 503}) == {}


def test_a_form_of_another_site_does_nothing() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person(Role.ADMIN))

    assert strange(browser, "post", PAGES, {403, 405}) == {}


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_no_page_takes_other_methods(method: str) -> None:
    closed = [path for path in PAGES if path not in OPEN]

    assert strange(client_of(Role.ADMIN), method, closed, {404, 405}) == {}


def test_no_operation_serves_nobody() -> None:
    answers = [getattr(Client(), method)(path) for method, path in OPERATIONS]

    assert {(answer.status_code, answer.get("WWW-Authenticate")) for answer in answers} == {(401, "Bearer")}
    assert all("Authorization: Bearer" in answer.json()["error"] for answer in answers)


def test_a_viewer_writes_only_tokens_of_their_own() -> None:
    free = {path for path, status in written(Role.VIEWER).items() if status != 403 and not path.endswith(QUESTIONS)}

    assert free == {f"post {ROOT}/tokens", f"delete {ROOT}/tokens/{FILLED['int']}"}


def test_an_operator_writes_all_but_what_administrators_do() -> None:
    statuses = written(Role.OPERATOR)

    assert {path for path, status in statuses.items() if status == 403} == {
        path for path in statuses if "/channels" in path
    }


def test_nothing_that_is_written_in_vain_is_an_error_of_ours() -> None:
    assert {path: status for path, status in written(Role.ADMIN).items() if status not in {400, 404}} == {}


def test_a_session_writes_nothing_without_its_csrf_token() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person(Role.ADMIN))

    answers = [getattr(browser, method)(path, {}, content_type="application/json") for method, path in WRITES]

    assert {answer.status_code for answer in answers} == {403}
    assert all("X-CSRFToken" in answer.json()["error"] for answer in answers)


def test_a_viewer_reads_every_answer_but_those_about_channels() -> None:
    paths = [path for method, path in OPERATIONS if method == "get" and "/channels" not in path]
    headers = bearer_of(Role.VIEWER)

    answers = {path: Client().get(path, headers=headers) for path in paths}

    assert {path for path, answer in answers.items() if answer.status_code not in {200, 400, 404}} == set()
    assert all(answer.status_code == 200 or answer.json()["error"] for answer in answers.values())


def test_a_refused_act_leaves_no_trace() -> None:
    Cache.objects.create(name="game", address="redis://127.0.0.1:1")
    browser = client_of(Role.VIEWER)

    for act in ("delete", "edit"):
        browser.post(f"/caches/game/{act}/", {"name": "game"})

    assert Cache.objects.get().revision == 1
    assert not AuditEntry.objects.exists()
