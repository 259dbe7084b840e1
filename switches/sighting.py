"""What the client lists of a cache last said of the instances that report."""

from django.db import models
from django.utils import timezone

from collectors.causes import sentence_of
from switches.switch import Switch


class Sighting(models.Model):
    """The last look at who is still connected to the cache of a switch that is off."""

    switch = models.OneToOneField(Switch, on_delete=models.CASCADE, primary_key=True, related_name="sighting")
    # A look is claimed by a conditional UPDATE of this.
    begun_at = models.DateTimeField(default=timezone.now)
    # None until a look ended.
    read_at = models.DateTimeField(null=True)
    # Why a list could not be read: a value of Cause, and the server's words; empty where all were.
    failed_cause = models.CharField(max_length=40, blank=True)
    failed_words = models.CharField(max_length=200, blank=True)
    # Of applications, whether they report or not.
    connections = models.PositiveIntegerField(default=0)
    # By instance that reports: [connections, shortest idle time in seconds, its last command].
    present = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{len(self.present)} of {self.switch_id} at {self.read_at}"

    @property
    def failure(self) -> str:
        """Return why it could not be read, in the active language."""
        return sentence_of(self.failed_cause, self.failed_words)
