"""What people did about an incident: notes, acknowledgements, closing it by hand."""

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

TEXT_LIMIT = 2_000
# Of whoever followed a link we only know the channel that it left by. No name of a person has a space.
BY_LINK = "link in "


def person_words(name: str) -> str:
    """Return who did something, in the active language where it is no name of ours: by a link, or at a service."""
    person, _sign, channel = name.rpartition(" in ")
    if name.startswith(BY_LINK):
        return _("link in %(channel)s") % {"channel": name.removeprefix(BY_LINK)}
    return _("%(person)s in %(channel)s") % {"person": person, "channel": channel} if person else name


class Remark(models.Model):
    """One act of one person, or what they wrote; it stands in the incident's timeline."""

    class What(models.TextChoices):
        NOTE = "note", gettext_lazy("note")
        ACKNOWLEDGED = "acknowledged", gettext_lazy("acknowledged")
        ASSIGNED = "assigned", gettext_lazy("given to somebody")
        SNOOZED = "snoozed", gettext_lazy("put to sleep")
        CLOSED = "closed", gettext_lazy("closed by hand")

    incident = models.ForeignKey("alerts.Incident", on_delete=models.CASCADE, related_name="remarks")
    at = models.DateTimeField()
    author = models.CharField(max_length=150)
    what = models.CharField(max_length=12, choices=What.choices)
    text = models.CharField(max_length=TEXT_LIMIT, blank=True)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.author}: {self.what} at {self.at:%H:%M:%S}"
