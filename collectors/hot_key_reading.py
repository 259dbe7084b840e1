"""Which keys were used most at the last look: for some hours, and only where somebody asked for it."""

from datetime import timedelta

from django.db import models

from collectors.turn import Turn
from fleet.models import Cache, Node

# Names of keys may tell of people; they are for finding a hot key now, not for keeping.
KEYS_KEPT = timedelta(hours=12)


class HotKeyReading(models.Model):
    """The last look at the keys of one primary."""

    class Method(models.TextChoices):
        # The server counts for some seconds what each key costs (HOTKEYS).
        TRACKED = "tracked"
        # Access frequencies of some keys (OBJECT FREQ).
        SAMPLED = "sampled"

    node = models.OneToOneField(Node, on_delete=models.CASCADE, primary_key=True, related_name="hot_key_reading")
    read_at = models.DateTimeField()
    method = models.CharField(max_length=8, choices=Method.choices, blank=True)
    # Why nothing was read: a cause and the server's words; empty where it was.
    failed_cause = models.CharField(max_length=40, blank=True)
    failed_words = models.CharField(max_length=200, blank=True)
    keys_looked_at = models.PositiveIntegerField(default=0)
    # Where the next look goes on; SCAN's cursors have 64 bits.
    cursor = models.CharField(max_length=20, default="0")
    seconds = models.FloatField(default=0)
    # Rows of key, frequency, share of time, share of bytes; at most 20.
    rows = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{len(self.rows)} keys of {self.node_id} at {self.read_at:%H:%M:%S}"


class HotKeyTurn(Turn):
    """Who looks for the hot keys of a cache."""

    cache = models.OneToOneField(Cache, on_delete=models.CASCADE, primary_key=True, related_name="hot_key_turn")
