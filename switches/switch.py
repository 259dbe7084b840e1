"""Switches: whether applications may use a cache, and what they need to know to use it."""

import re
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Self

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from fleet.models import Cache

# A slash or a question mark in a key makes clients ask for another one: they do not escape it.
KEY = re.compile(r"[a-z0-9.-]{1,100}")
KEY_RULE = RegexValidator(rf"\A{KEY.pattern}\Z", _("Use 1 to 100 small letters, digits, dots and hyphens."))
# Addresses of the read path, and what browsers leave out of addresses.
RESERVED_KEYS = {"reports", ".", ".."}
NOTE_LIMIT = 2_000
OVERDUE = timedelta(days=7)
UNUSED = timedelta(days=30)
ALL = 100


class SwitchQuerySet(models.QuerySet["Switch"]):
    def in_use(self) -> Self:
        """Return those that applications may still read."""
        return self.filter(retired_at=None)

    def off(self) -> Self:
        return self.in_use().filter(percent=0)

    def overdue(self, now: datetime) -> Self:
        """Return those that somebody turned off and forgot."""
        return self.off().filter(stepped_at__lt=now - OVERDUE)

    def unused(self, now: datetime) -> Self:
        """Return those that no application asked for in a long time."""
        edge = now - UNUSED
        polled = models.Q(polled_at__lt=edge) | models.Q(polled_at=None)
        return self.in_use().filter(polled, created_at__lt=edge)


class Switch(models.Model):
    """What applications ask before they use a cache: off is 0 percent of them, a canary 1 to 99, on is 100."""

    class Fallback(models.TextChoices):
        """What a reader does that never heard of the switch."""

        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    key = models.CharField(_("key"), max_length=100, unique=True, validators=[KEY_RULE])
    label = models.CharField(_("label"), max_length=200, blank=True)
    cache_now = models.ForeignKey(
        Cache, on_delete=models.SET_NULL, null=True, blank=True, related_name="switches", verbose_name=_("cache")
    )
    cache_next = models.ForeignKey(
        Cache, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("next cache")
    )
    percent = models.PositiveSmallIntegerField(_("percent"), default=ALL)
    fallback = models.CharField(
        _("when nothing is known"), max_length=6, choices=Fallback.choices, default=Fallback.OPEN
    )
    ttl_seconds = models.PositiveSmallIntegerField(
        _("time to live (seconds)"), default=5, validators=[MinValueValidator(1), MaxValueValidator(300)]
    )
    owner = models.CharField(_("owner"), max_length=150, blank=True)
    note = models.TextField(_("note"), max_length=NOTE_LIMIT, blank=True)
    needs_two_people = models.BooleanField(_("turning on needs two people"), default=False)
    floor_per_second = models.FloatField(
        _("commands per second that count as silence"), default=5.0, validators=[MinValueValidator(0)]
    )
    # Optimistic lock, and what clients compare: it rises by one with every change.
    revision = models.PositiveIntegerField(default=1, editable=False)
    changed_at = models.DateTimeField(default=timezone.now, editable=False)
    # When the percentage last changed: off since, or at this step of a canary since.
    stepped_at = models.DateTimeField(default=timezone.now, editable=False)
    # Set from pointing an off switch elsewhere until it is turned on or off again.
    is_repointing = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # To the minute; kept by the read path beside revisions.
    polled_at = models.DateTimeField(null=True, editable=False)
    # A key is never taken away for good: a new switch would begin at a revision that clients refuse.
    retired_at = models.DateTimeField(null=True, editable=False)

    objects = SwitchQuerySet.as_manager()

    class Meta:
        ordering = ("key",)
        verbose_name = _("switch")
        constraints = (models.CheckConstraint(condition=models.Q(percent__lte=ALL), name="percent_of_all"),)

    def __str__(self) -> str:
        return self.key

    @property
    def can_use(self) -> bool:
        """Return whether anybody may use the cache."""
        return self.percent > 0

    @property
    def is_canary(self) -> bool:
        return 0 < self.percent < ALL

    def is_overdue(self, now: datetime) -> bool:
        return not self.can_use and self.retired_at is None and self.stepped_at < now - OVERDUE

    def is_unused(self, now: datetime) -> bool:
        return self.retired_at is None and max(self.created_at, self.polled_at or self.created_at) < now - UNUSED

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        super().clean_fields(exclude)
        if self.key in RESERVED_KEYS:
            raise ValidationError({"key": _("Shardwatch uses this key itself; choose another one.")})

    def as_recorded(self) -> dict[str, Any]:
        """Return what the record of changes keeps: everything that people decide."""
        return {
            "label": self.label,
            "cache_now": self.cache_now.name if self.cache_now else None,
            "cache_next": self.cache_next.name if self.cache_next else None,
            "percent": self.percent,
            "fallback": self.fallback,
            "ttl_seconds": self.ttl_seconds,
            "owner": self.owner,
            "note": self.note,
            "needs_two_people": self.needs_two_people,
            "floor_per_second": self.floor_per_second,
            "is_repointing": self.is_repointing,
            "is_retired": self.retired_at is not None,
        }


class SwitchChange(models.Model):
    """One change of one switch, written with it. The database refuses to alter or delete rows."""

    class Kind(models.TextChoices):
        CREATED = "created", _("created")
        EDITED = "edited", _("edited")
        OFF = "off", _("turned off")
        STEP = "step", _("canary step")
        ON = "on", _("turned on")
        REPOINTED = "repointed", _("pointed elsewhere")
        RETIRED = "retired", _("retired")

    switch = models.ForeignKey(Switch, on_delete=models.PROTECT, related_name="changes")
    revision = models.PositiveIntegerField()
    at = models.DateTimeField()
    # A name and no link: users may be deleted, records may not change.
    by = models.CharField(max_length=150)
    # Who said yes to it, where it took two.
    approved_by = models.CharField(max_length=150, blank=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    before = models.JSONField()
    after = models.JSONField()
    reason = models.CharField(max_length=500)
    ticket = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ("-revision",)
        constraints = (models.UniqueConstraint(fields=("switch", "revision"), name="one_change_a_revision"),)

    def __str__(self) -> str:
        return f"{self.switch_id} {self.kind} at revision {self.revision}"
