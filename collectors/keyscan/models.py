"""Scans of keys: who asked for what, how far they are, and what they found."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from collectors.keyscan.options import ScanOptions
from fleet.models import Cache, Node


class Speed(models.TextChoices):
    GENTLE = "gentle", _("gentle")
    BRISK = "brisk", _("brisk")
    FAST = "fast", _("fast")


class ScanState(models.TextChoices):
    """What is wished for while it is under way; then how it ended. Incomplete: some shard was not walked to the end."""

    QUEUED = "queued", _("waiting for a worker")
    RUNNING = "running", _("running")
    PAUSED = "paused", _("paused")
    STOPPING = "stopping", _("being cancelled")
    DONE = "done", _("done")
    INCOMPLETE = "incomplete", _("incomplete")
    STOPPED = "stopped", _("cancelled")
    FAILED = "failed", _("failed")


OPEN = (ScanState.QUEUED, ScanState.RUNNING, ScanState.PAUSED, ScanState.STOPPING)
# Those with results worth comparing.
FINISHED = (ScanState.DONE, ScanState.INCOMPLETE, ScanState.STOPPED)


class ScanSchedule(models.Model):
    """A scan that begins by itself in a quiet window of some weekdays, once a day at most."""

    cache = models.ForeignKey(Cache, on_delete=models.CASCADE, related_name="scan_schedules")
    author = models.CharField(max_length=150, blank=True)
    options = models.JSONField(default=dict)
    brake = models.CharField(max_length=6, choices=Speed.choices, default=Speed.GENTLE)
    # 0 is Monday.
    weekdays = models.JSONField(default=list)
    # Local times of `zone`; a window that ends before it begins goes over midnight.
    begins = models.TimeField()
    ends = models.TimeField()
    zone = models.CharField(max_length=64, default="UTC")
    is_active = models.BooleanField(default=True)
    # The day, local to `zone`, on which its last window began that it made use of.
    last_day = models.DateField(null=True)
    # Why the last try brought no scan; empty where it did.
    refused_cause = models.CharField(max_length=20, blank=True)
    refused_data = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("cache__name", "begins")

    def __str__(self) -> str:
        return f"{self.cache} at {self.begins:%H:%M}"

    @property
    def asked(self) -> ScanOptions:
        return ScanOptions.of_json(self.options)


class ScanQuerySet(models.QuerySet["Scan"]):
    def under_way(self) -> Self:
        return self.filter(state__in=OPEN)

    def with_results(self) -> Self:
        return self.filter(state__in=FINISHED, keys__gt=0)


class Scan(models.Model):
    """One look at all keys of a cache, or at those asked for. A worker holds it while `lease_until` is ahead."""

    cache = models.ForeignKey(Cache, on_delete=models.CASCADE, related_name="scans")
    schedule = models.ForeignKey(ScanSchedule, on_delete=models.SET_NULL, null=True, related_name="scans")
    author = models.CharField(max_length=150, blank=True)
    options = models.JSONField(default=dict)
    brake = models.CharField(max_length=6, choices=Speed.choices, default=Speed.GENTLE)
    state = models.CharField(max_length=10, choices=ScanState.choices, default=ScanState.QUEUED)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    worker = models.CharField(max_length=200, blank=True)
    lease_until = models.DateTimeField(default=timezone.now)
    # How often a worker took it up: more than once after a crash or a deploy.
    attempts = models.PositiveIntegerField(default=0)
    # Sums over shards: written at the end, and now and then before.
    keys = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)
    # Histograms, types and shares (collectors/keyscan/summary.py).
    summary = models.JSONField(default=dict)

    objects = ScanQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-pk")
        indexes = (
            # The list of one cache, and the scan before another one.
            models.Index(fields=("cache", "-created_at"), name="scan_of_cache"),
            # Those that workers look for.
            models.Index(fields=("lease_until",), condition=Q(state__in=OPEN), name="scan_under_way"),
        )

    def __str__(self) -> str:
        return f"scan {self.pk} of {self.cache_id}: {self.state}"

    def get_absolute_url(self) -> str:
        return reverse("scan", args=[self.pk])

    @property
    def asked(self) -> ScanOptions:
        return ScanOptions.of_json(self.options)

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def has_results(self) -> bool:
        return self.state in FINISHED and self.keys > 0

    @property
    def at(self) -> datetime:
        """Return the time that its results are of."""
        return self.finished_at or self.created_at

    def before(self) -> ScanQuerySet:
        """Return earlier scans of the same cache that asked for the same keys, newest first."""
        asked = self.asked
        same = Scan.objects.with_results().filter(cache_id=self.cache_id, created_at__lt=self.created_at)
        return same.filter(
            options__match=asked.match, options__type=asked.type, options__shards=list(asked.shards)
        ).order_by("-created_at")


class ScanChange(models.Model):
    """A change of a scan's state or brake: who or what brought it about."""

    scan = models.ForeignKey(Scan, on_delete=models.CASCADE, related_name="changes")
    at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=10, choices=ScanState.choices)
    # A cause of collectors/keyscan/reasons.py with its figures; put into words when somebody reads it.
    cause = models.CharField(max_length=20, blank=True)
    data = models.JSONField(default=dict)
    author = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.state} at {self.at:%H:%M:%S}"


