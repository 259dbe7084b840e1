"""Maintenance windows: silences that come again every week."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from itertools import islice

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from alerts import matchers
from alerts.hours import Hours
from alerts.matchers import Matcher


class Window(Hours):
    """Alerts whose labels fit stay untold while it lasts. What was told before is still told to be over."""

    # Lines as people write them: alerts/matchers.py.
    matchers = models.JSONField()
    author = models.CharField(_("author"), max_length=150)
    comment = models.CharField(_("comment"), max_length=500)
    # From then on there is none any more.
    until = models.DateTimeField(_("until"))
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = models.Manager["Window"]()

    class Meta:
        ordering = ("-until", "-pk")
        verbose_name = _("maintenance window")

    def __str__(self) -> str:
        return f"{', '.join(self.matchers)} {self.starts:%H:%M}-{self.ends:%H:%M} {self.zone}"

    @cached_property
    def parsed(self) -> tuple[Matcher, ...]:
        return matchers.parse(self.matchers)

    def hides(self, labels: Mapping[str, str]) -> bool:
        return matchers.fit(self.parsed, labels)

    def covers(self, at: datetime) -> bool:
        return at < self.until and self.weekly.covers(at)

    def following(self, at: datetime, count: int) -> list[tuple[datetime, datetime]]:
        """Return when it comes next, the one that lasts at the time first; none is longer than until the last."""
        found: Iterator[tuple[datetime, datetime]] = self.weekly.following(at, self.until)
        return [(begins, min(ends, self.until)) for begins, ends in islice(found, count)]


def active(at: datetime) -> list[Window]:
    """Return the windows that last at a time."""
    return [window for window in Window.objects.filter(until__gt=at) if window.covers(at)]
