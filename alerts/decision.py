"""Why somebody was, or was not, told of an incident: one row for every decision."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Decision(models.Model):
    """What was decided about one incident at a tick, with what it was decided by."""

    class What(models.TextChoices):
        TOLD = "told", _("told")
        JOINED = "joined", _("joined an incident that was told already")
        WAITED = "waited", _("kept back: the last message was too recent")
        GATHERS = "gathers", _("kept back: it waits for others of its group")
        ESCALATED = "escalated", _("told to the next in line")
        SNOOZED = "snoozed", _("kept back: it sleeps")
        WOKEN = "woken", _("told again: it slept long enough")
        REPEATED = "repeated", _("told again")
        SILENCED = "silenced", _("silenced")
        SWITCHED_OFF = "off", _("its cache is switched off")
        WINDOW = "window", _("in a maintenance window")
        HIDDEN = "hidden", _("hidden behind another alert")
        FLAPPING = "flapping", _("told once: it flaps")
        STORM = "storm", _("told together with many others")
        OUTAGE = "outage", _("no cache answered")
        NOWHERE = "nowhere", _("no channel on its way")
        ENDED = "ended", _("told to be over")
        ENDED_UNTOLD = "untold", _("over before anybody was told")

    incident = models.ForeignKey("alerts.Incident", on_delete=models.CASCADE, related_name="decisions")
    alert = models.ForeignKey("alerts.Alert", on_delete=models.SET_NULL, null=True, related_name="+")
    # The tick that decided.
    at = models.DateTimeField()
    what = models.CharField(max_length=10, choices=What.choices)
    # What it was decided by: a silence's id, the way through the routes, values; for sentences made when read.
    data = models.JSONField(default=dict)

    objects = models.Manager["Decision"]()

    class Meta:
        ordering = ("at", "pk")
        indexes = (models.Index(fields=("incident", "at"), name="decisions_of_incident"),)

    def __str__(self) -> str:
        return f"{self.what} at {self.at:%H:%M:%S}"
