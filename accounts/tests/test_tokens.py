"""Keys of the API: who they let in, for how long, and what is kept of them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import tokens
from accounts.models import LAST_USED_STEP, ApiToken, AuditEntry, Role, User
from accounts.tests.cast import person

pytestmark = pytest.mark.django_db
PATHS = ["/api/v1/caches", "/metrics", "/metrics/fleet"]


def issued(role: str = Role.VIEWER, **changes: Any) -> str:
    """Return the text of a token that was changed afterwards."""
    token, text = ApiToken.issue(person(role), "CI")
    ApiToken.objects.filter(pk=token.pk).update(**changes)
    return text


def ago(**given: float) -> datetime:
    return timezone.now() - timedelta(**given)


def status(path: str, header: str) -> int:
    return Client().get(path, headers={"Authorization": header}).status_code


@pytest.mark.parametrize(
    ("changes", "is_let_in"),
    [
        (dict, True),
        (lambda: {"expires_at": ago(seconds=1)}, False),
        (lambda: {"expires_at": ago(days=400)}, False),
        (lambda: {"expires_at": ago(minutes=-5)}, True),
        (lambda: {"revoked_at": ago(seconds=1)}, False),
        (lambda: {"revoked_at": ago(seconds=1), "expires_at": ago(days=-30)}, False),
    ],
    ids=["no end", "just ended", "ended long ago", "ends soon", "revoked", "revoked before its end"],
)
def test_a_token_lets_in_until_it_ends(changes: Callable[[], dict[str, Any]], is_let_in: bool) -> None:
    text = issued(**changes())

    assert (ApiToken.user_of(text) is not None) == is_let_in


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Bearer {}", 200),
        ("bearer {}", 200),
        ("BEARER   {}  ", 200),
        ("Basic {}", 401),
        ("Token {}", 401),
        ("Bearer{}", 401),
        ("{}", 401),
        ("Bearer {}x", 401),
        ('Bearer "{}"', 401),
        ("Bearer {0},{0}", 401),
    ],
)
def test_it_takes_the_bearer_scheme_alone(path: str, header: str, expected: int) -> None:
    assert status(path, header.format(issued())) == expected


@pytest.mark.parametrize("path", PATHS)
def test_a_refused_scraper_is_told_in_plain_words_what_to_send(path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer sw_<b>wrong"}):
        answer = Client().get(path, headers=headers)

        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
        assert "html" not in answer["Content-Type"]
        assert "<b>" not in answer.content.decode()


def test_a_token_does_what_its_owner_may_do_now() -> None:
    text = issued(Role.ADMIN)
    User.objects.update(role=Role.VIEWER)

    found = ApiToken.user_of(text)

    assert found is not None
    assert not found.is_operator


def test_only_a_hash_is_kept() -> None:
    text = issued()

    kept = ApiToken.objects.values().get()

    assert text not in str(kept)
    assert kept["hint"] == text[:8]
    assert len(kept["digest"]) == 64


def test_no_two_tokens_are_alike() -> None:
    user = person()

    texts = {ApiToken.issue(user, "CI")[1] for _ in range(20)}

    assert len(texts) == 20
    assert {text[:3] for text in texts} == {"sw_"}
    assert min(map(len, texts)) >= 46


@pytest.mark.parametrize(
    ("before", "is_written"),
    [(None, True), (timedelta(seconds=30), False), (LAST_USED_STEP + timedelta(seconds=1), True)],
)
def test_it_notes_the_use_once_a_minute(before: timedelta | None, is_written: bool) -> None:
    earlier = None if before is None else timezone.now() - before
    text = issued(last_used_at=earlier)

    ApiToken.user_of(text)

    assert (ApiToken.objects.get().last_used_at != earlier) == is_written


def test_a_refused_use_is_not_noted() -> None:
    text = issued(revoked_at=ago(days=1))

    ApiToken.user_of(text)

    assert ApiToken.objects.get().last_used_at is None


@pytest.mark.parametrize("text", ["", "sw_", "sw_" + "x" * 100_000, "\0", "sw_ü", "'; --", "\u202e"])
def test_what_is_no_token_belongs_to_nobody(text: str) -> None:
    issued()

    assert ApiToken.user_of(text) is None


def test_a_token_is_revoked_once() -> None:
    user = person()
    token, _text = tokens.create(user, "CI", None, by=user)

    tokens.revoke(user, token)
    first = ApiToken.objects.get().revoked_at
    tokens.revoke(user, token)

    assert ApiToken.objects.get().revoked_at == first
    assert AuditEntry.objects.filter(action="token.revoke").count() == 1


def test_the_audit_names_the_owner_and_no_secret() -> None:
    owner, admin = person(Role.VIEWER), person(Role.ADMIN)

    _token, text = tokens.create(owner, "CI", None, by=admin)

    entry = AuditEntry.objects.get()
    assert (entry.username, entry.target, entry.detail["owner"]) == ("admin", "CI", "viewer")
    assert text not in str(entry.detail)


def test_a_token_made_in_a_shell_is_noted_as_such() -> None:
    tokens.create(person(), "CI", None, by=None)

    assert AuditEntry.objects.get().username == "bin/manage"


def test_tokens_go_with_their_owner() -> None:
    text = issued()

    User.objects.all().delete()

    assert ApiToken.user_of(text) is None
    assert not ApiToken.objects.exists()
