"""The first administrator, without whom nobody could sign in."""

import secrets

from django.db import transaction

from accounts import people
from accounts.models import AuditEntry, Role, User

NAME = "admin"


@transaction.atomic
def ensure(password: str = "") -> str:
    """Make the administrator where there is none and return the random password that was made up, else "".

    A password that is given is that of the administrator afterwards, new or not.
    """
    admin = User.objects.filter(username=NAME).first()
    if admin is None:
        made_up = "" if password else secrets.token_urlsafe(12)
        people.add_person(None, NAME, Role.ADMIN, password or made_up)
        return made_up
    if password and not admin.check_password(password):
        admin.set_password(password)
        admin.save(update_fields=["password"])
        AuditEntry.record(None, "user.password", NAME)
    return ""
