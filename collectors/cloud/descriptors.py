"""Our table of metric types against the service's own, once a day: what vanished from it, and what is new."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from collectors.cloud.catalogue import COLLECTED
from collectors.cloud.clients import clients_of
from collectors.cloud.errors import CloudError, told
from collectors.cloud.feed import CloudFeed
from collectors.cloud.metric_types import metric_types
from collectors.cloud.models import CloudProject
from collectors.cloud.products import Product

EVERY, AGAIN = timedelta(days=1), timedelta(hours=1)
PREFIXES = {
    Product.REDIS: "redis.googleapis.com/",
    Product.REDIS_CLUSTER: "redis.googleapis.com/",
    Product.VALKEY: "memorystore.googleapis.com/",
    Product.MEMCACHED: "memcache.googleapis.com/",
}
# The service's list is not ours to bound.
MOST_NOTED = 100


def compare_daily(project: CloudProject, feed: CloudFeed, products: Collection[str], now: datetime) -> None:
    """Note on the feed which types vanished and which are new; a failure is no news and tried again in an hour."""
    if feed.compared_at and now - feed.compared_at < EVERY:
        return
    prefixes = sorted({PREFIXES[Product(product)] for product in products})
    try:
        listed = listed_types(project, feed.project_id, prefixes)
    except CloudError:
        feed.compared_at = now - EVERY + AGAIN
        return
    feed.compared_at = now
    asked = {metric.type for metric in COLLECTED if metric.product in products}
    feed.vanished = sorted(asked - listed)[:MOST_NOTED] if listed else []
    feed.unlisted = sorted(listed - metric_types().keys())[:MOST_NOTED]


def listed_types(project: CloudProject, project_id: str, prefixes: Collection[str]) -> set[str]:
    """Return the metric types that the service names under some prefixes. Raise CloudError."""
    client: Any = clients_of(project).metrics
    found, seconds = set[str](), settings.CLOUD_CALL_TIMEOUT_SECONDS
    for prefix in prefixes:
        asked = {"name": f"projects/{project_id}", "filter": f'metric.type = starts_with("{prefix}")'}
        with told():
            found.update(one.type for one in client.list_metric_descriptors(request=asked, timeout=seconds))
    return found
