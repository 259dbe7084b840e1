"""What applications report: one row an instance and switch, however many workers and polls stand behind it."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models

from switches.switch import Switch

NAME_LIMIT, ADDRESS_LIMIT, VERSION_LIMIT, ERROR_LIMIT = 200, 200, 100, 300
# A heartbeat without news is written so often at most.
HEARTBEAT = timedelta(seconds=10)
# Polls are spread by a fifth; three of them, or this, may pass before an instance counts as silent.
SPREAD, POLLS_MISSED, LEAST_PATIENCE = 1.2, 3, timedelta(seconds=30)
# One that was silent for so long is gone: scaled down, or deployed under another name.
FORGOTTEN = timedelta(hours=1)


def poll_period(ttl_seconds: float) -> timedelta:
    """Return the longest time between two polls of a healthy instance."""
    return timedelta(seconds=ttl_seconds * SPREAD)


def patience(ttl_seconds: float) -> timedelta:
    """Return how long an instance may say nothing before it counts as silent."""
    return max(LEAST_PATIENCE, POLLS_MISSED * poll_period(ttl_seconds) + HEARTBEAT)


class InstanceQuerySet(models.QuerySet["Instance"]):
    def live(self, switch: Switch, now: datetime) -> Self:
        return self.filter(switch=switch, seen_at__gt=now - patience(switch.ttl_seconds))

    def forget(self, now: datetime) -> int:
        """Delete those that are gone; return how many."""
        return self.filter(seen_at__lt=now - FORGOTTEN).delete()[0]


class Instance(models.Model):
    """The processes of an application that share one copy of a switch, as they last reported."""

    switch = models.ForeignKey(Switch, on_delete=models.CASCADE, related_name="instances")
    name = models.CharField(max_length=NAME_LIMIT)
    # From where it talks to the cache: a host, or a host and port; empty where nobody can tell.
    address = models.CharField(max_length=ADDRESS_LIMIT, blank=True)
    version = models.CharField(max_length=VERSION_LIMIT, blank=True)
    workers = models.PositiveIntegerField(null=True)
    revision = models.PositiveIntegerField()
    epoch = models.PositiveIntegerField(null=True)
    # Of what it knows, in seconds.
    age_seconds = models.FloatField(null=True)
    error = models.CharField(max_length=ERROR_LIMIT, blank=True)
    first_seen_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    # When one of its processes last reported an older revision than the one of the day.
    behind_at = models.DateTimeField(null=True)
    is_admitted = models.BooleanField(default=False)

    objects = InstanceQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("switch", "name"), name="one_row_an_instance"),)
        # Forgetting those that are gone.
        indexes = (models.Index(fields=("seen_at",), name="instance_oldest"),)

    def __str__(self) -> str:
        return f"{self.name} at revision {self.revision}"
