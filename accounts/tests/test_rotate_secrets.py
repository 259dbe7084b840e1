from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.test import override_settings

from fleet.models import Cache
from fleet.registration import register

pytestmark = pytest.mark.django_db
OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


def test_it_makes_the_old_key_needless() -> None:
    with override_settings(ENCRYPTION_KEYS=[OLD]):
        register({"name": "a", "address": "redis://a", "password": "secret"})
        register({"name": "b", "address": "redis://b"})

    with override_settings(ENCRYPTION_KEYS=[NEW, OLD]):
        call_command("rotate_secrets", stdout=(out := StringIO()))

    with override_settings(ENCRYPTION_KEYS=[NEW]):
        assert Cache.objects.get(name="a").password.reveal() == "secret"
    assert out.getvalue() == "Secrets encrypted with the newest key: 1.\n"


def test_it_changes_nothing_where_a_key_is_missing() -> None:
    with override_settings(ENCRYPTION_KEYS=[OLD]):
        register({"name": "a", "address": "redis://a", "password": "secret"})

    with override_settings(ENCRYPTION_KEYS=[NEW]), pytest.raises(CommandError, match="password of a cannot be read"):
        call_command("rotate_secrets")

    with override_settings(ENCRYPTION_KEYS=[OLD]):
        assert Cache.objects.get(name="a").password.reveal() == "secret"
