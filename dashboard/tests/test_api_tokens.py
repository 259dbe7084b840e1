from typing import Any

import pytest

from accounts.models import ApiToken, Role
from accounts.tests.cast import person
from dashboard.tests.api import call

pytestmark = pytest.mark.django_db


def test_it_creates_a_token_and_shows_it_once() -> None:
    answer = call(Role.VIEWER, "post", "/tokens", {"name": "CI", "expires_in_days": 30})

    text = answer.json()["token"]
    user = ApiToken.user_of(text)
    assert user is not None
    assert user.username == "viewer"
    assert text not in call(Role.VIEWER, "get", "/tokens").content.decode()


def test_it_lists_own_tokens_only() -> None:
    ApiToken.issue(person(username="other"), "theirs")

    names = [token["name"] for token in call(Role.VIEWER, "get", "/tokens").json()["tokens"]]

    assert names == ["test"]


def test_it_revokes_a_token() -> None:
    created = call(Role.VIEWER, "post", "/tokens", {"name": "CI"}).json()

    assert call(Role.VIEWER, "delete", f"/tokens/{created['id']}").status_code == 204
    assert ApiToken.user_of(created["token"]) is None


def test_it_does_not_revoke_somebody_elses_token() -> None:
    token, text = ApiToken.issue(person(username="other"), "theirs")

    assert call(Role.ADMIN, "delete", f"/tokens/{token.pk}").status_code == 404
    assert ApiToken.user_of(text)


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "x" * 101}, {"name": 1}, {"name": "a", "expires_in_days": 0}]
)
def test_it_refuses_odd_tokens(body: dict[str, Any]) -> None:
    assert call(Role.VIEWER, "post", "/tokens", body).status_code == 400


@pytest.mark.parametrize(("number", "status"), [("0", 404), ("-1", 404), (str(2**70), 404), ("x", 400), ("1e3", 400)])
def test_it_knows_no_token_of_an_odd_number(number: str, status: int) -> None:
    assert call(Role.VIEWER, "delete", f"/tokens/{number}").status_code == status
