"""Shardwatch's own numbers: its parts, its polls, and the load that it puts on watched servers."""

from collections.abc import Iterator

from django.db.models import Count, Q, Sum
from django.utils import timezone

from alerts import self_tests
from alerts.models import Pulse
from collectors.models import NodeStatus, PollLease
from dashboard import VERSION, parts
from dashboard.exposition import channels
from dashboard.exposition.text import Family
from fleet.models import Node


def families() -> Iterator[Family]:
    """Yield the families of /metrics. Help texts stay English: they are for machines."""
    build = Family("shardwatch_build_info", "gauge", "The running version.")
    build.add({"version": VERSION}, 1)
    yield build
    ready = Family("shardwatch_part_ready", "gauge", "Whether a part of Shardwatch works, as /readyz tells.")
    for check in parts.checks():
        ready.add({"part": check.name}, check.ok)
    yield ready
    yield from _polls()
    yield from _nodes()
    yield from channels.families()
    yield from _watch()


def _watch() -> Iterator[Family]:
    """Yield what those who alert on silence need: the last ping outside, and self-tests by channel."""
    pinged = Family("shardwatch_heartbeat_timestamp_seconds", "gauge", "When the service outside was last pinged.")
    if (pulse := Pulse.objects.first()) and pulse.pinged_at:
        pinged.add({}, pulse.pinged_at.timestamp())
    lost = Family(
        "shardwatch_self_test_lost", "gauge", "Whether the newest self-test of a channel did not get through."
    )
    for result in self_tests.results(timezone.now()):
        lost.add({"channel": result.channel.name}, result.state is self_tests.State.LOST)
    yield from (pinged, lost)


def _polls() -> Iterator[Family]:
    made = {
        "polls": Family("shardwatch_polls_total", "counter", "Polls of a cache."),
        "skipped": Family("shardwatch_polls_skipped_total", "counter", "Polls left out: the one before still ran."),
        "late": Family("shardwatch_polls_late_total", "counter", "Polls that began over two seconds late."),
        "duration_seconds": Family("shardwatch_poll_duration_seconds", "gauge", "How long the last poll took."),
        "commands": Family("shardwatch_poll_commands", "gauge", "Commands that the last poll sent."),
        "connections": Family("shardwatch_poll_connections", "gauge", "Connections that are kept open."),
    }
    ended = Family("shardwatch_poll_end_timestamp_seconds", "gauge", "When the last poll ended.")
    for lease in PollLease.objects.select_related("cache").order_by("cache__name"):
        labels = {"cache": lease.cache.name}
        for name, family in made.items():
            family.add(labels, getattr(lease, name))
        ended.add(labels, lease.finished_at.timestamp() if lease.finished_at else None)
    yield from made.values()
    yield ended


def _nodes() -> Iterator[Family]:
    known = Family("shardwatch_nodes", "gauge", "Nodes of a cache that are there.")
    failing = Family("shardwatch_nodes_failing", "gauge", "Nodes that did not answer their last poll.")
    failures = Family("shardwatch_node_poll_failures_total", "counter", "Polls of nodes that failed.")
    rows = Node.objects.present().values_list("cache__name").order_by("cache__name")
    silent = Count("pk", filter=Q(status__failing_since__isnull=False))
    for name, count, down in rows.annotate(count=Count("pk"), down=silent):
        known.add({"cache": name}, count)
        failing.add({"cache": name}, down)
    by_cache = NodeStatus.objects.values_list("node__cache__name").order_by("node__cache__name")
    for name, total in by_cache.annotate(total=Sum("failures")):
        failures.add({"cache": name}, total)
    yield from (known, failing, failures)
