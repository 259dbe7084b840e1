"""What the collectors remember beside samples: states, facts, refusals and who polls what.

Samples, rollups and latest values have no models: collectors/samples.py alone reads and writes them.
"""

from datetime import timedelta
from typing import Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from collectors.causes import sentence_of
from collectors.client_reading import ClientReading as ClientReading
from collectors.client_reading import ClientRows as ClientRows
from collectors.client_reading import ClientTurn as ClientTurn
from collectors.cloud.feed import CloudFeed as CloudFeed
from collectors.cloud.feed import CloudPlace as CloudPlace
from collectors.cloud.models import CloudInstance as CloudInstance
from collectors.cloud.models import CloudProject as CloudProject
from collectors.event import Event as Event
from collectors.event import KnownState as KnownState
from collectors.hot_key_reading import HotKeyReading as HotKeyReading
from collectors.hot_key_reading import HotKeyTurn as HotKeyTurn
from collectors.keyscan.models import Scan as Scan
from collectors.keyscan.models import ScanChange as ScanChange
from collectors.keyscan.models import ScanKey as ScanKey
from collectors.keyscan.models import ScanMetric as ScanMetric
from collectors.keyscan.models import ScanPrefix as ScanPrefix
from collectors.keyscan.models import ScanSchedule as ScanSchedule
from collectors.keyscan.models import ScanShard as ScanShard
from collectors.latency_event import LatencyEvent as LatencyEvent
from collectors.memcached.models import MysqlPlugin as MysqlPlugin
from collectors.slot_reading import SlotReading as SlotReading
from collectors.slow_entry import SlowEntry as SlowEntry
from collectors.slow_entry import SlowMark as SlowMark
from collectors.steps import CHOICES as STEP_CHOICES
from collectors.steps import Step as Step
from fleet.models import Cache, Node


class NodeStatus(models.Model):
    """How the last polls of one node went. A node that answers has no failing_since."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, primary_key=True, related_name="status")
    attempted_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    failed_step = models.CharField(max_length=8, choices=STEP_CHOICES, blank=True)
    # A value of Cause, and the server's words cut to 200 printable characters.
    failed_cause = models.CharField(max_length=40, blank=True)
    failed_words = models.CharField(max_length=200, blank=True)
    polls = models.PositiveBigIntegerField(default=0)
    failures = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.node}: {self.failed_reason or 'answers'}"

    @property
    def failed_reason(self) -> str:
        """Return why the last poll failed, in the active language; "" where it did not."""
        return sentence_of(self.failed_cause, self.failed_words)


class NodeFact(models.Model):
    """A text or rarely changing field of a node from the time it was first seen with this value."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="facts")
    name = models.CharField(max_length=64)
    value = models.CharField(max_length=500)
    since = models.DateTimeField()
    # The newest value of each name has no end; a change closes it and adds a row.
    until = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("node", "name"), condition=models.Q(until=None), name="one_current_fact"),
        )
        # The history of one field of one node.
        indexes = (models.Index(fields=("node", "name", "since"), name="fact_history"),)

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class CommandSupport(models.Model):
    """Whether a node lets us run a command. Asked once and again after COMMAND_RECHECK_SECONDS."""

    class State(models.TextChoices):
        ALLOWED = "allowed", _("allowed")
        REFUSED = "refused", _("refused")
        UNKNOWN = "unknown", _("unknown")

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="command_support")
    command = models.CharField(max_length=40)
    state = models.CharField(max_length=8, choices=State.choices)
    # The server's words, cut to 200 printable characters.
    reason = models.CharField(max_length=200, blank=True)
    checked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("node", "command"), name="one_state_a_command"),)

    def __str__(self) -> str:
        return f"{self.command}: {self.state}"


class PollLease(models.Model):
    """Who polls a cache, and until when nobody else may: claimed by a conditional UPDATE."""

    cache = models.OneToOneField(Cache, on_delete=models.CASCADE, primary_key=True, related_name="poll_lease")
    worker = models.CharField(max_length=200, blank=True)
    until = models.DateTimeField(default=timezone.now)
    tick_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    duration_seconds = models.FloatField(null=True)
    topology_at = models.DateTimeField(null=True)
    polls = models.PositiveBigIntegerField(default=0)
    # Polls left out because the one before still ran.
    skipped = models.PositiveBigIntegerField(default=0)
    # Polls that began more than two seconds after their time.
    late = models.PositiveBigIntegerField(default=0)
    # What we put on the watched servers: commands of the last poll, and open connections.
    commands = models.PositiveIntegerField(default=0)
    connections = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.cache_id} by {self.worker or 'nobody'}"


class PollWorkerQuerySet(models.QuerySet["PollWorker"]):
    def alive(self, seconds: float) -> Self:
        return self.filter(seen_at__gt=timezone.now() - timedelta(seconds=seconds))


class PollWorker(models.Model):
    """A process that polls. Caches are shared out over those seen lately."""

    name = models.CharField(max_length=200, primary_key=True)
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    objects = PollWorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class Beat(models.Model):
    """When beat last reached a poller (row 1) and a worker (row 2), for /readyz and the health page."""

    POLLER, WORKER = 1, 2

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"beat {self.at:%H:%M:%S}"
