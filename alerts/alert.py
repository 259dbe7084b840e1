"""Alerts: one row a rule and target, and a row for every change of its state."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from alerts.clock import AT_REST, Clock, Phase, step
from alerts.decision import Decision
from alerts.reason import Reason
from alerts.rule import Rule
from alerts.spec import CRITICAL, NONE, WARNING, Level
from fleet.models import Cache, Node, Shard

SEVERITIES = {WARNING: "warning", CRITICAL: "critical"}


class AlertQuerySet(models.QuerySet["Alert"]):
    def active(self) -> Self:
        """Return those that are not resolved."""
        return self.exclude(state=Alert.State.RESOLVED)

    def firing(self) -> Self:
        return self.filter(state__in=FIRING_STATES)


class Alert(models.Model):
    """One rule on one target. Its clocks are the record; state and severity follow from them."""

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        FIRING = "firing", _("firing")
        RECOVERING = "recovering", _("recovering")
        FLAPPING = "flapping", _("flapping")
        RESOLVED = "resolved", _("resolved")

    rule = models.ForeignKey(Rule, on_delete=models.SET_NULL, null=True, related_name="alerts")
    # The names outlive what they name.
    rule_key = models.CharField(max_length=63)
    # What is judged: a node, a shard or a cache, as letter and id.
    target = models.CharField(max_length=32)
    cache = models.ForeignKey(Cache, on_delete=models.SET_NULL, null=True, related_name="alerts")
    cache_name = models.CharField(max_length=63)
    shard = models.ForeignKey(Shard, on_delete=models.SET_NULL, null=True, related_name="+")
    node = models.ForeignKey(Node, on_delete=models.SET_NULL, null=True, related_name="alerts")
    node_address = models.CharField(max_length=300, blank=True)
    labels = models.JSONField(default=dict)
    # What people were told of, with the alerts that belong to it.
    incident = models.ForeignKey(
        "alerts.Incident", on_delete=models.SET_NULL, null=True, blank=True, related_name="alerts"
    )
    # When people were last told of this episode; else what keeps it back, and behind which incident it stands.
    told_at = models.DateTimeField(null=True)
    kept_back = models.CharField(max_length=10, choices=Decision.What.choices, blank=True)
    behind = models.ForeignKey(
        "alerts.Incident", on_delete=models.SET_NULL, null=True, blank=True, related_name="hidden_alerts"
    )
    state = models.CharField(max_length=10, choices=State.choices)
    severity = models.CharField(max_length=8, blank=True)
    reason = models.CharField(max_length=16, choices=Reason.choices, default=Reason.THRESHOLD)
    # The value that stands for the rule, and the bound it is held against; NULL where nothing was measured.
    value = models.FloatField(null=True)
    bound = models.FloatField(null=True)
    # Why something does not answer, where the rule asks whether it does (collectors/causes.py).
    cause = models.CharField(max_length=40, blank=True, default="")
    # Clocks of the two levels, each [active_at, fired_at, kept_since] in seconds since the epoch.
    warning_clock = models.JSONField(default=list)
    critical_clock = models.JSONField(default=list)
    # Ticks of late at which it fired, in seconds since the epoch, those of earlier episodes too: alerts/flap.py.
    firings = models.JSONField(default=list)
    # Times are those of ticks.
    began_at = models.DateTimeField()
    fired_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    judged_at = models.DateTimeField()

    objects = AlertQuerySet.as_manager()

    class Meta:
        ordering = ("-began_at",)
        constraints = (models.UniqueConstraint(fields=("rule", "target"), name="one_alert_a_target"),)
        indexes = (
            # What evaluation and the page of what fires read.
            models.Index(fields=("cache",), condition=~Q(state="resolved"), name="alert_active"),
            # History, and forgetting what is old.
            models.Index(fields=("-resolved_at",), name="alert_resolved"),
        )

    def __str__(self) -> str:
        return f"{self.rule_key} on {self.node_address or self.cache_name}: {self.state}"

    @property
    def clocks(self) -> tuple[Clock, Clock]:
        return _clock(self.warning_clock), _clock(self.critical_clock)

    @property
    def is_firing(self) -> bool:
        return self.state in FIRING_STATES


# What counts as firing to the outside.
FIRING_STATES = (Alert.State.FIRING, Alert.State.RECOVERING, Alert.State.FLAPPING)


def _clock(stored: list[int | None]) -> Clock:
    return Clock(*stored) if stored else AT_REST


def stored(clock: Clock) -> list[int | None]:
    return [] if clock == AT_REST else [clock.active_at, clock.fired_at, clock.kept_since]


def state_of(warning: Clock, critical: Clock) -> tuple[Alert.State, Level]:
    """Return what two clocks come to: the state that a person sees, and the level that fires or waits."""
    for level, clock in ((CRITICAL, critical), (WARNING, warning)):
        if clock.is_firing:
            others = {warning.phase, critical.phase}
            is_recovering = clock.phase is Phase.RECOVERING and Phase.FIRING not in others
            return (Alert.State.RECOVERING if is_recovering else Alert.State.FIRING), level
    if Phase.PENDING in {warning.phase, critical.phase}:
        return Alert.State.PENDING, CRITICAL if critical.phase is Phase.PENDING else WARNING
    return Alert.State.RESOLVED, NONE


def stepped(
    clocks: tuple[Clock, Clock],
    level: Level | None,
    tick: int,
    hold: int,
    keep: int,
    may_begin: bool = True,
    since: int | None = None,
) -> tuple[Clock, Clock]:
    """Return the clocks of the two levels after a tick with this verdict."""
    warning, critical = (
        step(_sane(clock, tick), None if level is None else level >= bar, tick, hold, keep, may_begin, since)
        for clock, bar in zip(clocks, (WARNING, CRITICAL), strict=True)
    )
    return warning, critical


def _sane(clock: Clock, tick: int) -> Clock:
    """Return a clock without times ahead of the tick, which a clock that was set back leaves behind."""
    if clock == AT_REST:
        return clock
    return Clock(
        *(time if time is None else min(time, tick) for time in (clock.active_at, clock.fired_at, clock.kept_since))
    )


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


class Transition(models.Model):
    """A change of state, severity or reason of one alert, with the numbers that decided."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="transitions")
    # The tick that decided.
    at = models.DateTimeField()
    was = models.CharField(max_length=10, blank=True)
    state = models.CharField(max_length=10, choices=Alert.State.choices)
    severity = models.CharField(max_length=8, blank=True)
    reason = models.CharField(max_length=16, choices=Reason.choices)
    value = models.FloatField(null=True)
    bound = models.FloatField(null=True)

    class Meta:
        ordering = ("at", "pk")
        indexes = (models.Index(fields=("alert", "at"), name="transitions_of_alert"),)

    def __str__(self) -> str:
        return f"{self.alert_id} {self.was or 'new'} -> {self.state} at {self.at:%H:%M:%S}"


class EvaluationMark(models.Model):
    """Up to which tick a cache was judged. Its row is the lock under which a cache's alerts change."""

    cache = models.OneToOneField(Cache, on_delete=models.CASCADE, primary_key=True, related_name="evaluation_mark")
    tick_at = models.DateTimeField()
    judged_at = models.DateTimeField()
    # How many targets each rule, by its id, could judge here; counted every minute.
    instances = models.JSONField(default=dict)
    counted_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.cache_id} judged up to {self.tick_at:%H:%M:%S}"
