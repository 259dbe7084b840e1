"""Issuing and revoking client keys, with the audit."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from fleet.registration import ConflictError, refuse_unstorable
from switches.client_key import PATTERN, ClientKey

# One that is used and one that takes its place.
VALID_AT_ONCE = 2
SCOPE_LIMIT = 100


def issue(by: User, name: str, scope: list[str]) -> tuple[ClientKey, str]:
    """Return a new key and its text, which cannot be had again.

    Raise ValidationError for a scope that names nothing, ConflictError where the name has two keys already.
    """
    refuse_unstorable({"name": name})
    name = name.strip()
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise ValidationError({"name": _("Name the application in 1 to 100 printable characters.")})
    if len(scope) > SCOPE_LIMIT or not all(PATTERN.fullmatch(pattern) for pattern in scope):
        raise ValidationError({"scope": _("Give keys of switches, such as user-cache or shop.*, a hundred at most.")})
    with transaction.atomic():
        valid = ClientKey.objects.valid().select_for_update().filter(name=name)
        if len(valid) >= VALID_AT_ONCE:
            words = _("This application has two valid keys: revoke the one that is no longer used.")
            raise ConflictError({"name": words})
        key, text = ClientKey.issue(name, sorted(set(scope)), by.username)
        AuditEntry.record(by, "client-key.add", name, hint=key.hint, scope=", ".join(key.scope))
    return key, text


def revoke(by: User, key: ClientKey) -> bool:
    """Shut the key out at once; return False where it was already."""
    with transaction.atomic():
        if not ClientKey.objects.valid().filter(pk=key.pk).update(revoked_at=timezone.now()):
            return False
        AuditEntry.record(by, "client-key.revoke", key.name, hint=key.hint)
    return True
