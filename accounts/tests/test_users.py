import pytest

from accounts.models import ApiToken, AuditEntry, Role, User
from accounts.tests.cast import PASSWORD, client_of, person

pytestmark = pytest.mark.django_db


def test_it_adds_a_user_who_can_sign_in() -> None:
    client_of(Role.ADMIN).post("/users/new/", {"username": "mika", "role": "operator", "password": PASSWORD})

    user = User.objects.get(username="mika")
    assert (user.role, user.check_password(PASSWORD)) == (Role.OPERATOR, True)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"username": "admin"}, "There is a user “admin” already"),
        ({"username": "Admin"}, "There is a user “admin” already"),
        ({"username": "ADMIN"}, "There is a user “admin” already"),
        ({"username": "\u0430dmin"}, "English letters, digits"),
        ({"username": "ａｄｍｉｎ"}, "English letters, digits"),
        ({"username": "ad\u00admin"}, "English letters, digits"),
        ({"username": "Mikä"}, "English letters, digits"),
        ({"username": "a b"}, "valid username"),
        ({"username": "a\0b"}, "Null characters"),
        ({"password": "short"}, "too short"),
        ({"password": "password123"}, "too common"),
        ({"role": "owner"}, "valid choice"),
        ({"username": ""}, "required"),
    ],
)
def test_it_says_why_a_user_cannot_be_added(given: dict[str, str], part: str) -> None:
    whole = {"username": "mika", "role": "viewer", "password": PASSWORD, **given}

    response = client_of(Role.ADMIN).post("/users/new/", whole)

    assert response.status_code == 400
    assert part in response.content.decode()


def test_it_changes_a_role_and_notes_both() -> None:
    user = person()

    client_of(Role.ADMIN).post(f"/users/{user.pk}/role/", {"role": "operator"})

    assert User.objects.get(pk=user.pk).role == Role.OPERATOR
    assert AuditEntry.objects.get(action="user.role").detail == {"before": "viewer", "after": "operator"}


@pytest.mark.parametrize(("act", "given"), [("role", {"role": "viewer"}), ("deactivate", {})])
def test_it_keeps_the_last_administrator(act: str, given: dict[str, str]) -> None:
    client = client_of(Role.ADMIN)
    admin = User.objects.get()

    page = client.post(f"/users/{admin.pk}/{act}/", given, follow=True)

    assert "only administrator left" in page.content.decode()
    assert User.objects.get().is_admin


def test_it_shuts_out_with_sessions_and_tokens() -> None:
    user, browser = person(), client_of(Role.VIEWER)
    text = ApiToken.issue(user, "mine")[1]

    client_of(Role.ADMIN).post(f"/users/{user.pk}/deactivate/")

    assert browser.get("/account/").status_code == 302
    assert ApiToken.user_of(text) is None


def test_it_lets_in_again() -> None:
    user = person()
    User.objects.filter(pk=user.pk).update(is_active=False)

    client_of(Role.ADMIN).post(f"/users/{user.pk}/activate/")

    assert User.objects.get(pk=user.pk).is_active


def test_it_sets_a_password_for_somebody() -> None:
    user = person()

    client_of(Role.ADMIN).post(f"/users/{user.pk}/password/", {"password": "a new long phrase"})

    assert User.objects.get(pk=user.pk).check_password("a new long phrase")


def test_it_refuses_a_weak_password_for_somebody() -> None:
    user = person()

    page = client_of(Role.ADMIN).post(f"/users/{user.pk}/password/", {"password": "short"}, follow=True)

    assert "too short" in page.content.decode()
    assert User.objects.get(pk=user.pk).check_password(PASSWORD)


def test_it_needs_the_same_queries_for_many_users(django_assert_max_num_queries: pytest.FixtureRequest) -> None:
    client = client_of(Role.ADMIN)
    User.objects.bulk_create(User(username=f"user{number}") for number in range(50))

    with django_assert_max_num_queries(4):  # type: ignore[operator]
        client.get("/users/")
