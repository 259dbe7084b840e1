"""Incidents, the channels that tell of them, and the outbox of messages on their way."""

import uuid
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from alerts.alert import Alert as Alert
from alerts.alert import EvaluationMark as EvaluationMark
from alerts.alert import Transition as Transition
from alerts.causes import sentence
from alerts.decision import Decision as Decision
from alerts.languages import spoken
from alerts.message import Message
from alerts.pulse import Pulse as Pulse
from alerts.reason import Reason as Reason
from alerts.remark import Remark as Remark
from alerts.remark import person_words
from alerts.route import Route as Route
from alerts.route import Step as Step
from alerts.rule import Override as Override
from alerts.rule import Rule as Rule
from alerts.silence import Silence as Silence
from alerts.text import storable
from alerts.window import Window as Window
from fleet.models import Cache
from fleet.secrets import SecretField

KEY_LIMIT = 255
ANSWER_LIMIT = 300
TITLE_LIMIT = 300


def new_key() -> str:
    return f"shardwatch-{uuid.uuid4().hex}"


class IncidentQuerySet(models.QuerySet["Incident"]):
    def open(self) -> Self:
        return self.filter(closed_at=None)

    def real(self) -> Self:
        """Leave out what only tries whether channels work."""
        return self.exclude(reason__in=(Reason.TEST, Reason.SYNTHETIC))


