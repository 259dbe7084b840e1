"""Entries of servers' slow and command logs, kept after the servers forgot them."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from fleet.models import Node

PREFIX_LIMIT = 60


class Log(models.TextChoices):
    SLOW = "slow", _("slow commands")
    LARGE_REQUEST = "large-request", _("large requests")
    LARGE_REPLY = "large-reply", _("large replies")


class SlowEntry(models.Model):
    """One logged command of one node: microseconds (slow) or bytes (the others), and no argument."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="slow_entries")
    log = models.CharField(max_length=13, choices=Log.choices)
    entry_id = models.BigIntegerField()
    started_at = models.DateTimeField()
    amount = models.BigIntegerField()
    command = models.CharField(max_length=90)
    arguments = models.BigIntegerField()
    key_prefix = models.CharField(max_length=PREFIX_LIMIT, blank=True)
    # So many entries before this one were pushed out of the server's log before we came.
    missed = models.BigIntegerField(default=0)

    class Meta:
        # A restarted server gives the same ids again, at other times.
        constraints = (
            models.UniqueConstraint(fields=("node", "log", "entry_id", "started_at"), name="one_slow_entry"),
        )
        indexes = (
            # The page of a cache: some nodes over some time.
            models.Index(fields=("node", "started_at"), name="slow_entry_of_node"),
            # Forgetting what is old.
            models.Index(fields=("started_at",), name="slow_entry_oldest"),
        )

    def __str__(self) -> str:
        return f"{self.log} {self.entry_id}: {self.command}"


class SlowMark(models.Model):
    """How far one log of one node was read, and how much of it was kept on one day."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="slow_marks")
    log = models.CharField(max_length=13, choices=Log.choices)
    newest_id = models.BigIntegerField()
    newest_at = models.DateTimeField()
    day = models.DateField()
    kept = models.PositiveIntegerField(default=0)
    dropped = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("node", "log"), name="one_slow_mark"),)

    def __str__(self) -> str:
        return f"{self.log} up to {self.newest_id}"
