"""Forgetting what is long over: messages first, then incidents with all that was written down about them.

In small transactions, so that it holds no lock for long; it can be killed and run again. Nothing that is open,
active or still on its way is ever forgotten.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from alerts.alert import Alert, Transition
from alerts.decision import Decision
from alerts.models import Attempt, Delivery, Incident
from alerts.remark import Remark
from alerts.silence import Silence

# Rows of one transaction, and transactions of one table in one run: the next run goes on.
CHUNK, CHUNKS = 1_000, 100


def forget_old(now: datetime) -> int:
    """Remove what is past its keeping; return how many rows went."""
    return sum(_forget(rows) for rows in expired(now))


def expired(now: datetime) -> Iterator[QuerySet[Any]]:
    """Yield what may go, what depends on others first."""
    oldest = now - timedelta(days=settings.RETENTION_ALERTS_DAYS)
    # Messages do not outlive what they tell of.
    over = max(now - timedelta(days=settings.RETENTION_MESSAGES_DAYS), oldest)
    sent = Delivery.objects.filter(incident__closed_at__lt=over).exclude(state=Delivery.State.WAITING)
    yield Attempt.objects.filter(delivery__in=sent)
    yield sent.filter(tries=None)
    yield Decision.objects.filter(incident__closed_at__lt=oldest)
    yield Remark.objects.filter(incident__closed_at__lt=oldest)
    on_their_way = Delivery.objects.filter(incident=OuterRef("pk"))
    yield Incident.objects.filter(~Exists(on_their_way), closed_at__lt=oldest)
    yield Transition.objects.filter(at__lt=oldest, alert__state=Alert.State.RESOLVED)
    yield Alert.objects.filter(state=Alert.State.RESOLVED, resolved_at__lt=oldest)
    yield Silence.objects.filter(ends_at__lt=oldest)


def _forget(rows: QuerySet[Any]) -> int:
    gone = 0
    for _turn in range(CHUNKS):
        with transaction.atomic():
            ids = list(rows.order_by("pk").values_list("pk", flat=True)[:CHUNK])
            rows.model._default_manager.filter(pk__in=ids).delete()
        gone += len(ids)
        if len(ids) < CHUNK:
            break
    return gone
