"""Secrets at rest: encrypted in the column, decrypted on reading the attribute."""

from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models


class SecretUnreadableError(Exception):
    """No key in SHARDWATCH_ENCRYPTION_KEYS opens a stored secret."""


def _keyring() -> MultiFernet:
    if not settings.ENCRYPTION_KEYS:
        raise ImproperlyConfigured("Set SHARDWATCH_ENCRYPTION_KEYS; docs/settings.md says how to make a key.")
    return MultiFernet([Fernet(key) for key in settings.ENCRYPTION_KEYS])


def encrypt(plain: str) -> str:
    return _keyring().encrypt(plain.encode()).decode() if plain else ""


def decrypt(stored: str) -> str:
    """Return the plain text. Raise SecretUnreadableError where no key fits."""
    if not stored:
        return ""
    try:
        return _keyring().decrypt(stored.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadableError(
            "A stored secret was written with a key that SHARDWATCH_ENCRYPTION_KEYS no longer holds."
        ) from error


def rotate(stored: str) -> str:
    """Return the same secret under the newest key."""
    return _keyring().rotate(stored.encode()).decode() if stored else ""


class SecretField(models.TextField):  # type: ignore[type-arg]
    """Text that is stored encrypted; the attribute holds a str that decrypts when `reveal()` is called on it."""

    def from_db_value(self, value: str | None, *_: Any) -> "Secret":
        return Secret(value or "")

    def to_python(self, value: Any) -> "Secret":
        return value if isinstance(value, Secret) else Secret.of(value or "")

    def get_prep_value(self, value: Any) -> str:
        return self.to_python(value).stored


class Secret:
    """One encrypted value. Printing, logging or rendering it shows only whether it is set."""

    def __init__(self, stored: str) -> None:
        self.stored = stored

    @classmethod
    def of(cls, plain: str) -> "Secret":
        return cls(encrypt(plain))

    def reveal(self) -> str:
        return decrypt(self.stored)

    def __bool__(self) -> bool:
        return bool(self.stored)

    def __str__(self) -> str:
        return "(set)" if self.stored else ""

    __repr__ = __str__
