"""System checks: combinations of settings that start but do not work. docs/settings.md describes each setting."""

from collections.abc import Iterator
from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004 - Django's own name for it
from django.core.exceptions import ImproperlyConfigured

SECRET_KEY_LENGTH = 50
SECRET_KEY_VARIETY = 5
LISTING_LIMIT_SECONDS, CALL_LIMIT_SECONDS = 90, 45


def check_secret_key(**_: Any) -> list[CheckMessage]:
    try:
        key = settings.SECRET_KEY
    except ImproperlyConfigured:
        hint = "Set SECRET_KEY or SECRET_KEY_FILE to a long random text."
        return [Error("SECRET_KEY is not set, so nobody can sign in.", hint=hint, id="shardwatch.E001")]
    if len(key) < SECRET_KEY_LENGTH or len(set(key)) < SECRET_KEY_VARIETY:
        hint = f"Take at least {SECRET_KEY_LENGTH} random characters; sessions are signed with them."
        return [Warning("SECRET_KEY is short or easy to guess.", hint=hint, id="shardwatch.W001")]
    return []


def check_encryption_keys(**_: Any) -> list[CheckMessage]:
    if not settings.ENCRYPTION_KEYS:
        hint = "Set SHARDWATCH_ENCRYPTION_KEYS; docs/settings.md says how to make a key."
        return [
            Error("There is no key for secrets, so no password can be kept.", hint=hint, id="shardwatch.E002"),
        ]
    bad = [number for number, key in enumerate(settings.ENCRYPTION_KEYS, start=1) if not is_fernet_key(key)]
    hint = "A key is 32 bytes in URL-safe base64, 44 characters."
    return [
        Error(f"Key {number} of SHARDWATCH_ENCRYPTION_KEYS is no Fernet key.", hint=hint, id="shardwatch.E003")
        for number in bad
    ]


def is_fernet_key(key: str) -> bool:
    try:
        Fernet(key)
    except ValueError:
        return False
    return True


def check_polling(**_: Any) -> Iterator[CheckMessage]:
    tick = settings.POLL_TICK_SECONDS
    if settings.POLL_INTERVAL_SECONDS < tick:
        yield Error(
            "SHARDWATCH_POLL_INTERVAL_SECONDS is shorter than SHARDWATCH_POLL_TICK_SECONDS.",
            hint="Polls lie on the grid of ticks: make the tick at most as long as the interval.",
            id="shardwatch.E004",
        )
    if settings.POLL_WORKER_LOST_SECONDS < 2 * tick:
        yield Warning(
            "SHARDWATCH_POLL_WORKER_LOST_SECONDS is shorter than two ticks.",
            hint="A busy worker would be taken for lost, and its caches would move to and fro.",
            id="shardwatch.W002",
        )
    if settings.READY_POLL_SECONDS < 2 * settings.POLL_INTERVAL_SECONDS:
        yield Warning(
            "SHARDWATCH_READY_POLL_SECONDS is shorter than two poll intervals.",
            hint="/readyz would turn red between two polls.",
            id="shardwatch.W003",
        )


def check_cloud(**_: Any) -> Iterator[CheckMessage]:
    """The tasks that ask Google end by force; collectors/tasks.py says after how long."""
    if (
        settings.CLOUD_LISTING_SECONDS > LISTING_LIMIT_SECONDS
        or settings.CLOUD_CALL_TIMEOUT_SECONDS > CALL_LIMIT_SECONDS
    ):
        yield Warning(
            "SHARDWATCH_CLOUD_LISTING_SECONDS or SHARDWATCH_CLOUD_CALL_TIMEOUT_SECONDS is too long.",
            hint=f"A slow service would have its task killed: take at most {LISTING_LIMIT_SECONDS} s for a listing"
            f" and {CALL_LIMIT_SECONDS} s for a call.",
            id="shardwatch.W007",
        )


def check_retention(**_: Any) -> list[CheckMessage]:
    if settings.RETENTION_RAW_DAYS <= settings.RETENTION_5M_DAYS <= settings.RETENTION_1H_DAYS:
        return []
    hint = "Make SHARDWATCH_RETENTION_RAW_DAYS <= SHARDWATCH_RETENTION_5M_DAYS <= SHARDWATCH_RETENTION_1H_DAYS."
    return [Warning("Fine samples are kept for longer than coarse ones.", hint=hint, id="shardwatch.W004")]


def check_tls(**_: Any) -> Iterator[CheckMessage]:
    origins = settings.CSRF_TRUSTED_ORIGINS
    if any("://" not in origin for origin in origins):
        yield Error(
            "SHARDWATCH_TRUSTED_ORIGINS names an origin without its scheme.",
            hint="Write https://watch.example.org, not watch.example.org.",
            id="shardwatch.E005",
        )
    if not settings.TLS_IN_FRONT:
        return
    if settings.DEBUG:
        yield Error(
            "SHARDWATCH_DEBUG is on behind TLS.",
            hint="Debug pages show settings to everybody; turn SHARDWATCH_DEBUG off.",
            id="shardwatch.E006",
        )
    if not origins:
        yield Warning(
            "SHARDWATCH_BEHIND_TLS is on, but SHARDWATCH_TRUSTED_ORIGINS is empty.",
            hint="Where the proxy changes the Host header, every form is refused; name the address people use.",
            id="shardwatch.W005",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield Warning(
            "SHARDWATCH_ALLOWED_HOSTS allows every host name.",
            hint="Name the host that people use.",
            id="shardwatch.W006",
        )


CHECKS = (check_secret_key, check_encryption_keys, check_polling, check_cloud, check_retention, check_tls)
