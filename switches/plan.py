"""What is to happen to a switch later: at a time, or once a second person agrees."""

from datetime import datetime
from typing import Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from switches.switch import Switch


class Plan(models.Model):
    """A change at a time; with an end, people are asked then whether to take it back."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        ASKING = "asking", _("asking")
        DONE = "done", _("done")
        SUSPENDED = "suspended", _("suspended")
        CANCELLED = "cancelled", _("cancelled")

    OPEN = (State.WAITING, State.RUNNING, State.ASKING)

    switch = models.ForeignKey(Switch, on_delete=models.CASCADE, related_name="plans")
    percent = models.PositiveSmallIntegerField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=500)
    ticket = models.CharField(max_length=200, blank=True)
    author = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # What the switch must still be at: whoever changed it meanwhile knew nothing of the plan.
    revision = models.PositiveIntegerField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)

    class Meta:
        ordering = ("-starts_at",)
        # Those that are due.
        indexes = (models.Index(fields=("state", "starts_at"), name="plan_due"),)

    def __str__(self) -> str:
        return f"{self.switch_id} to {self.percent} % at {self.starts_at:%Y-%m-%d %H:%M}"


class ProposalQuerySet(models.QuerySet["Proposal"]):
    def waiting(self) -> Self:
        return self.filter(state=Proposal.State.WAITING)


class Proposal(models.Model):
    """A wish to turn a switch on that needs a second person."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        APPROVED = "approved", _("approved")
        DECLINED = "declined", _("declined")
        STALE = "stale", _("overtaken")

    switch = models.ForeignKey(Switch, on_delete=models.CASCADE, related_name="proposals")
    percent = models.PositiveSmallIntegerField()
    reason = models.CharField(max_length=500)
    ticket = models.CharField(max_length=200, blank=True)
    author = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    revision = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    decided_by = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True)

    objects = ProposalQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.switch_id} to {self.percent} %, {self.state}"

    def decide(self, state: str, by: str, at: datetime) -> bool:
        """Settle it; return False where somebody did already."""
        waiting = Proposal.objects.waiting().filter(pk=self.pk)
        return waiting.update(state=state, decided_by=by, decided_at=at) == 1