class Incident(models.Model):
    """Alerts that belong together, from the first message to the last. One that ended never opens again."""

    # What it is about; at most one incident a subject is open.
    subject = models.CharField(max_length=300)
    # Its name at every pager, for its whole life.
    dedup_key = models.CharField(max_length=KEY_LIMIT, unique=True, default=new_key, editable=False)
    title = models.CharField(max_length=TITLE_LIMIT)
    # The same in other languages than the site's, by their code, where it differs.
    titles = models.JSONField(default=dict)
    severity = models.CharField(max_length=8)
    reason = models.CharField(max_length=16, choices=Reason.choices)
    end_reason = models.CharField(max_length=16, choices=Reason.choices, blank=True)
    # The name outlives the cache.
    cache = models.ForeignKey(Cache, on_delete=models.SET_NULL, null=True, blank=True, related_name="incidents")
    cache_name = models.CharField(max_length=63, blank=True)
    # Times are those of the ticks that decided.
    opened_at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=150, blank=True)
    # Who is to look after it, and until when nobody is to hear of it again.
    assigned_to = models.CharField(max_length=150, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    # The number of its newest message.
    last_sequence = models.PositiveIntegerField(default=0)
    # When people were last told, how bad it was then, and since when there are news that they were not told.
    told_at = models.DateTimeField(null=True, blank=True)
    told_severity = models.CharField(max_length=8, blank=True)
    news_at = models.DateTimeField(null=True, blank=True)
    # When people were first told, and how many steps of its route were taken since, the last of them when.
    paged_at = models.DateTimeField(null=True, blank=True)
    steps_taken = models.PositiveSmallIntegerField(default=0)
    stepped_at = models.DateTimeField(null=True, blank=True)
    # The route that groups it.
    route = models.ForeignKey("alerts.Route", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    objects = IncidentQuerySet.as_manager()

    class Meta:
        ordering = ("-opened_at",)
        constraints = (
            models.UniqueConstraint(fields=("subject",), condition=Q(closed_at=None), name="one_open_incident"),
        )
        # History, newest first.
        indexes = (models.Index(fields=("-opened_at",), name="incident_newest"),)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("incident", args=[self.pk])

    @property
    def heading(self) -> str:
        """The title in the active language."""
        return spoken(self.title, self.titles)

    @property
    def looked_after_by(self) -> str:
        """Who acknowledged it, in the active language where it is no name; "" for nobody."""
        return person_words(self.acknowledged_by)

    def name_after(self, message: Message) -> None:
        """Take the title that people are told."""
        titles = {language: words.title for language, words in message.others.items()}
        self.title = storable(message.title)[:TITLE_LIMIT]
        self.titles = {language: storable(title)[:TITLE_LIMIT] for language, title in titles.items()}

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    @property
    def lasted(self) -> timedelta | None:
        return self.closed_at - self.opened_at if self.closed_at else None

    @property
    def is_test(self) -> bool:
        return self.reason == Reason.TEST


class ChannelQuerySet(models.QuerySet["Channel"]):
    def told_of(self, incident: Incident) -> Self:
        """Return the channels that have, or are on their way to have, a message of the incident."""
        return self.filter(deliveries__incident=incident).distinct()


class Channel(models.Model):
    """A way to reach people or programs: a kind of service with its settings, and how it does."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    kind = models.CharField(_("kind"), max_length=20)
    language = models.CharField(
        _("language"), max_length=10, choices=settings.LANGUAGES, default=settings.LANGUAGE_CODE
    )
    # JSON: which of the settings are secret is for their kind to say, so all of them are encrypted.
    settings = SecretField(default="")
    fallback = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("fall-back")
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # The last time that the service accepted a message.
    proven_at = models.DateTimeField(null=True, blank=True)
    broken_at = models.DateTimeField(null=True, blank=True)
    broken_cause = models.CharField(max_length=30, blank=True)
    broken_words = models.CharField(max_length=200, blank=True)
    # No message leaves before: the service asked to slow down, or its rate is limited.
    held_until = models.DateTimeField(default=timezone.now)
    # The least time between two messages, as the kind wants it.
    gap_seconds = models.FloatField(default=0)
    # The last event that it told as a change; NULL before it was asked to.
    changes_told = models.BigIntegerField(null=True, editable=False)
    # The last change of a switch that it told likewise; and until when one sender alone tells changes.
    switches_told = models.BigIntegerField(null=True, editable=False)
    changes_leased_until = models.DateTimeField(null=True, editable=False)
    # Senders turn to the channel that has waited longest.
    served_at = models.DateTimeField(default=timezone.now)
    # Optimistic lock for edits: two people must not overwrite each other.
    revision = models.PositiveIntegerField(default=1, editable=False)

    objects = ChannelQuerySet.as_manager()

    class Meta:
        ordering = ("name",)
        verbose_name = _("channel")

    def __str__(self) -> str:
        return self.name

    @property
    def is_broken(self) -> bool:
        return self.broken_at is not None

    @property
    def trouble(self) -> str:
        """Why it is broken, as a sentence; "" where it works."""
        return sentence(self.broken_cause, self.broken_words)


class Kind(models.TextChoices):
    """What a message does at the pager."""

    TRIGGER = "trigger", _("trigger")
    ACKNOWLEDGE = "acknowledge", _("acknowledge")
    UPDATE = "update", _("update")
    RESOLVE = "resolve", _("resolve")


class Delivery(models.Model):
    """One message of an incident on its way to one channel: a row of the outbox. alerts/outbox.py writes them."""

    class State(models.TextChoices):
        WAITING = "", _("waiting")
        ACCEPTED = "accepted", _("accepted")
        REFUSED = "refused", _("refused")
        GIVEN_UP = "given_up", _("given up")
        SUPERSEDED = "superseded", _("overtaken by a newer one")

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="deliveries")
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    # Messages of an incident leave in this order, channel by channel.
    sequence = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=Kind.choices)
    # alerts.message.Message as JSON, built once.
    payload = models.JSONField()
    urgency = models.PositiveSmallIntegerField()
    # The channel that failed, where this one is its fall-back.
    stands_in_for = models.ForeignKey(Channel, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    # Whoever sends holds the row until then; past that time the sender is lost and the outcome unknown.
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    # How many of them the service did not accept: the delay grows with it.
    failures = models.PositiveIntegerField(default=0)
    # How many attempts may have been accepted without our knowing, and when we learnt of the last.
    unknowns = models.PositiveIntegerField(default=0)
    unknown_at = models.DateTimeField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    # What the channel wants to be told at the incident's next message.
    handle = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ("incident", "sequence", "channel")
        constraints = (models.UniqueConstraint(fields=("incident", "channel", "sequence"), name="one_message_once"),)
        indexes = (
            # What a sender takes next.
            models.Index(fields=("channel", "urgency", "due_at"), condition=Q(state=""), name="delivery_waiting"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.sequence} of {self.incident_id} to {self.channel_id}: {self.state or 'waiting'}"


class Attempt(models.Model):
    """One try to hand a message to a channel, and what the service said."""

    class Result(models.TextChoices):
        ACCEPTED = "accepted", _("accepted")
        RETRY = "retry", _("will be tried again")
        FINAL = "final", _("refused")
        UNKNOWN = "unknown", _("unknown")

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="tries")
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    # When the outcome was known.
    at = models.DateTimeField()
    duration_seconds = models.FloatField(null=True)
    result = models.CharField(max_length=8, choices=Result.choices)
    cause = models.CharField(max_length=30, blank=True)
    words = models.CharField(max_length=200, blank=True)
    status = models.PositiveSmallIntegerField(null=True)
    # The service's words, without secrets and cut.
    answer = models.CharField(max_length=ANSWER_LIMIT, blank=True)

    class Meta:
        ordering = ("-pk",)
        # The log of one channel.
        indexes = (models.Index(fields=("channel", "-id"), name="attempts_of_channel"),)

    def __str__(self) -> str:
        return f"attempt {self.number}: {self.result}"

    @property
    def sentence(self) -> str:
        return sentence(self.cause, self.words)
