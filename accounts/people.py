"""What an administrator does with people. Each act is in the audit."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, Role, User


def check_name(name: str) -> None:
    """Raise ValidationError for a name that could be taken for another: Admin beside admin, or a Cyrillic a in it."""
    if not name.isascii():
        raise ValidationError(
            _("Use English letters, digits and @ . + - _ only: other letters can look the same as these.")
        )
    if taken := User.objects.filter(username__iexact=name).first():
        raise ValidationError(
            _("There is a user “%(name)s” already; capital and small letters count as the same.")
            % {"name": taken.username}
        )


@transaction.atomic
def add_person(by: User | None, username: str, role: str, password: str | None) -> User:
    """Create a user; without a password only API tokens work."""
    person = User(username=username, role=role)
    person.set_password(password)
    person.save(force_insert=True)
    AuditEntry.record(by, "user.add", username, role=str(role))
    return person


def change_role(by: User, person: User, role: str) -> None:
    """Raise ValidationError where nobody would be left to administer."""
    before = person.role
    with keeping_an_administrator():
        person.role = role
        person.save(update_fields=["role"])
        AuditEntry.record(by, "user.role", person.username, before=before, after=role)


def set_active(by: User, person: User, active: bool) -> None:
    """Let a person in or shut them out, with their sessions and tokens.

    Raise ValidationError where nobody would be left to administer.
    """
    with keeping_an_administrator():
        person.is_active = active
        person.save(update_fields=["is_active"])
        AuditEntry.record(by, "user.activate" if active else "user.deactivate", person.username)


@transaction.atomic
def set_password(by: User, person: User, password: str) -> None:
    """Set a password; the person's sessions end, tokens stay."""
    person.set_password(password)
    person.save(update_fields=["password"])
    AuditEntry.record(by, "user.password", person.username)


@contextmanager
def keeping_an_administrator() -> Iterator[None]:
    administrators = User.objects.filter(role=Role.ADMIN, is_active=True)
    with transaction.atomic():
        # Two administrators who demote each other at once must wait for one another.
        list(administrators.select_for_update().order_by("pk"))
        yield
        if not administrators.exists():
            raise ValidationError(_("This is the only administrator left; give someone else the role first."))
