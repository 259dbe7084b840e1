"""Creating and revoking API tokens, with the audit."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts.models import ApiToken, AuditEntry, User


@transaction.atomic
def create(user: User, name: str, expires_at: datetime | None, by: User | None) -> tuple[ApiToken, str]:
    """Return a new token of the user and its text, which cannot be had again. `by` is None on the command line."""
    token, text = ApiToken.issue(user, name)
    if expires_at:
        token.expires_at = expires_at
        token.save(update_fields=["expires_at"])
    AuditEntry.record(by, "token.add", name, hint=token.hint, owner=user.username)
    return token, text


@transaction.atomic
def revoke(by: User, token: ApiToken) -> None:
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        AuditEntry.record(by, "token.revoke", token.name, hint=token.hint)
