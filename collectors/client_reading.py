"""What client lists said: groups of connections, and for some minutes single ones."""

from datetime import timedelta

from django.db import models

from collectors.causes import sentence_of
from collectors.turn import Turn
from fleet.models import Cache, Node

# Rows name people's machines; they are for finding a connection now, not for keeping.
ROWS_KEPT = timedelta(minutes=10)


class ClientReading(models.Model):
    """One look at the connections of one node."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="client_readings")
    read_at = models.DateTimeField()
    # Why the list could not be read: a value of Cause, and the server's words; empty where it was.
    failed_cause = models.CharField(max_length=40, blank=True)
    failed_words = models.CharField(max_length=200, blank=True)
    # Connections of applications; ours and those of replication are counted apart.
    connections = models.PositiveIntegerField(default=0)
    own = models.PositiveIntegerField(default=0)
    replication = models.PositiveIntegerField(default=0)
    bytes_read = models.PositiveBigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    # By grouping: rows of label, connections, qbuf, omem, tot_mem, longest idle. At most 50 and "other" each.
    groups = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("node", "read_at"), name="one_client_reading"),)
        # Forgetting what is old.
        indexes = (models.Index(fields=("read_at",), name="client_reading_oldest"),)

    def __str__(self) -> str:
        return f"{self.connections} connections of {self.node_id} at {self.read_at:%H:%M:%S}"

    @property
    def failure(self) -> str:
        """Return why the list could not be read, in the active language."""
        return sentence_of(self.failed_cause, self.failed_words)


class ClientRows(models.Model):
    """The largest, idlest and oldest connections of one node at its last reading; gone after ROWS_KEPT."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, primary_key=True, related_name="client_rows")
    read_at = models.DateTimeField()
    rows = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{len(self.rows)} connections of {self.node_id}"


class ClientTurn(Turn):
    """Who reads the client lists of a cache."""

    cache = models.OneToOneField(Cache, on_delete=models.CASCADE, primary_key=True, related_name="client_turn")
