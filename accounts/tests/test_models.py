"""Roles and the audit."""

import pytest
from django.utils import timezone

from accounts.models import RANK, ApiToken, AuditEntry, Role, User
from accounts.tests.cast import person


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (Role.VIEWER, {Role.VIEWER}),
        (Role.OPERATOR, {Role.VIEWER, Role.OPERATOR}),
        (Role.ADMIN, {Role.VIEWER, Role.OPERATOR, Role.ADMIN}),
    ],
)
def test_a_role_may_what_lesser_ones_may(role: Role, may: set[Role]) -> None:
    user = User(role=role)

    assert {wanted for wanted in Role if user.has_role(wanted)} == may
    assert (user.is_operator, user.is_admin) == (Role.OPERATOR in may, Role.ADMIN in may)


@pytest.mark.parametrize("role", Role)
def test_whoever_is_shut_out_may_nothing(role: Role) -> None:
    user = User(role=role, is_active=False)

    assert [wanted for wanted in Role if user.has_role(wanted)] == []


def test_every_role_has_its_rank() -> None:
    assert set(RANK) == set(Role)
    assert len(set(RANK.values())) == len(Role)


def test_new_people_may_only_look() -> None:
    assert User().role == Role.VIEWER


@pytest.mark.parametrize("role", ["owner", "", "ADMIN"])
def test_an_unknown_role_is_never_a_right(role: str) -> None:
    with pytest.raises(ValueError, match="not a valid"):
        User(role=role).has_role(Role.VIEWER)


@pytest.mark.django_db
def test_the_audit_outlives_the_person() -> None:
    user = person()
    AuditEntry.record(user, "cache.add", "game")

    user.delete()

    entry = AuditEntry.objects.get()
    assert (entry.user, entry.username, entry.target) == (None, "viewer", "game")


@pytest.mark.django_db
def test_an_entry_tells_when_who_and_what() -> None:
    entry = AuditEntry.record(None, "cache.add", "game", address="redis://a")

    assert str(entry) == f"{timezone.now():%Y-%m-%d %H:%M} bin/manage cache.add game"
    assert entry.detail == {"address": "redis://a"}


def test_a_token_is_called_by_its_name_and_its_beginning() -> None:
    assert str(ApiToken(name="CI", hint="sw_abcde")) == "CI (sw_abcde…)"
