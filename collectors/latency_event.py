"""Moments in which servers were held up, kept after the servers forgot them."""

from django.db import models

from fleet.models import Node


class LatencyEvent(models.Model):
    """The longest time that one event held one node up within one second of the server's clock."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="latency_events")
    event = models.CharField(max_length=40)
    at = models.DateTimeField()
    milliseconds = models.PositiveIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("node", "event", "at"), name="one_latency_event"),)
        indexes = (
            # The page of a cache: some nodes over some time.
            models.Index(fields=("node", "at"), name="latency_event_of_node"),
            # Forgetting what is old.
            models.Index(fields=("at",), name="latency_event_oldest"),
        )

    def __str__(self) -> str:
        return f"{self.event}: {self.milliseconds} ms"
