"""Run books: a cache is left, another one taken into use, step by step; where each of them is, and what was done."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from fleet.models import Cache
from switches.switch import Switch

STEPS = (1, 10, 25, 50, 100)
BAKE_SECONDS, LEAST_BAKE, MOST_BAKE = 300, 10, 86_400


class RunBookQuerySet(models.QuerySet["RunBook"]):
    def open(self) -> Self:
        return self.filter(step__in=RunBook.OPEN)

    def overtaken(self) -> Self:
        """Return those whose switch somebody changed without them."""
        return self.open().exclude(revision=F("switch__revision"))


class RunBook(models.Model):
    """The way of one switch from a cache to another one, or back into use; it waits, for people or for time."""

    class Step(models.TextChoices):
        CHECK = "check", _("look at the target")
        DRAIN = "drain", _("wait until all have stopped")
        DEPLOY = "deploy", _("confirm the configuration")
        CANARY = "canary", _("let them in gradually")
        DONE = "done", _("done")
        STOPPED = "stopped", _("left")
        OVERTAKEN = "overtaken", _("overtaken")

    OPEN = (Step.CHECK, Step.DRAIN, Step.DEPLOY, Step.CANARY)

    switch = models.ForeignKey(Switch, on_delete=models.CASCADE, related_name="run_books")
    # None where the switch is only turned on again.
    target = models.ForeignKey(
        Cache, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("target")
    )
    reason = models.CharField(max_length=500)
    ticket = models.CharField(max_length=200, blank=True)
    author = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    percents = models.JSONField(default=list)
    bake_seconds = models.PositiveIntegerField(default=BAKE_SECONDS)
    step = models.CharField(max_length=9, choices=Step.choices, default=Step.CHECK)
    # Which of the percentages a canary is at.
    position = models.PositiveSmallIntegerField(default=0)
    # Since when it is at this step, or at this percentage.
    step_at = models.DateTimeField()
    # Of the switch after our own last change: another one means that somebody else changed it.
    revision = models.PositiveIntegerField()
    # What the last look at the target found: switches/preflight.py.
    findings = models.JSONField(default=list)
    checked_at = models.DateTimeField(null=True)
    # Since when the canary runs; when a guard last looked at it, and last saw that all its data were there.
    canary_at = models.DateTimeField(null=True)
    looked_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)

    objects = RunBookQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)
        constraints = (
            models.UniqueConstraint(
                fields=("switch",), condition=Q(step__in=("check", "drain", "deploy", "canary")), name="one_open_book"
            ),
        )

    def __str__(self) -> str:
        return f"{self.switch_id}: {self.step}"

    @property
    def is_open(self) -> bool:
        return self.step in self.OPEN

    @property
    def at(self) -> str:
        """Return where exactly it is, so that a step that was asked for elsewhere does nothing."""
        return f"{self.step}-{self.position}-{self.revision}"

    @property
    def percent(self) -> int:
        """Return the percentage that a canary is at."""
        return int(self.percents[self.position])

    @property
    def next_percent(self) -> int | None:
        later = self.percents[self.position + 1 :]
        return int(later[0]) if later else None

    @property
    def baked_at(self) -> datetime:
        """Return when the bake time of this percentage is over."""
        return self.step_at + timedelta(seconds=self.bake_seconds)


class RunBookEntry(models.Model):
    """One thing that was done by a run book, or that happened to it."""

    class What(models.TextChoices):
        BEGUN = "begun", _("begun")
        CHECKED = "checked", _("looked at the target")
        OFF = "off", _("turned off")
        REPOINTED = "repointed", _("pointed at the target")
        CONFIRMED = "confirmed", _("configuration confirmed")
        PERCENT = "percent", _("let in")
        BACK = "back", _("taken back")
        ROLLED_BACK = "rolled_back", _("rolled back by itself")
        DONE = "done", _("done")
        STOPPED = "stopped", _("left")
        OVERTAKEN = "overtaken", _("overtaken")

    run_book = models.ForeignKey(RunBook, on_delete=models.CASCADE, related_name="entries")
    at = models.DateTimeField()
    by = models.CharField(max_length=150)
    what = models.CharField(max_length=11, choices=What.choices)
    # The percentage, or why.
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.run_book_id} {self.what}"
