"""How channels do: what waits, for how long, and what was accepted last."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Subquery
from django.forms import Field
from django.utils import timezone
from django.utils.translation import gettext as _

from alerts.causes import sentence
from alerts.channel_changes import IS_SET, shown_settings
from alerts.channels import kind_of
from alerts.models import Attempt, Channel, Delivery

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

WAITING = Q(deliveries__state=Delivery.State.WAITING)


@dataclass(frozen=True, slots=True)
class Health:
    """One channel with what waits in the outbox for it, and how its last attempt went."""

    channel: Channel
    waiting: int
    oldest: datetime | None
    last_result: str
    last_sentence: str


def healths(**chosen: Any) -> list[Health]:
    return [
        Health(
            row, row.waiting, row.oldest, row.last_result or "", sentence(row.last_cause or "", row.last_words or "")
        )
        for row in with_outbox().filter(**chosen)
    ]


def with_outbox() -> QuerySet[Channel, Any]:
    """Return channels with `waiting`, `oldest` (when its oldest waiting message was written) and the last attempt."""
    newest = Attempt.objects.filter(channel=OuterRef("pk")).order_by("-pk")
    # Grouping forgets the order of the model.
    return (
        Channel.objects.select_related("fallback")
        .order_by("name")
        .annotate(
            waiting=Count("deliveries", filter=WAITING),
            oldest=Min("deliveries__created_at", filter=WAITING),
            last_result=Subquery(newest.values("result")[:1]),
            last_cause=Subquery(newest.values("cause")[:1]),
            last_words=Subquery(newest.values("words")[:1]),
        )
    )


def setting_words(channel: Channel) -> list[tuple["StrOrPromise", str]]:
    """Return the settings of a channel with their labels, secrets only as being set."""
    fields, found = kind_of(channel.kind).form.base_fields, shown_settings(channel)
    return [(field.label or name, told(found.get(name), field)) for name, field in fields.items()]


def told(value: Any, field: Field) -> str:
    """Return a setting in words: a choice by its name."""
    if isinstance(value, list):
        return ", ".join(value)
    if value == IS_SET:
        return _("(set)")
    return str(dict(getattr(field, "choices", ())).get(value, value or ""))


@dataclass(frozen=True, slots=True)
class Backlog:
    """What the outbox of one channel holds; `late_seconds` is how long a message that could leave was left."""

    channel: str
    waiting: int
    oldest_seconds: float | None
    late_seconds: float


def backlogs(now: datetime | None = None) -> list[Backlog]:
    at = now or timezone.now()
    ready_since = dict(ready(at).values_list("channel").annotate(since=Min("due_at")))
    return [
        Backlog(
            row.name,
            row.waiting,
            (at - row.oldest).total_seconds() if row.oldest else None,
            (at - ready_since.get(row.pk, at)).total_seconds(),
        )
        for row in with_outbox()
    ]


def ready(at: datetime) -> QuerySet[Delivery]:
    """Return the messages that a sender could take: neither held nor broken, and nothing of the incident before."""
    waiting = Delivery.objects.filter(state=Delivery.State.WAITING)
    before = waiting.filter(
        incident=OuterRef("incident"), channel=OuterRef("channel"), sequence__lt=OuterRef("sequence")
    )
    due = waiting.filter(lease_until=None, due_at__lte=at, channel__broken_at=None, channel__held_until__lte=at)
    return due.exclude(Exists(before)).order_by()
