"""Hours that come again every week: when a maintenance window lasts, when a route takes alerts."""

from __future__ import annotations

from datetime import time
from functools import cached_property
from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts.recurrence import Weekly

WEEKDAYS = (
    (0, gettext_lazy("Monday")),
    (1, gettext_lazy("Tuesday")),
    (2, gettext_lazy("Wednesday")),
    (3, gettext_lazy("Thursday")),
    (4, gettext_lazy("Friday")),
    (5, gettext_lazy("Saturday")),
    (6, gettext_lazy("Sunday")),
)


class Hours(models.Model):
    """A row with weekdays and two times of day on the wall of a zone."""

    weekdays = models.JSONField(default=list)
    starts = models.TimeField(gettext_lazy("from"), default=time.min)
    ends = models.TimeField(gettext_lazy("to"), default=time.min)
    zone = models.CharField(gettext_lazy("time zone"), max_length=63, default="UTC")

    class Meta:
        abstract = True

    @cached_property
    def weekly(self) -> Weekly:
        return Weekly(frozenset(self.weekdays), self.starts, self.ends, ZoneInfo(self.zone))

    @property
    def hours_words(self) -> str:
        """Return the days and hours in words: "Monday, Tuesday 09:00-18:00 Europe/Berlin"."""
        days = ", ".join(str(words) for day, words in WEEKDAYS if day in self.weekdays)
        return f"{days} {self.starts:%H:%M}\N{EN DASH}{self.ends:%H:%M} {self.zone}"


def check(hours: Hours) -> None:
    """Raise ValidationError, by field, where there are no such days or zone; put the days in order."""
    hours.weekdays = sorted(set(hours.weekdays))
    if not hours.weekdays or not all(0 <= day <= 6 for day in hours.weekdays):
        raise ValidationError({"weekdays": _("Choose one weekday at least.")})
    if hours.zone not in available_timezones():
        raise ValidationError({"zone": _("There is no such time zone. Write one such as Europe/Berlin.")})
