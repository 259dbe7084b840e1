"""The words for what the audit holds."""

from django.utils.translation import gettext_lazy as _

from accounts.models import AuditEntry

ACTIONS = {
    "session.open": _("signed in"),
    "session.close": _("signed out"),
    "user.add": _("added the user"),
    "user.role": _("changed the role of"),
    "user.activate": _("unblocked"),
    "user.deactivate": _("blocked"),
    "user.password": _("set the password of"),
    "token.add": _("created the token"),
    "token.revoke": _("revoked the token"),
    "account.password": _("changed their own password"),
    "account.time_zone": _("changed the time zone"),
    "cache.add": _("added the cache"),
    "cache.change": _("changed the cache"),
    "cache.delete": _("deleted the cache"),
    "event.add": _("added the note on"),
    "event.change": _("changed the note on"),
    "clients.read": _("read the client lists of"),
    "hot-keys.look": _("looked for hot keys in"),
    "secrets.rotate": _("encrypted all secrets with the newest key"),
}


def action_words(entry: AuditEntry) -> str:
    return str(ACTIONS.get(entry.action, entry.action))


def detail_words(entry: AuditEntry) -> str:
    return ", ".join(f"{name}: {value}" for name, value in entry.detail.items())
