"""The outbox and its channels, each by name: which one failed must be seen, not only of which kind it is."""

from collections.abc import Iterator

from django.db.models import Count

from alerts.channel_health import backlogs
from alerts.models import Attempt, Channel
from dashboard.exposition.text import Family


def families() -> Iterator[Family]:
    waiting = Family("shardwatch_outbox_messages", "gauge", "Messages that wait in the outbox.")
    oldest = Family("shardwatch_outbox_oldest_seconds", "gauge", "Age of the oldest message that waits.")
    late = Family("shardwatch_outbox_late_seconds", "gauge", "How long a message that could leave has waited.")
    for backlog in backlogs():
        labels = {"channel": backlog.channel}
        waiting.add(labels, backlog.waiting)
        oldest.add(labels, backlog.oldest_seconds)
        late.add(labels, backlog.late_seconds)
    yield from (waiting, oldest, late)
    yield from _health()
    yield _attempts()


def _health() -> Iterator[Family]:
    broken = Family("shardwatch_channel_broken", "gauge", "Whether a channel is broken.")
    proven = Family("shardwatch_channel_proven_timestamp_seconds", "gauge", "When the service last accepted a message.")
    for channel in Channel.objects.order_by("name"):
        labels = {"channel": channel.name, "kind": channel.kind}
        broken.add(labels, channel.is_broken)
        proven.add(labels, channel.proven_at.timestamp() if channel.proven_at else None)
    yield from (broken, proven)


def _attempts() -> Family:
    made = Family("shardwatch_delivery_attempts_total", "counter", "Attempts to hand a message to a channel.")
    rows = Attempt.objects.values_list("channel__name", "result").order_by("channel__name", "result")
    for name, result, count in rows.annotate(count=Count("pk")):
        made.add({"channel": name, "result": result}, count)
    return made
