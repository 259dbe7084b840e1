import pytest

from accounts.models import ApiToken, AuditEntry, User
from accounts.tests.cast import PASSWORD, client_of, person

pytestmark = pytest.mark.django_db


def test_it_shows_a_new_token_once() -> None:
    client = client_of()

    page = client.post("/account/tokens/", {"name": "CI", "days": "30"})

    text = page.context["new_token_text"]
    assert text in page.content.decode()
    assert text not in client.get("/account/").content.decode()
    assert ApiToken.user_of(text) == User.objects.get()


def test_it_lets_no_proxy_keep_the_page_with_a_token() -> None:
    page = client_of().post("/account/tokens/", {"name": "CI"})

    assert "no-store" in page["Cache-Control"]


def test_it_keeps_no_token_in_the_audit() -> None:
    page = client_of().post("/account/tokens/", {"name": "CI"})

    entry = AuditEntry.objects.get(action="token.add")
    assert page.context["new_token_text"] not in str(entry.detail)


def test_it_revokes_own_tokens_only() -> None:
    client, other = client_of(), person(username="other")
    theirs, text = ApiToken.issue(other, "theirs")

    response = client.post(f"/account/tokens/{theirs.pk}/revoke/")

    assert response.status_code == 404
    assert ApiToken.user_of(text) == other


def test_it_ends_a_revoked_token_at_once() -> None:
    client = client_of()
    token, text = ApiToken.issue(User.objects.get(), "mine")

    client.post(f"/account/tokens/{token.pk}/revoke/")

    assert ApiToken.user_of(text) is None
    assert AuditEntry.objects.filter(action="token.revoke", target="mine").exists()


@pytest.mark.parametrize("token_id", ["0", str(2**63), "9" * 40])
def test_it_knows_no_tokens_with_odd_numbers(token_id: str) -> None:
    assert client_of().post(f"/account/tokens/{token_id}/revoke/").status_code == 404


def test_it_keeps_a_chosen_time_zone() -> None:
    client_of().post("/account/time-zone/", {"time_zone": "Asia/Tokyo"})

    assert User.objects.get().time_zone == "Asia/Tokyo"


def test_it_refuses_a_time_zone_that_does_not_exist() -> None:
    response = client_of().post("/account/time-zone/", {"time_zone": "Moon/Base"})

    assert response.status_code == 400
    assert User.objects.get().time_zone == ""


def test_it_changes_the_own_password_and_stays_signed_in() -> None:
    client = client_of()
    words = {"old_password": PASSWORD, "new_password1": "another long phrase", "new_password2": "another long phrase"}

    client.post("/account/password/", words)

    assert client.get("/account/").status_code == 200
    assert User.objects.get().check_password("another long phrase")


def test_it_ends_other_sessions_when_the_password_changes() -> None:
    here, elsewhere = client_of(), client_of()
    words = {"old_password": PASSWORD, "new_password1": "another long phrase", "new_password2": "another long phrase"}

    here.post("/account/password/", words)

    assert elsewhere.get("/account/").status_code == 302


def test_it_wants_the_old_password() -> None:
    words = {"old_password": "wrong", "new_password1": "another long phrase", "new_password2": "another long phrase"}

    assert client_of().post("/account/password/", words).status_code == 400
    assert User.objects.get().check_password(PASSWORD)
