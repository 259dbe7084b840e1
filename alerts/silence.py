"""Silences: alerts that a person does not want to be told of, with a reason and an end."""

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from alerts import matchers
from alerts.matchers import Matcher
from collectors.event import Event


class SilenceQuerySet(models.QuerySet["Silence"]):
    def active(self, at: datetime) -> Self:
        """Return those in force; one that is bound to an event ends with it."""
        in_time = self.filter(starts_at__lte=at, ends_at__gt=at)
        return in_time.filter(models.Q(event=None) | models.Q(event__until=None) | models.Q(event__until__gt=at))


class Silence(models.Model):
    """Alerts whose labels fit stay untold while it lasts. What was told before is still told to be over."""

    # Lines as people write them: alerts/matchers.py.
    matchers = models.JSONField()
    author = models.CharField(_("author"), max_length=150)
    comment = models.CharField(_("comment"), max_length=500)
    starts_at = models.DateTimeField(_("from"), default=timezone.now)
    ends_at = models.DateTimeField(_("until"))
    # Ends with this event, at the latest at its own end.
    event = models.ForeignKey(Event, on_delete=models.SET_NULL, null=True, blank=True, related_name="silences")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = SilenceQuerySet.as_manager()

    class Meta:
        ordering = ("-starts_at",)
        verbose_name = _("silence")
        # Those in force.
        indexes = (models.Index(fields=("ends_at",), name="silence_end"),)

    def __str__(self) -> str:
        return f"{', '.join(self.matchers)} until {self.ends_at:%Y-%m-%d %H:%M}"

    @property
    def told(self) -> dict[str, Any]:
        """Return what is written down of it where it hides something: it may be changed or gone when that is read."""
        about = {"author": self.author, "comment": self.comment, "until": self.ends_at.isoformat()}
        return {"silence": self.pk, **about}

    @cached_property
    def parsed(self) -> tuple[Matcher, ...]:
        return matchers.parse(self.matchers)

    def hides(self, labels: Mapping[str, str]) -> bool:
        return matchers.fit(self.parsed, labels)
