"""How Cloud Monitoring is read: one row for each project that is asked, whoever's metrics it answers with."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.utils import timezone

# Longer than a round may take: what a worker holds that died is free after it.
LEASE = timedelta(seconds=110)


class CloudFeedQuerySet(models.QuerySet["CloudFeed"]):
    def due(self, now: datetime) -> Self:
        """Return those that may be asked now: no service that is away or out of quota, none that is being read."""
        return self.filter(due_at__lte=now, lease_until__lte=now)


class CloudFeed(models.Model):
    """One project that answers for its own metrics or, as a scoping project, for those of several."""

    project_id = models.CharField(max_length=100, unique=True)
    # Until then one worker reads it; nobody else may.
    lease_until = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    # As it was when this worker took the lease.
    claimed_due_at: datetime
    # The end of the last round that brought answers, and up to where it asked.
    answered_at = models.DateTimeField(null=True)
    asked_until = models.DateTimeField(null=True)
    # The newest point of any series so far.
    newest_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    # Rounds in a row that brought nothing.
    failures = models.PositiveIntegerField(default=0)
    # A value of CloudCause and the service's words (collectors/cloud/errors.py).
    cause = models.CharField(max_length=40, blank=True)
    words = models.CharField(max_length=300, blank=True)
    # By metric type, why the last round has nothing or not all of it: a value of CloudCause, or Google's words.
    troubles = models.JSONField(default=dict)
    # Queries that may be made at once, and when that was so (collectors/cloud/quota.py).
    tokens = models.FloatField(default=0)
    tokens_at = models.DateTimeField(default=timezone.now)
    # With which metric type the next round begins, where the quota ends one early.
    next_type = models.PositiveIntegerField(default=0)
    # What the service charges for: series that came back since the first of this month (UTC).
    month = models.DateField(null=True)
    month_series = models.PositiveBigIntegerField(default=0)
    month_calls = models.PositiveBigIntegerField(default=0)
    # Series of the last whole round.
    round_series = models.PositiveIntegerField(default=0)
    # Our table against the service's own: what vanished from it, and what is new.
    compared_at = models.DateTimeField(null=True)
    vanished = models.JSONField(default=list)
    unlisted = models.JSONField(default=list)

    objects = CloudFeedQuerySet.as_manager()

    class Meta:
        ordering = ("project_id",)

    def __str__(self) -> str:
        return self.project_id

    @classmethod
    def claim(cls, feed_id: int, now: datetime) -> CloudFeed | None:
        """Take the lease of a feed that is due; None where somebody else has it or nothing is due."""
        if not cls.objects.due(now).filter(pk=feed_id).update(lease_until=now + LEASE):
            return None
        feed = cls.objects.get(pk=feed_id)
        feed.claimed_due_at = feed.due_at
        return feed

    def count(self, series: int, calls: int, now: datetime) -> None:
        """Add what came back to the sum of the month."""
        month = now.date().replace(day=1)
        if self.month != month:
            self.month, self.month_series, self.month_calls = month, 0, 0
        self.month_series += series
        self.month_calls += calls

    def release(self, now: datetime) -> None:
        """Give the lease back and write down how the round went."""
        self.lease_until = now
        self.save(update_fields=[field.name for field in self._meta.fields if field.name not in {"id", "due_at"}])
        # Who woke it meanwhile knows of something that this round did not ask for.
        CloudFeed.objects.filter(pk=self.pk, due_at=self.claimed_due_at).update(due_at=self.due_at)


class CloudPlace(models.Model):
    """What one series tells of: an instance, one of its nodes, in one role; "" where the series does not say."""

    instance = models.ForeignKey("collectors.CloudInstance", on_delete=models.CASCADE, related_name="places")
    node_id = models.CharField(max_length=100, blank=True)
    role = models.CharField(max_length=16, blank=True)
    # The last day (UTC) with a point: nodes come and go, and their places with them.
    seen_on = models.DateField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("instance", "node_id", "role"), name="one_row_a_place"),)

    def __str__(self) -> str:
        return f"{self.node_id} {self.role}".strip() or "whole"
