from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction

from accounts.models import AuditEntry
from fleet.secrets import Secret, SecretField, SecretUnreadableError


class Command(BaseCommand):
    help = "Encrypt every stored secret with the newest key of SHARDWATCH_ENCRYPTION_KEYS; older keys may go then."

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        count = sum(rotated(model, field) for model, field in secret_fields())
        AuditEntry.record(None, "secrets.rotate", count=count)
        self.stdout.write(f"Secrets encrypted with the newest key: {count}.")


def secret_fields() -> list[tuple[type[models.Model], str]]:
    models_of_ours = apps.get_models()
    return [
        (model, field.name)
        for model in models_of_ours
        for field in model._meta.fields
        if isinstance(field, SecretField)
    ]


def rotated(model: type[models.Model], field: str) -> int:
    """Encrypt one column anew; return how many rows had a secret."""
    rows = model._default_manager.exclude(**{field: ""}).select_for_update()
    for row in rows:
        try:
            secret = Secret.of(getattr(row, field).reveal())
        except SecretUnreadableError as error:
            raise CommandError(f"The {field} of {row} cannot be read: {error} Nothing was changed.") from error
        model._default_manager.filter(pk=row.pk).update(**{field: secret})
    return len(rows)
