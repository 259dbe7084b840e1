"""The words for what the audit holds."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from django.core.exceptions import FieldDoesNotExist
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import AuditEntry, Role
from fleet.models import Cache

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

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
    "scan.start": _("started a scan of"),
    "scan.pause": _("paused a scan of"),
    "scan.resume": _("resumed a scan of"),
    "scan.cancel": _("cancelled a scan of"),
    "scan.brake": _("set the speed of a scan of"),
    "scan.check": _("read a key again of"),
    "scan.measure": _("measured a giant key whole of"),
    "scan.store": _("stored a scan of"),
    "scan.schedule": _("scheduled scans of"),
    "scan.unschedule": _("ended scheduled scans of"),
    "clients.read": _("read the client lists of"),
    "hot-keys.look": _("looked for hot keys in"),
    "channel.add": _("added the channel"),
    "channel.change": _("changed the channel"),
    "channel.delete": _("removed the channel"),
    "channel.test": _("sent a test through the channel"),
    "channel.self-test": _("sent a self-test through all channels"),
    "channel.mend": _("took as working again the channel"),
    "incident.note": _("wrote a note on the incident"),
    "incident.acknowledged": _("acknowledged the incident"),
    "incident.closed": _("closed by hand the incident"),
    "incident.assigned": _("gave somebody the incident"),
    "incident.snoozed": _("put to sleep the incident"),
    "route.add-step": _("added a step to the route"),
    "route.delete-step": _("removed a step of the route"),
    "window.add": _("added the maintenance window"),
    "window.delete": _("removed the maintenance window"),
    "rule.add": _("added the rule"),
    "rule.change": _("changed the rule"),
    "rule.enable": _("switched on the rule"),
    "rule.disable": _("switched off the rule"),
    "rule.delete": _("deleted the rule"),
    "override.add": _("made an exception to the rule"),
    "override.delete": _("removed an exception to the rule"),
    "silence.add": _("silenced"),
    "silence.end": _("ended the silence of"),
    "route.add": _("added the route"),
    "route.change": _("changed the route"),
    "route.delete": _("removed the route"),
    "switch.created": _("made the switch"),
    "switch.edited": _("changed the switch"),
    "switch.off": _("turned off the switch"),
    "switch.step": _("moved the canary of the switch"),
    "switch.on": _("turned on the switch"),
    "switch.repointed": _("pointed elsewhere the switch"),
    "switch.retired": _("retired the switch"),
    "switch.run-book": _("began a run book for the switch"),
    "switch.auto-off": _("chose the rules that may turn off the switch"),
    "switch.propose": _("proposed to turn on the switch"),
    "switch.decline": _("declined to turn on the switch"),
    "switch.plan": _("planned a change of the switch"),
    "switch.extend": _("put off the end of a plan for the switch"),
    "switch.cancel": _("cancelled a plan for the switch"),
    "switch.ask": _("asks whether the plan is over for the switch"),
    "switch.suspend": _("could not carry out a plan for the switch"),
    "client-key.add": _("made a client key for"),
    "client-key.revoke": _("revoked a client key of"),
    "project.add": _("added the Google Cloud project"),
    "project.change": _("changed the Google Cloud project"),
    "project.delete": _("removed the Google Cloud project"),
    "project.look": _("had looked into the Google Cloud project"),
    "project.approve": _("added the instance"),
    "project.ignore": _("ignores the instance"),
    "secrets.rotate": _("encrypted all secrets with the newest key"),
}
DETAILS: dict[str, StrOrPromise] = {
    "role": _("role"),
    "before": _("before"),
    "after": _("after"),
    "hint": _("begins with"),
    "owner": _("owner"),
    "address": _("address"),
    "count": _("number"),
    "node": _("node"),
    "kind": _("kind"),
    "title": _("title"),
    "time_zone": _("time zone"),
    "at": _("at"),
    "until": _("until"),
    "url": _("link"),
    "is_paused": _("paused"),
    "percent": _("percent"),
    "reason": _("reason"),
    "ticket": _("ticket"),
    "scope": _("scope"),
    "target": _("target"),
    "scan": _("scan"),
    "brake": _("speed"),
    "rules": _("rules"),
    "project": _("project"),
    "credentials": _("credentials"),
    "mysql_dsn": _("address of MySQL"),
    "mysql_ca_bundle": _("CA bundle of MySQL (PEM)"),
    "mysql_check_hostname": _("check the host name in MySQL's certificate"),
}
# Words that are stored in English; what people typed is shown as it is.
VALUES: dict[str, StrOrPromise] = {
    **{str(role.value): role.label for role in Role},
    "changed": _("changed"),
    "removed": _("removed"),
    "True": _("yes"),
    "False": _("no"),
    "None": pgettext_lazy("a setting", "none"),
    "deploy": _("deploy"),
    "scale-out": _("scale-out"),
    "load-test": _("load test"),
    "other": _("other"),
}
ARROW = " -> "
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+\d\d:\d\d")


def action_words(entry: AuditEntry) -> str:
    return str(ACTIONS.get(entry.action, entry.action))


def detail_words(entry: AuditEntry) -> str:
    return ", ".join(f"{name_words(name)}: {value_words(value)}" for name, value in entry.detail.items())


def name_words(name: str) -> str:
    """Return what a detail is called; those that are fields of caches have their names."""
    try:
        return str(DETAILS.get(name) or Cache._meta.get_field(name).verbose_name)  # type: ignore[union-attr]
    except FieldDoesNotExist:
        return name


def value_words(value: object) -> str:
    """Return a stored value, or the old and the new one, in the reader's language where it is a word of ours."""
    return " → ".join(str(VALUES.get(part) or time_words(part) or part) for part in str(value).split(ARROW))


def time_words(text: str) -> str:
    """Return a stored moment as pages write it, "" for all other texts; plain digits are never one."""
    try:
        moment = datetime.fromisoformat(text) if MOMENT.fullmatch(text) else None
    except ValueError:
        return ""
    return date_format(timezone.localtime(moment), "Y-m-d H:i:s T") if moment else ""
