import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import ApiToken, AuditEntry, Role, User
from accounts.tests.cast import person

pytestmark = pytest.mark.django_db


def created(*arguments: str) -> str:
    out = StringIO()
    call_command("create_token", *arguments, stdout=out)
    return out.getvalue()


def test_it_makes_the_user_and_prints_only_the_token() -> None:
    text = created("--user", "ci", "--role", "viewer")

    assert re.fullmatch(r"sw_[\w-]{40,}\n", text)
    user = ApiToken.user_of(text.strip())
    assert user == User.objects.get(username="ci")
    assert user.has_usable_password() is False


def test_it_takes_a_user_who_exists_with_this_role() -> None:
    user = person(Role.OPERATOR)

    text = created("--user", "operator", "--role", "operator", "--name", "deploy")

    assert ApiToken.user_of(text.strip()) == user
    assert AuditEntry.objects.get(action="token.add").target == "deploy"


def test_it_refuses_to_guess_between_two_roles() -> None:
    person(Role.VIEWER)

    with pytest.raises(CommandError, match="has the role viewer, not admin"):
        created("--user", "viewer", "--role", "admin")

    assert not ApiToken.objects.exists()


def test_the_audit_names_the_command_line_and_not_the_owner() -> None:
    person(Role.VIEWER)

    created("--user", "viewer", "--role", "viewer")
    created("--user", "ci", "--role", "viewer")

    entries = AuditEntry.objects.exclude(action="session.open")
    assert {(entry.user, entry.username) for entry in entries} == {(None, "bin/manage")}
    assert {entry.detail["owner"] for entry in entries.filter(action="token.add")} == {"viewer", "ci"}


@pytest.mark.parametrize("user", ["Viewer", "VIEWER", "vi\u0435wer", "ｖｉｅｗｅｒ"])
def test_it_makes_no_user_who_looks_like_another(user: str) -> None:
    person(Role.VIEWER)

    with pytest.raises(CommandError, match="cannot be used"):
        created("--user", user, "--role", "viewer")

    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("user", "name"), [("a b", "ok"), ("x" * 151, "ok"), ("", "ok"), ("ci", ""), ("ci", "x" * 101)]
)
def test_it_refuses_bad_names_and_leaves_nothing(user: str, name: str) -> None:
    with pytest.raises(CommandError, match="cannot be used"):
        created("--user", user, "--role", "viewer", "--name", name)

    assert not User.objects.exists()