class ScanShard(models.Model):
    """The part of a scan that one node is asked for: how far it is, and what it takes to go on elsewhere."""

    scan = models.ForeignKey(Scan, on_delete=models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()
    node = models.ForeignKey(Node, on_delete=models.SET_NULL, null=True, related_name="scans")
    address = models.CharField(max_length=300)
    is_replica = models.BooleanField(default=False)
    # Until the scan has ended; of the active ones each node has one at most.
    is_active = models.BooleanField(default=True)
    # collectors/keyscan/progress.py's State, and why it failed: a cause with the server's words.
    state = models.CharField(max_length=12, default="waiting")
    failed_step = models.CharField(max_length=8, blank=True)
    failed_cause = models.CharField(max_length=40, blank=True)
    failed_words = models.CharField(max_length=200, blank=True)
    keys = models.PositiveBigIntegerField(default=0)
    # How many the server counted when the walk began.
    total = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)
    progress = models.JSONField(default=dict)
    progress_at = models.DateTimeField(null=True)
    # Seconds of the server's time that went to this scan.
    busy_seconds = models.FloatField(default=0)
    reconnects = models.PositiveIntegerField(default=0)
    restarts = models.PositiveIntegerField(default=0)
    checkpoint = models.BinaryField(null=True)
    checkpoint_at = models.DateTimeField(null=True)
    summary = models.JSONField(default=dict)

    class Meta:
        ordering = ("number", "address")
        constraints = (models.UniqueConstraint(fields=("node",), condition=Q(is_active=True), name="one_scan_a_node"),)

    def __str__(self) -> str:
        return f"shard {self.number} on {self.address}"

    @property
    def ratio(self) -> float:
        """Return how far it is, 0 to 1."""
        if self.state == "done":
            return 1.0
        return min(self.keys / self.total, 0.9999) if self.total else 0.0


class ScanKey(models.Model):
    """One of the largest keys. What was not read is None or empty; a TTL of -1 is none."""

    scan = models.ForeignKey(Scan, on_delete=models.CASCADE, related_name="top_keys")
    shard = models.PositiveIntegerField()
    address = models.CharField(max_length=300)
    db = models.PositiveIntegerField(default=0)
    name = models.BinaryField()
    # Of the name: what a key's history is looked up by.
    digest = models.BigIntegerField()
    size = models.BigIntegerField()
    is_exact = models.BooleanField(default=True)
    type = models.CharField(max_length=40, blank=True)
    ttl_ms = models.BigIntegerField(null=True)
    idle = models.BigIntegerField(null=True)
    frequency = models.IntegerField(null=True)
    encoding = models.CharField(max_length=40, blank=True)
    elements = models.BigIntegerField(null=True)
    slot = models.PositiveIntegerField(null=True)

    class Meta:
        indexes = (
            # The table of a scan, biggest first.
            models.Index(fields=("scan", "-size"), name="scan_key_by_size"),
            # The history of one key.
            models.Index(fields=("digest", "scan"), name="scan_key_history"),
        )

    def __str__(self) -> str:
        return f"{bytes(self.name)!r}: {self.size}"


class ScanPrefix(models.Model):
    """One prefix with everything below it. The root has depth 0 and no parent."""

    scan = models.ForeignKey(Scan, on_delete=models.CASCADE, related_name="prefixes")
    digest = models.BigIntegerField()
    parent = models.BigIntegerField(null=True)
    depth = models.PositiveSmallIntegerField()
    prefix = models.BinaryField()
    # What was too small or too much to have a place of its own.
    is_other = models.BooleanField(default=False)
    has_children = models.BooleanField(default=False)
    keys = models.BigIntegerField()
    size = models.BigIntegerField()
    largest = models.BigIntegerField()
    sampled = models.BigIntegerField()
    lasting = models.BigIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("scan", "digest"), name="one_row_a_prefix"),)
        indexes = (
            # What lies below a prefix, and the largest of all.
            models.Index(fields=("scan", "parent", "-size"), name="scan_prefix_below"),
            # The trend of one prefix over all scans.
            models.Index(fields=("digest", "scan"), name="scan_prefix_trend"),
        )

    def __str__(self) -> str:
        return f"{bytes(self.prefix)!r}: {self.size}"

    @property
    def mean(self) -> float:
        return self.size / self.keys if self.keys else 0.0

    @property
    def lasting_ratio(self) -> float | None:
        """Return the share of its keys that never expire, by those that were sampled; None where none was."""
        return self.lasting / self.sampled if self.sampled else None


class ScanMetric(models.Model):
    """A number of a cache's newest complete scan, for alert rules; `detail` says what it is about."""

    cache = models.ForeignKey(Cache, on_delete=models.CASCADE, related_name="scan_metrics")
    scan = models.ForeignKey(Scan, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    at = models.DateTimeField()
    value = models.FloatField()
    detail: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cache", "name"), name="one_scan_metric"),)

    def __str__(self) -> str:
        return f"{self.name}={self.value}"
