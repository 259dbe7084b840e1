"""What people did about an incident: notes, acknowledgements, closing it by hand."""

from django.db import models
from django.utils.translation import gettext_lazy as _

TEXT_LIMIT = 2_000


class Remark(models.Model):
    """One act of one person, or what they wrote; it stands in the incident's timeline."""

    class What(models.TextChoices):
        NOTE = "note", _("note")
        ACKNOWLEDGED = "acknowledged", _("acknowledged")
        ASSIGNED = "assigned", _("given to somebody")
        SNOOZED = "snoozed", _("put to sleep")
        CLOSED = "closed", _("closed by hand")

    incident = models.ForeignKey("alerts.Incident", on_delete=models.CASCADE, related_name="remarks")
    at = models.DateTimeField()
    author = models.CharField(max_length=150)
    what = models.CharField(max_length=12, choices=What.choices)
    text = models.CharField(max_length=TEXT_LIMIT, blank=True)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.author}: {self.what} at {self.at:%H:%M:%S}"
