from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.checks import run_checks
from django.test import override_settings

from config import checks

KEY = Fernet.generate_key().decode()
SOUND: dict[str, Any] = {"SECRET_KEY": "".join(chr(33 + n) for n in range(60)), "ENCRYPTION_KEYS": [KEY]}


def found(**changed: Any) -> set[str | None]:
    with override_settings(**{**SOUND, **changed}):
        return {message.id for message in run_checks() if (message.id or "").startswith("shardwatch.")}


def test_it_finds_nothing_wrong_with_the_defaults() -> None:
    assert found() == set()


@pytest.mark.parametrize(
    ("changed", "number"),
    [
        ({"SECRET_KEY": ""}, "E001"),
        ({"SECRET_KEY": "short"}, "W001"),
        ({"SECRET_KEY": "a" * 60}, "W001"),
        ({"ENCRYPTION_KEYS": []}, "E002"),
        ({"ENCRYPTION_KEYS": [KEY, "x"]}, "E003"),
        ({"ENCRYPTION_KEYS": ["ключ"]}, "E003"),
        ({"POLL_INTERVAL_SECONDS": 5, "POLL_TICK_SECONDS": 10}, "E004"),
        ({"POLL_TICK_SECONDS": 15}, "W002"),
        ({"READY_POLL_SECONDS": 20}, "W003"),
        ({"CLOUD_LISTING_SECONDS": 120}, "W007"),
        ({"CLOUD_CALL_TIMEOUT_SECONDS": 60}, "W007"),
        ({"RETENTION_RAW_DAYS": 365}, "W004"),
        ({"CSRF_TRUSTED_ORIGINS": ["watch.example.org"]}, "E005"),
        ({"TLS_IN_FRONT": True, "CSRF_TRUSTED_ORIGINS": ["https://a.example"], "DEBUG": True}, "E006"),
        ({"TLS_IN_FRONT": True}, "W005"),
        ({"TLS_IN_FRONT": True, "CSRF_TRUSTED_ORIGINS": ["https://a.example"], "ALLOWED_HOSTS": ["*"]}, "W006"),
    ],
)
def test_it_names_each_wrong_combination(changed: dict[str, Any], number: str) -> None:
    assert found(**changed) == {f"shardwatch.{number}"}


@pytest.mark.parametrize(
    "sound",
    [
        {"SECRET_KEY": "abcde" * 10},
        {"POLL_INTERVAL_SECONDS": 5, "POLL_TICK_SECONDS": 5},
        {"POLL_TICK_SECONDS": 10, "POLL_WORKER_LOST_SECONDS": 20},
        {"READY_POLL_SECONDS": 30, "POLL_INTERVAL_SECONDS": 15},
        {"RETENTION_RAW_DAYS": 30, "RETENTION_5M_DAYS": 30, "RETENTION_1H_DAYS": 30},
        {"TLS_IN_FRONT": False, "ALLOWED_HOSTS": ["*"], "DEBUG": True},
        {"ENCRYPTION_KEYS": [KEY, Fernet.generate_key().decode()]},
    ],
)
def test_what_is_just_within_bounds_is_sound(sound: dict[str, Any]) -> None:
    assert found(**sound) == set()


def test_it_names_every_key_that_is_none() -> None:
    with override_settings(ENCRYPTION_KEYS=["", KEY, "hunter2"]):
        messages = checks.check_encryption_keys()

    assert [message.msg.split()[1] for message in messages] == ["1", "3"]
    assert "hunter2" not in str(messages)


@pytest.mark.parametrize(
    ("key", "expected"),
    [(KEY, True), (KEY[:-1], False), ("", False), ("=" * 44, False), ("é" * 44, False)],
    # The key is made anew by each process, and all processes of a run must find the same tests.
    ids=["a key", "a cut key", "nothing", "padding", "no base64"],
)
def test_a_key_is_32_bytes_in_base64(key: str, expected: bool) -> None:
    assert checks.is_fernet_key(key) is expected
