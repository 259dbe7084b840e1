"""What reading Cloud Monitoring costs: series that came back, and an estimate of the price."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.cloud.feed import CloudFeed
from collectors.cloud.models import CloudProject

# As a summary of Google's price list of 2026 has it; a billing account has the first million of a month free.
USD_A_MILLION, FREE_SERIES = 0.50, 1_000_000
MINUTES_A_MONTH = 30 * 24 * 60


@dataclass(frozen=True, slots=True)
class Cost:
    """Series so far in this month, series in a month at the present pace, and what those would cost."""

    this_month: int
    a_month: int
    usd_a_month: float


def of(project: CloudProject) -> Cost | None:
    """Return what the feed of a project costs, None before its first round."""
    feed = CloudFeed.objects.filter(project_id=project.metrics_project, answered_at__isnull=False).first()
    if feed is None:
        return None
    a_month = feed.round_series * MINUTES_A_MONTH
    return Cost(feed.month_series, a_month, max(a_month - FREE_SERIES, 0) / 1e6 * USD_A_MILLION)
