"""What administrators do with people, and that one of them always remains."""

from collections.abc import Callable

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation

from accounts import people
from accounts.models import ApiToken, AuditEntry, Role, User
from accounts.tests.cast import PASSWORD, client_of, person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["mika", "mika.s", "mika@example.com", "m+1", "a_b-c", "0"])
def test_it_takes_names_that_nobody_could_mistake(name: str) -> None:
    people.check_name(name)


@pytest.mark.parametrize("name", ["mikä", "\u0430dmin", "ａ", "a\u200bb", "\u202enimda", "ⅰ"])
def test_it_refuses_letters_that_look_like_others(name: str) -> None:
    with pytest.raises(ValidationError, match="English letters"):
        people.check_name(name)


@pytest.mark.parametrize("name", ["viewer", "Viewer", "VIEWER", "vIEWER"])
def test_capitals_make_no_other_name(name: str) -> None:
    person()

    with pytest.raises(ValidationError, match="“viewer”"):
        people.check_name(name)


def test_it_refuses_in_the_readers_language() -> None:
    with translation.override("ja"), pytest.raises(ValidationError) as refused:
        people.check_name("mikä")

    assert "English letters" not in refused.value.messages[0]


def test_somebody_without_a_password_cannot_sign_in() -> None:
    added = people.add_person(None, "ci", Role.OPERATOR, None)

    assert not added.has_usable_password()
    assert not added.check_password("")
    assert ApiToken.user_of(ApiToken.issue(added, "CI")[1]) == added


def demote(by: User, who: User) -> None:
    people.change_role(by, who, Role.OPERATOR)


def block(by: User, who: User) -> None:
    people.set_active(by, who, active=False)


@pytest.mark.parametrize("act", [demote, block])
def test_one_administrator_always_remains(act: Callable[[User, User], None]) -> None:
    admin = person(Role.ADMIN)
    person(Role.OPERATOR)

    with pytest.raises(ValidationError, match="only administrator left"):
        act(admin, admin)

    assert User.objects.get(pk=admin.pk).is_admin
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("act", [demote, block])
def test_one_of_two_may_go(act: Callable[[User, User], None]) -> None:
    first, second = person(Role.ADMIN), person(Role.ADMIN, "second")

    act(first, second)

    assert not User.objects.get(pk=second.pk).is_admin
    assert AuditEntry.objects.get().target == "second"


@pytest.mark.parametrize("act", [demote, block])
def test_a_blocked_administrator_does_not_count(act: Callable[[User, User], None]) -> None:
    first, second = person(Role.ADMIN), person(Role.ADMIN, "second")
    block(first, second)

    with pytest.raises(ValidationError, match="only administrator left"):
        act(first, first)


def test_a_new_password_ends_sessions_and_leaves_tokens() -> None:
    admin, user = person(Role.ADMIN), person()
    browser, text = client_of(Role.VIEWER), ApiToken.issue(user, "CI")[1]

    people.set_password(admin, user, "another long phrase")

    assert browser.get("/account/").status_code == 302
    assert ApiToken.user_of(text) == user


@pytest.mark.parametrize("role", Role.values)
def test_the_audit_tells_both_roles(role: str) -> None:
    admin, user = person(Role.ADMIN), person(Role.VIEWER, "mika")

    people.change_role(admin, user, role)

    entry = AuditEntry.objects.get()
    assert (entry.username, entry.target) == ("admin", "mika")
    assert entry.detail == {"before": "viewer", "after": role}


def test_no_password_stands_in_the_audit() -> None:
    admin = person(Role.ADMIN)

    user = people.add_person(admin, "mika", Role.VIEWER, PASSWORD)
    people.set_password(admin, user, PASSWORD)

    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == ["user.add", "user.password"]
    assert not [entry for entry in AuditEntry.objects.all() if PASSWORD in f"{entry.target}{entry.detail}"]


@pytest.mark.parametrize("act", ["role", "activate", "deactivate", "password"])
@pytest.mark.parametrize("user_id", ["0", "987654321", str(2**63), "9" * 40])
def test_there_is_nobody_with_an_odd_number(act: str, user_id: str) -> None:
    given = {"role": "viewer", "password": PASSWORD}

    assert client_of(Role.ADMIN).post(f"/users/{user_id}/{act}/", given).status_code == 404


@pytest.mark.parametrize("role", ["", "owner", "ADMIN", "admin\0", "x" * 10_000])
def test_an_unknown_role_changes_nothing(role: str) -> None:
    user = person()

    answer = client_of(Role.ADMIN).post(f"/users/{user.pk}/role/", {"role": role})

    assert answer.status_code in {302, 400}
    assert User.objects.get(pk=user.pk).role == Role.VIEWER
