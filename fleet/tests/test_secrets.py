"""Secrets at rest: never readable where they are stored, printed or logged."""

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from fleet.models import Cache
from fleet.secrets import Secret, SecretUnreadableError, decrypt, encrypt, rotate

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


@given(st.text(st.characters(codec="utf-8"), max_size=60))
@hypothesis_settings(max_examples=40, deadline=None)
def test_it_gives_back_what_was_given(plain: str) -> None:
    assert Secret.of(plain).reveal() == plain


def test_no_secret_is_stored_as_nothing() -> None:
    assert (encrypt(""), decrypt(""), rotate("")) == ("", "", "")
    assert not Secret.of("")


def test_the_same_secret_is_stored_in_another_way_each_time() -> None:
    assert encrypt("secret") != encrypt("secret")


@pytest.mark.parametrize("show", [str, repr, "{}".format, "%s".__mod__, lambda secret: f"{secret!r:>10}"])
def test_showing_a_secret_tells_only_that_it_is_set(show: object) -> None:
    shown = show(Secret.of("hunter2"))  # type: ignore[operator]

    assert shown.strip() == "(set)"


def test_showing_no_secret_shows_nothing() -> None:
    assert (str(Secret("")), bool(Secret(""))) == ("", False)


def test_an_older_key_still_opens_what_it_closed(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    stored = encrypt("secret")

    settings.ENCRYPTION_KEYS = [NEW, OLD]

    assert decrypt(stored) == "secret"


def test_a_secret_moves_to_the_newest_key(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    stored = encrypt("secret")
    settings.ENCRYPTION_KEYS = [NEW, OLD]

    moved = rotate(stored)

    settings.ENCRYPTION_KEYS = [NEW]
    assert decrypt(moved) == "secret"


@pytest.mark.parametrize("stored", ["x", "gAAAAA", "秘密", "a" * 200, " "])
def test_what_is_damaged_is_unreadable(stored: str) -> None:
    with pytest.raises(SecretUnreadableError, match="SHARDWATCH_ENCRYPTION_KEYS"):
        decrypt(stored)


def test_one_changed_character_makes_a_secret_unreadable() -> None:
    stored = encrypt("secret")
    middle = len(stored) // 2
    other = "A" if stored[middle] != "A" else "B"

    with pytest.raises(SecretUnreadableError):
        decrypt(stored[:middle] + other + stored[middle + 1 :])


def test_a_lost_key_is_told_without_the_secret(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    stored = encrypt("hunter2")
    settings.ENCRYPTION_KEYS = [NEW]

    with pytest.raises(SecretUnreadableError) as caught:
        Secret(stored).reveal()

    assert stored not in str(caught.value)


def test_without_a_key_it_says_which_setting_is_missing(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = []

    with pytest.raises(ImproperlyConfigured, match="SHARDWATCH_ENCRYPTION_KEYS"):
        encrypt("secret")


@pytest.mark.django_db
def test_the_column_holds_no_plain_text() -> None:
    cache = Cache(name="game", address="redis://a")
    cache.password = Secret.of("hunter2")
    cache.save()

    (stored,) = Cache.objects.extra(select={"raw": "password::text"}).values_list("raw", flat=True)

    assert "hunter2" not in stored
    assert Cache.objects.get().password.reveal() == "hunter2"


@pytest.mark.django_db
def test_a_text_that_is_assigned_is_encrypted_on_saving() -> None:
    Cache.objects.create(name="game", address="redis://a", password="hunter2", client_key="")

    cache = Cache.objects.get()

    assert (cache.password.reveal(), bool(cache.client_key)) == ("hunter2", False)
