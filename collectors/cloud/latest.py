"""The newest of the service's figures, and how Cloud Monitoring answers for caches: for pages, findings, readiness."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from collectors.cloud.errors import sentence_of
from collectors.cloud.feed import CloudFeed
from collectors.cloud.known import Service
from collectors.cloud.reading import Place, places
from collectors.cloud.service_metrics import SERVICE_METRICS
from collectors.cursors import raw_cursor

# Points stay hidden for up to five minutes and some come later than others; what is older tells of the past.
FRESH = timedelta(minutes=15)
# A round that fails by itself is made up for by the next one.
AWAY = timedelta(minutes=2)
NEWEST = """
    SELECT place_id, at, numbers FROM cloud_sample
    WHERE place_id = ANY(%s::bigint[]) AND at > %s ORDER BY place_id, at DESC
"""


@dataclass(frozen=True, slots=True)
class Latest:
    """One figure of one place, and the minute that it is of."""

    place: Place
    value: float
    at: datetime


def latest_of(cache_ids: Collection[int], now: datetime | None = None) -> dict[int, dict[str, list[Latest]]]:
    """Return the newest figures by cache and name, from one query; those older than FRESH are left out."""
    edge = (now or timezone.now()) - FRESH
    known = {place.id: place for place in places(cache_ids, edge)}
    with raw_cursor() as cursor:
        rows = cursor.execute(NEWEST, [list(known), edge], binary=True).fetchall()
    found: dict[int, dict[str, list[Latest]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[int, int]] = set()
    for place_id, at, numbers in rows:
        place = known[place_id]
        for position, value in enumerate(numbers):
            if value is not None and (place_id, position) not in seen:
                seen.add((place_id, position))
                found[place.cache_id][SERVICE_METRICS[position].name].append(Latest(place, value, at))
    return {cache_id: dict(by_name) for cache_id, by_name in found.items()}


def newest_of(cache_id: int, now: datetime) -> datetime | None:
    """Return of when the newest point of a cache is, None where there is none of the last day."""
    edge = now - timedelta(days=1)
    with raw_cursor() as cursor:
        ids = [place.id for place in places([cache_id], edge)]
        (newest,) = cursor.execute(
            "SELECT max(newest) FROM unnest(%s::bigint[]) AS place (id), LATERAL (SELECT max(at) AS newest"
            " FROM cloud_sample WHERE place_id = place.id AND at > %s) AS found",
            [ids, edge],
        ).fetchone() or (None,)
    return newest


@dataclass(frozen=True, slots=True)
class Standing:
    """How Cloud Monitoring answers for a cache; times are None before the first of their kind."""

    project_id: str
    answered_at: datetime | None
    failing_since: datetime | None
    newest_at: datetime | None
    cause: str
    words: str

    def is_away(self, now: datetime) -> bool:
        """Return whether nothing was answered for so long that what pages show is old; a round may fail."""
        return self.failing_since is not None and now - self.failing_since >= AWAY

    @property
    def reason(self) -> str:
        """Return why it does not answer, in the active language; "" where it does."""
        return sentence_of(self.cause, self.words)


def standings(known: Mapping[int, Service]) -> dict[int, Standing]:
    """Return how the feeds of these caches stand, in one query; caches that no feed answers for are missing."""
    named = {
        cache_id: service.instance.project.metrics_project
        for cache_id, service in known.items()
        if not service.instance.gone_at and not service.instance.project.is_paused
    }
    feeds = CloudFeed.objects.filter(project_id__in=set(named.values())) if named else ()
    by_project = {feed.project_id: feed for feed in feeds}
    return {
        cache_id: Standing(
            feed.project_id, feed.answered_at, feed.failing_since, feed.newest_at, feed.cause, feed.words
        )
        for cache_id, project_id in named.items()
        if (feed := by_project.get(project_id))
    }
