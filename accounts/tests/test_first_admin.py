"""The first administrator."""

import pytest

from accounts import first_admin
from accounts.models import AuditEntry, User

pytestmark = pytest.mark.django_db


def admin() -> User:
    return User.objects.get(username=first_admin.NAME)


def test_it_makes_an_administrator_with_a_random_password() -> None:
    made_up = first_admin.ensure()

    assert len(made_up) >= 12
    assert admin().check_password(made_up)
    assert admin().is_admin
    assert not admin().is_staff


def test_it_takes_the_password_that_is_given_and_does_not_tell_it() -> None:
    assert first_admin.ensure("correct horse staple") == ""
    assert admin().check_password("correct horse staple")


def test_it_leaves_an_administrator_alone() -> None:
    made_up = first_admin.ensure()

    assert first_admin.ensure() == ""
    assert admin().check_password(made_up)


def test_a_password_given_later_replaces_the_old_one_once() -> None:
    first_admin.ensure("the first password")

    first_admin.ensure("the second password")
    first_admin.ensure("the second password")

    assert admin().check_password("the second password")
    assert AuditEntry.objects.filter(action="user.password").count() == 1
