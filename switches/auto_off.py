"""Which rules may turn a switch off by themselves. Nothing ever turns one on."""

from datetime import datetime, timedelta
from typing import Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from switches.switch import Switch

# Who did it, in the record of changes.
NAME = "auto-off"
DAY = timedelta(days=1)


class AutoOffQuerySet(models.QuerySet["AutoOff"]):
    def armed(self) -> Self:
        """Return those whose switch is on and points at a cache."""
        return self.filter(switch__percent__gt=0, switch__retired_at=None, switch__cache_now__isnull=False)


class AutoOff(models.Model):
    """Leave to turn one switch off while one of these rules fires as critical. No row, no leave."""

    switch = models.OneToOneField(Switch, on_delete=models.CASCADE, primary_key=True, related_name="auto_off")
    # Keys of rules.
    rules = models.JSONField(default=list, blank=True)
    cooldown_seconds = models.PositiveIntegerField(
        default=3_600, validators=[MinValueValidator(60), MaxValueValidator(604_800)]
    )
    limit_per_day = models.PositiveSmallIntegerField(
        default=2, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )

    objects = AutoOffQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.switch_id} by {', '.join(self.rules)}"

    def rests_until(self, now: datetime) -> datetime | None:
        """Return until when it does nothing: it cools down, or did enough for a day; None where it is ready."""
        done = self.switch.changes.filter(by=NAME, at__gt=now - max(DAY, self._cooldown)).order_by("-at")
        times = list(done.values_list("at", flat=True))
        today = [at for at in times if at > now - DAY]
        ends = [times[0] + self._cooldown] if times else []
        if len(today) >= self.limit_per_day:
            ends.append(today[self.limit_per_day - 1] + DAY)
        return max((end for end in ends if end > now), default=None)

    @property
    def _cooldown(self) -> timedelta:
        return timedelta(seconds=self.cooldown_seconds)
