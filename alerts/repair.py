"""Taking a broken channel as working again."""

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from alerts import outbox
from alerts.models import Channel, Delivery

# What the service surely or perhaps has.
SENT = Q(state=Delivery.State.ACCEPTED) | Q(unknowns__gt=0)


def mend(channel: Channel) -> None:
    """Send on what waits. What the channel never began to tell of an incident that is over is not told any more."""
    over = Delivery.objects.filter(channel=channel, state=Delivery.State.WAITING, incident__closed_at__isnull=False)
    told = Delivery.objects.filter(SENT, channel=channel).values("incident")
    stale = over.exclude(incident__in=told).exclude(incident__reason="test")
    stale.update(state=Delivery.State.SUPERSEDED, done_at=Now())
    Channel.objects.filter(pk=channel.pk).update(broken_at=None, broken_cause="", broken_words="", held_until=Now())
    transaction.on_commit(outbox.wake, robust=True)
