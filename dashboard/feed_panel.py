"""How Cloud Monitoring is read for a project, what is wrong with it and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.cloud import cost
from collectors.cloud.cost import Cost
from collectors.cloud.errors import sentence_of
from collectors.cloud.feed import CloudFeed
from collectors.cloud.models import CloudProject
from dashboard.templatetags.units import grouped

# Names of metric types that are shown; the others are counted.
NAMED = 5


@dataclass(frozen=True, slots=True)
class FeedPanel:
    """What the page of a project says; `state` is one of templates/dashboard/_project_state.html."""

    feed: CloudFeed
    cost: Cost | None

    @property
    def state(self) -> str:
        if self.feed.cause:
            return "failed"
        if self.feed.answered_at is None:
            return "waiting"
        return "partial" if self.feed.troubles else "ok"

    @property
    def sentences(self) -> list[str]:
        """Return what is wrong, and what changed in Google's list of metric types."""
        feed = self.feed
        found = [sentence_of(feed.cause, feed.words)] if feed.cause else []
        # A trouble is a cause or Google's words.
        found += [f"{name}: {sentence_of(told, told)}" for name, told in sorted(feed.troubles.items())[:NAMED]]
        if feed.vanished:
            words = ngettext(
                "%(count)s metric type vanished: %(names)s",
                "%(count)s metric types vanished: %(names)s",
                len(feed.vanished),
            )
            found.append(words % named(feed.vanished))
        if feed.unlisted:
            words = ngettext(
                "%(count)s metric type is new and not read yet: %(names)s",
                "%(count)s metric types are new and not read yet: %(names)s",
                len(feed.unlisted),
            )
            found.append(words % named(feed.unlisted))
        return found

    @property
    def price(self) -> str:
        """Return the estimate in words, "" before the first round."""
        if self.cost is None:
            return ""
        parts = {"series": grouped(self.cost.a_month), "price": f"{self.cost.usd_a_month:,.2f}"}
        return _("about %(series)s series a month at this pace, by Google's list price %(price)s USD") % parts

    @property
    def newest_at(self) -> datetime | None:
        return self.feed.newest_at


def named(types: list[str]) -> dict[str, str]:
    return {"count": grouped(len(types)), "names": ", ".join([*types[:NAMED], *(["…"] if len(types) > NAMED else [])])}


def of(project: CloudProject) -> FeedPanel | None:
    """Return the panel of a project, None before it was read."""
    feed = CloudFeed.objects.filter(project_id=project.metrics_project).first()
    return FeedPanel(feed, cost.of(project)) if feed else None
