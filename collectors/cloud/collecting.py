"""One round of Cloud Monitoring: ask a project for every metric type, store the points, say who has news.

A round belongs to whoever holds the lease of the project's feed. Each asks for the last ten minutes, since points
stay hidden for up to five and come out of order; after an outage it asks for all that was missed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from collectors import landing
from collectors.cloud import descriptors, monitoring, summaries
from collectors.cloud.catalogue import COLLECTED as COLLECTED
from collectors.cloud.catalogue import CloudMetric
from collectors.cloud.clients import clients_of
from collectors.cloud.errors import CloudCause, CloudError, told
from collectors.cloud.feed import CloudFeed
from collectors.cloud.models import CloudProject
from collectors.cloud.monitoring import Answer
from collectors.cloud.places import Instances, Places
from collectors.cloud.quota import Bucket, pause
from collectors.cloud.storing import Points, Stored, limit_of, moment

logger = logging.getLogger(__name__)
WINDOW = timedelta(minutes=10)
# So long points stay hidden, and so far they come out of order.
HIDDEN = timedelta(minutes=5)
# So far back a round asks after an outage, and the first one of a project.
CATCH_UP = timedelta(hours=6)
# Questions under way at once: the service takes a tenth of a second for one, most of it waiting.
THREADS = 8
# Failures of a metric type by itself; all others mean the whole project.
OF_ONE_TYPE = frozenset({CloudCause.NOT_FOUND, CloudCause.INVALID, CloudCause.UNAVAILABLE, CloudCause.SLOW})
# Those that pass: what was missed is asked for again.
PASSING = frozenset({CloudCause.UNAVAILABLE, CloudCause.SLOW})
MOST_PASSING = 3


@dataclass(slots=True)
class Memory:
    """What a process keeps of a feed between rounds."""

    places: Places = field(default_factory=Places)
    stored: Stored = field(default_factory=Stored)


_memories: dict[int, Memory] = {}


@dataclass(slots=True)
class Outcome:
    """What came of the questions of a round; `stopped` is why the rest of them was not asked."""

    points: Points = field(default_factory=Points)
    troubles: dict[str, str] = field(default_factory=dict)
    answered: int = 0
    calls: int = 0
    passing: int = 0
    stopped: CloudError | None = None

    def take(self, answer: Answer, limit: int) -> None:
        self.answered += 1
        self.calls += answer.calls
        self.points.take(answer, limit)
        if answer.errors:
            self.troubles[answer.metric.type] = "; ".join(sorted(set(answer.errors)))[:300]

    def fail(self, metric: CloudMetric, error: CloudError) -> None:
        self.calls += 1
        self.passing += error.cause in PASSING
        if error.cause in OF_ONE_TYPE and self.passing < MOST_PASSING:
            # What passes has words of gRPC: its cause stands for them.
            self.troubles[metric.type] = str(error.cause) if error.cause in PASSING else error.words
        elif self.stopped is None:
            self.stopped = error


def due(now: datetime) -> list[int]:
    """Return the feeds to read now, after making those of new projects."""
    wanted = {project.metrics_project for project in CloudProject.objects.filter(is_paused=False)}
    known = set(CloudFeed.objects.filter(project_id__in=wanted).values_list("project_id", flat=True))
    full = {"due_at": now, "lease_until": now, "tokens": settings.CLOUD_QUERIES_PER_MINUTE, "tokens_at": now}
    new = [CloudFeed(project_id=project_id, **full) for project_id in sorted(wanted - known)]
    CloudFeed.objects.bulk_create(new, ignore_conflicts=True)
    return list(CloudFeed.objects.due(now).filter(project_id__in=wanted).values_list("pk", flat=True))


def read(feed_id: int, now: datetime) -> None:
    """Read one feed, unless somebody else does or it is not due."""
    feed = CloudFeed.claim(feed_id, now)
    if feed is None:
        return
    feed.due_at = next_turn(now)
    try:
        _read(feed, now)
    finally:
        feed.release(now)


def next_turn(now: datetime) -> datetime:
    """Return when figures are to be read next: once in each interval, as soon as it has begun."""
    seconds = settings.CLOUD_INTERVAL_SECONDS
    return moment((int(now.timestamp()) // seconds + 1) * seconds)


def wake(project: CloudProject, now: datetime, has_news: bool) -> None:
    """Have a project's figures read at once: its services answer again, or have an instance that is new.

    Not where the quota of queries is used up: a listing that succeeds says nothing of that.
    """
    feeds = CloudFeed.objects.filter(project_id=project.metrics_project)
    if not has_news:
        feeds = feeds.exclude(cause="")
    feeds.exclude(cause=CloudCause.QUOTA).update(due_at=now)


def projects_of(feed: CloudFeed) -> list[CloudProject]:
    """Return the projects whose metrics come by this feed, the one that is asked first."""
    own = Q(metrics_project_id="", project_id=feed.project_id)
    found = CloudProject.objects.filter(own | Q(metrics_project_id=feed.project_id), is_paused=False)
    return sorted(found, key=lambda project: (project.project_id != feed.project_id, project.pk))


def _read(feed: CloudFeed, now: datetime) -> None:
    projects = projects_of(feed)
    instances = Instances.of(projects)
    metrics = [metric for metric in COLLECTED if metric.product in instances.products]
    if not metrics:
        return
    bucket = Bucket.of(feed)
    bucket.fill(now)
    chosen = turn(metrics, feed.next_type, bucket.take(len(metrics)))
    feed.tokens, feed.tokens_at = bucket.tokens, now
    start, end = window(feed, now)
    outcome = ask_all(projects[0], chosen, feed.project_id, start, end, limit_of(now))
    memory = _memories.setdefault(feed.pk, Memory())
    numbers = memory.places.of(outcome.points.by_key, instances, now.date())
    memory.stored.write(outcome.points.rows(numbers), now)
    is_whole = len(chosen) == len(metrics) and not outcome.passing
    feed.next_type = 0 if is_whole else (feed.next_type + len(chosen)) % len(metrics)
    note(feed, outcome, now, end if is_whole and not outcome.stopped else None)
    if outcome.answered:
        landing.announce(summaries.refresh(instances.pks, now), int(now.timestamp()))
        descriptors.compare_daily(projects[0], feed, instances.products, now)


def turn(metrics: Sequence[CloudMetric], first: int, count: int) -> list[CloudMetric]:
    """Return which metric types it is the turn of: where the quota ended the last round, this one goes on."""
    start = first % len(metrics)
    return [*metrics[start:], *metrics[:start]][:count]


def window(feed: CloudFeed, now: datetime) -> tuple[datetime, datetime]:
    """Return what to ask for, in whole minutes: aligned points end where the question does.

    It reaches back behind the newest point that is known: where our clock is ahead, ten minutes of ours may hold none.
    """
    end = moment(int(now.timestamp()) // 60 * 60)
    since = min(feed.asked_until or end - CATCH_UP, end) - WINDOW
    newest = feed.newest_at or end - CATCH_UP
    return max(min(since, newest - HIDDEN), end - CATCH_UP), end


def ask_all(
    project: CloudProject,
    metrics: Sequence[CloudMetric],
    project_id: str,
    start: datetime,
    end: datetime,
    limit: int,
) -> Outcome:
    """Ask for several metric types at a time, until one answer says that the others would fail, too."""
    outcome, stop = Outcome(), threading.Event()
    try:
        client = clients_of(project).metrics
    except CloudError as error:
        outcome.stopped = error
        return outcome

    def asked(metric: CloudMetric) -> Answer | CloudError | None:
        if stop.is_set():
            return None
        try:
            with told():
                return monitoring.ask(client, metric, project_id, start, end)
        except CloudError as error:
            return error

    with ThreadPoolExecutor(min(THREADS, max(len(metrics), 1))) as pool:
        for metric, answer in zip(metrics, pool.map(asked, metrics), strict=True):
            if isinstance(answer, Answer):
                outcome.take(answer, limit)
            elif answer is not None:
                outcome.fail(metric, answer)
            if outcome.stopped:
                stop.set()
    return outcome


def note(feed: CloudFeed, outcome: Outcome, now: datetime, asked_until: datetime | None) -> None:
    """Write down on the feed how a round went, and when the next one may begin."""
    feed.count(outcome.points.series, outcome.calls, now)
    if asked_until:
        feed.asked_until, feed.round_series = asked_until, outcome.points.series
    if outcome.answered:
        feed.answered_at, feed.troubles = now, outcome.troubles
    if outcome.points.newest:
        feed.newest_at = max(filter(None, (feed.newest_at, moment(outcome.points.newest))))
    failed = outcome.stopped or (_all_failed(outcome) if not outcome.answered and outcome.calls else None)
    if failed is None:
        feed.failures, feed.failing_since, feed.cause, feed.words = 0, None, "", ""
        return
    feed.failures += 1
    feed.failing_since = feed.failing_since or now
    feed.cause, feed.words = failed.cause, failed.words[:300]
    feed.due_at = now + pause(feed.failures)
    logger.warning("Cloud Monitoring of %s is not read: %s (%s)", feed.project_id, failed.cause, failed.words)


def _all_failed(outcome: Outcome) -> CloudError:
    """Return what to say where each metric type failed by itself: the project cannot be read."""
    told = next(iter(outcome.troubles.values()), "")
    return CloudError(CloudCause(told) if told in PASSING else CloudCause.OTHER, told)
