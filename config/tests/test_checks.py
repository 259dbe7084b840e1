from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.checks import run_checks
from django.test import override_settings

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
        ({"RETENTION_RAW_DAYS": 365}, "W004"),
        ({"CSRF_TRUSTED_ORIGINS": ["watch.example.org"]}, "E005"),
        ({"TLS_IN_FRONT": True, "CSRF_TRUSTED_ORIGINS": ["https://a.example"], "DEBUG": True}, "E006"),
        ({"TLS_IN_FRONT": True}, "W005"),
        ({"TLS_IN_FRONT": True, "CSRF_TRUSTED_ORIGINS": ["https://a.example"], "ALLOWED_HOSTS": ["*"]}, "W006"),
    ],
)
def test_it_names_each_wrong_combination(changed: dict[str, Any], number: str) -> None:
    assert found(**changed) == {f"shardwatch.{number}"}
