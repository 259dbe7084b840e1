import pytest
from django.test import Client

from accounts.models import AuditEntry, Role, User
from accounts.tests.cast import PASSWORD, bearer_of, client_of, person
from dashboard.tests.api import ROOT, call
from fleet.models import Cache
from fleet.registration import register

pytestmark = pytest.mark.django_db

READS = [
    ("get", "/caches"),
    ("get", "/caches/game"),
    ("get", "/caches/game/nodes"),
    ("get", "/caches/game/series?metric=used_memory"),
    ("get", "/caches/game/commands"),
    ("get", "/caches/game/commands/nodes?command=get"),
    ("get", "/caches/game/commands/series"),
    ("get", "/caches/game/errors"),
    ("get", "/caches/game/errors/series"),
    ("get", "/metrics"),
    ("get", "/tokens"),
]
# What an operator may do, with a body that is refused, so that only the right to do it is tested.
WRITES = [("post", "/caches"), ("patch", "/caches/game"), ("post", "/caches/test")]


@pytest.mark.parametrize(("method", "path"), [*READS, *WRITES, ("post", "/tokens"), ("delete", "/tokens/1")])
def test_it_answers_nobody_without_a_token(method: str, path: str) -> None:
    answer = call("", method, path)

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(("method", "path"), READS)
@pytest.mark.parametrize("role", Role.values)
def test_it_lets_every_role_read(role: str, method: str, path: str) -> None:
    register({"name": "game", "address": "redis://a"})

    assert call(role, method, path).status_code == 200


@pytest.mark.parametrize(("method", "path"), WRITES)
@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.OPERATOR, 400), (Role.ADMIN, 400)])
def test_it_lets_operators_write(role: str, status: int, method: str, path: str) -> None:
    register({"name": "game", "address": "redis://a"})

    assert call(role, method, path, {"nonsense": 1}).status_code == status


def test_it_tells_a_viewer_why_a_cache_cannot_be_removed() -> None:
    register({"name": "game", "address": "redis://a"})

    answer = call(Role.VIEWER, "delete", "/caches/game")

    assert (answer.status_code, answer.json()["error"][:40]) == (403, "Only an operator or an administrator may")
    assert Cache.objects.exists()


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Bearer x", "Bearer sw_" + "x" * 10_000, "Basic YTpi", "Bearer sw_é", "bearer\tx"]
)
def test_it_refuses_what_is_no_token(header: str) -> None:
    assert call("", "get", "/caches", headers={"Authorization": header}).status_code == 401


def test_it_refuses_the_token_of_somebody_shut_out() -> None:
    headers = bearer_of(Role.ADMIN)
    User.objects.update(is_active=False)

    assert call("", "get", "/caches", headers=headers).status_code == 401


def test_it_takes_the_session_of_the_pages_for_reading() -> None:
    assert client_of(Role.VIEWER).get(f"{ROOT}/caches").status_code == 200


def session(csrf_token: bool) -> tuple[int, str]:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person(Role.OPERATOR))
    browser.get("/account/")
    headers = {"X-CSRFToken": browser.cookies["csrftoken"].value} if csrf_token else {}
    answer = browser.post(f"{ROOT}/tokens", {"name": "a"}, content_type="application/json", headers=headers)
    return answer.status_code, answer.content.decode()


def test_it_wants_the_csrf_token_where_a_session_writes() -> None:
    status, body = session(csrf_token=False)

    assert status == 403
    assert "X-CSRFToken" in body


def test_it_lets_a_session_write_with_the_csrf_token() -> None:
    assert session(csrf_token=True)[0] == 201


def test_it_ignores_a_session_beside_a_bad_token() -> None:
    answer = client_of(Role.ADMIN).get(f"{ROOT}/caches", headers={"Authorization": "Bearer sw_wrong"})

    assert answer.status_code == 401


def test_it_notes_who_wrote_by_token() -> None:
    call(Role.OPERATOR, "post", "/tokens", {"name": "CI"})

    assert AuditEntry.objects.get().username == "operator"


@pytest.mark.parametrize(("path", "allow"), [("/metrics", "GET"), ("/caches/game/nodes", "GET")])
def test_it_says_which_methods_an_address_takes(path: str, allow: str) -> None:
    answer = Client().put(f"{ROOT}{path}", headers=bearer_of())

    assert (answer.status_code, answer["Allow"]) == (405, allow)
    assert "GET only" in answer.json()["error"]


@pytest.mark.parametrize("path", ["", "/", "/nothing", "/caches/game/nothing"])
def test_it_answers_json_where_there_is_nothing(path: str) -> None:
    answer = Client().get(f"{ROOT}{path}")

    assert answer.status_code in {404, 301}
    assert answer.status_code == 301 or "openapi.json" in answer.json()["error"]


def test_it_describes_itself_to_everybody() -> None:
    answer = Client().get(f"{ROOT}/openapi.json")

    assert answer.json()["openapi"] == "3.1.0"
    assert PASSWORD not in answer.content.decode()
