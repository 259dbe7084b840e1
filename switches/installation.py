"""The epoch of this installation, and the number of the last change."""

from django.db import models


class Installation(models.Model):
    """The one row (1) that tells readers whether something changed.

    The serial rises with whatever the read path shows; triggers see to it. The epoch rises when the database
    went back in time, so that clients take revisions that are lower than those they know.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    epoch = models.PositiveIntegerField(default=1)
    serial = models.PositiveBigIntegerField(default=1)

    def __str__(self) -> str:
        return f"epoch {self.epoch}, change {self.serial}"
