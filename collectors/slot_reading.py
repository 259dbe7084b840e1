"""What the heaviest slots of each primary held and took."""

from django.db import models

from fleet.models import Node


class SlotReading(models.Model):
    """One look at the slots of one primary."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="slot_readings")
    read_at = models.DateTimeField()
    # Rows of slot, keys, and what it took since counting began: microseconds, bytes in, bytes out. At most 40.
    slots = models.JSONField(default=list)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("node", "read_at"), name="one_slot_reading"),)
        # Forgetting what is old.
        indexes = (models.Index(fields=("read_at",), name="slot_reading_oldest"),)

    def __str__(self) -> str:
        return f"{len(self.slots)} slots of {self.node_id} at {self.read_at:%H:%M:%S}"
