"""Keys of applications."""

import pytest
from django.core.exceptions import ValidationError

from accounts.models import AuditEntry
from fleet.registration import ConflictError
from switches import client_keys
from switches.client_key import digest_of
from switches.models import ClientKey
from switches.tests.cast import operator

pytestmark = pytest.mark.django_db


def test_only_a_hash_is_kept() -> None:
    key, text = client_keys.issue(operator(), "shop", ["user-cache"])

    assert text.startswith("swc_")
    assert (key.digest, key.scope, key.created_by) == (digest_of(text), ["user-cache"], "ann")
    assert all(text not in str(value) for value in ClientKey.objects.values().get().values())


def test_two_keys_are_valid_at_once_and_no_third() -> None:
    first, _ = client_keys.issue(operator(), "shop", [])
    client_keys.issue(operator(), "shop", [])

    with pytest.raises(ConflictError, match="two valid keys"):
        client_keys.issue(operator(), "shop", [])
    client_keys.revoke(operator(), first)
    client_keys.issue(operator(), "shop", [])

    assert ClientKey.objects.valid().count() == 2


def test_a_key_is_revoked_once() -> None:
    key, _ = client_keys.issue(operator(), "shop", [])

    assert [client_keys.revoke(operator(), key) for _ in range(2)] == [True, False]
    assert AuditEntry.objects.filter(action="client-key.revoke").count() == 1


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101, "a\0"])
def test_it_refuses_names_that_nobody_can_read(name: str) -> None:
    with pytest.raises(ValidationError):
        client_keys.issue(operator(), name, [])


@pytest.mark.parametrize("scope", [[""], ["A"], ["a?"], ["a b"], ["x" * 101], ["a"] * 101])
def test_it_refuses_scopes_that_fit_no_key(scope: list[str]) -> None:
    with pytest.raises(ValidationError):
        client_keys.issue(operator(), "shop", scope)
