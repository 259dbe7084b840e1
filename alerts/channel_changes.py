"""Adding, changing, testing and removing channels, with the audit: what the pages and the API do."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from alerts import incidents, repair, self_tests, sender
from alerts.channel import ChannelKind
from alerts.channels import KINDS, kind_of
from alerts.languages import in_every_language
from alerts.message import Message, Severity
from alerts.models import Channel, Incident, Reason
from fleet.locking import locked
from fleet.registration import ConflictError
from fleet.secrets import Secret, SecretUnreadableError

IS_SET = "(set)"


def stored_settings(channel: Channel) -> dict[str, Any]:
    """Return a channel's settings with its secrets; {} where no key opens them."""
    try:
        return dict(sender.settings_of(channel.settings))
    except SecretUnreadableError:
        return {}


def shown_settings(channel: Channel) -> dict[str, Any]:
    """Return the settings as people may see them: of a secret only whether it is there."""
    hidden = kind_of(channel.kind).secrets
    return {
        name: (IS_SET if value else "") if name in hidden else value for name, value in stored_settings(channel).items()
    }


def typed_settings(channel: Channel) -> dict[str, Any]:
    """Return the settings that are no secrets, as people would type them."""
    hidden = kind_of(channel.kind).secrets
    found = {name: value for name, value in stored_settings(channel).items() if name not in hidden}
    return {name: ", ".join(value) if isinstance(value, list) else value for name, value in found.items()}


def checked_settings(kind: ChannelKind, given: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return complete settings; a secret that is left empty stays as it was. Raise ValidationError."""
    kept = {name: before[name] for name in kind.secrets if not given.get(name) and before.get(name)}
    form = kind.form({**given, **kept})
    if form.errors:
        raise ValidationError({name: [str(text) for text in texts] for name, texts in form.errors.items()})
    if unknown := sorted(set(given) - set(form.fields)):
        raise ValidationError({unknown[0]: [_("A channel of this kind has no such setting.")]})
    return dict(form.cleaned_data)


def add(
    by: User,
    kind_name: str,
    name: str,
    given: Mapping[str, Any],
    fallback: Channel | None = None,
    language: str = "",
) -> Channel:
    """Raise ValidationError where the kind is not known, the name is taken or a setting is wrong."""
    if kind_name not in KINDS:
        raise ValidationError({"kind": [_("There is no such kind of channel.")]})
    kind = kind_of(kind_name)
    channel = Channel(name=name, kind=kind_name, gap_seconds=kind.gap_seconds)
    channel.language = language or channel.language
    set_fields(channel, name, checked_settings(kind, given, {}), fallback)
    with transaction.atomic():
        channel.save(force_insert=True)
        AuditEntry.record(by, "channel.add", channel.name, kind=kind_name)
    return channel


def change(
    by: User,
    channel: Channel,
    name: str,
    given: Mapping[str, Any],
    fallback: Channel | None,
    revision: int,
    language: str = "",
) -> Channel:
    """Raise ValidationError as `add` does, ConflictError where somebody changed the channel meanwhile.

    Without a language it keeps the one that it has.
    """
    before = stored_settings(channel)
    checked = checked_settings(kind_of(channel.kind), given, before)
    with transaction.atomic():
        row = locked(channel)
        if row.revision != revision:
            raise ConflictError(_("Somebody changed this channel meanwhile. Look at it again."))
        # What is empty and was not known when the channel was made is no change.
        told = sorted(name for name in checked if (checked[name] or None) != (before.get(name) or None))
        row.language = language or row.language
        set_fields(row, name, checked, fallback)
        row.revision += 1
        row.save()
        AuditEntry.record(by, "channel.change", row.name, settings=", ".join(told))
        if told:
            repair.mend(row)
    return row


def set_fields(channel: Channel, name: str, checked: Mapping[str, Any], fallback: Channel | None) -> None:
    if fallback is not None and fallback.pk == channel.pk:
        raise ValidationError({"fallback": [_("A channel cannot stand in for itself.")]})
    if fallback is not None and not kind_of(fallback.kind).can_page:
        raise ValidationError({"fallback": [_("This kind of channel is not for paging.")]})
    channel.name, channel.fallback = name, fallback
    channel.settings = Secret.of(orjson.dumps(dict(checked)).decode())
    channel.full_clean(exclude=("settings",))


def delete(by: User, channel: Channel) -> None:
    with transaction.atomic():
        locked(channel).delete()
        AuditEntry.record(by, "channel.delete", channel.name, kind=channel.kind)


def mend_by_hand(by: User, channel: Channel) -> None:
    with transaction.atomic():
        repair.mend(locked(channel))
        AuditEntry.record(by, "channel.mend", channel.name)


def send_test(by: User, channel: Channel, link: str = "") -> Incident:
    """Send a test on the road of real pages, and its end behind it; return the incident that it is."""
    with transaction.atomic():
        channel = locked(channel)
        AuditEntry.record(by, "channel.test", channel.name)
        subject = f"test of channel {channel.pk}"
        for old in Incident.objects.open().filter(subject=subject):
            incidents.close_incident(old, Reason.TEST, words(channel, by, link))
        incident, _is_new = incidents.open_incident(subject, Reason.TEST, words(channel, by, link), [channel])
        incidents.close_incident(incident, Reason.TEST, words(channel, by, link))
    return incident


def begin_self_tests(by: User) -> int:
    """Send a self-test through every channel; return how many channels there are."""
    with transaction.atomic():
        AuditEntry.record(by, "channel.self-test")
        return len(self_tests.begin(Channel.objects.order_by("name"), timezone.now()))


@in_every_language
def words(channel: Channel, by: User, link: str) -> Message:
    title = _("Test of the channel %(channel)s") % {"channel": channel.name}
    text = _("%(person)s sent it from Shardwatch. Nothing is wrong, and it ends by itself.") % {"person": by.username}
    return Message(title, Severity.INFO, timezone.now(), text, link=link)
