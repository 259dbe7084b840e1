"""How many queries a project may still be asked, and how long to leave it alone after it refused.

Cloud Monitoring allows 6,000 queries a minute and project and answers 429 above that, which Google's client does
not try again. The bucket is kept with the project's feed: whoever holds the lease of the feed spends from it, so
that all worker processes together stay below the limit.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from collectors.cloud.feed import CloudFeed

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(minutes=15)


@dataclass(slots=True)
class Bucket:
    """Queries that may be made now; it fills up to a minute's worth."""

    per_minute: float
    tokens: float
    at: datetime

    @classmethod
    def of(cls, feed: CloudFeed) -> "Bucket":
        return cls(settings.CLOUD_QUERIES_PER_MINUTE, feed.tokens, feed.tokens_at)

    def fill(self, now: datetime) -> None:
        """Add what came in since the last time; a clock that was set back adds nothing."""
        minutes = max((now - self.at) / timedelta(minutes=1), 0)
        self.tokens = min(self.tokens + minutes * self.per_minute, self.per_minute)
        self.at = now

    def take(self, wanted: int) -> int:
        """Spend up to so many tokens; return how many there were."""
        taken = min(wanted, int(self.tokens))
        self.tokens -= taken
        return taken


def pause(failures: int) -> timedelta:
    """Return how long to wait after so many failures in a row: twice as long each time, up to a ceiling."""
    return min(FIRST_PAUSE * (1 << min(max(failures - 1, 0), 10)), LONGEST_PAUSE)
