"""Metrics of a cache over time, in columns."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from collectors import series
from collectors.cloud.series import read_all
from collectors.models import CloudPlace
from dashboard.api.answers import compressed_json, problems
from dashboard.api.caches import cache_named
from dashboard.api.schemas import SeriesList
from fleet.models import Cache, Node

router = Router(tags=["caches"], auth=callers())
# Points of all lines of one answer: 200 nodes x 5 metrics of 500 points.
POINT_CEILING = 500_000
METRIC_CEILING = 20
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
LINES_OF_A_CACHE = 4


class SeriesQuery(Schema):
    metric: list[Annotated[str, Field(min_length=1, max_length=2_000)]] = Field(
        min_length=1, max_length=METRIC_CEILING, description="Names of metrics, repeated or separated by commas."
    )
    from_: str = Field("", alias="from", max_length=40, description="Epoch seconds or ISO 8601; an hour before `to`.")
    to: str = Field("", max_length=40, description="Epoch seconds or ISO 8601; now where it is left out.")
    step: int | None = Field(None, ge=1, le=31_536_000, description="Seconds between points; chosen where left out.")
    by: Literal["cache", "node"] = "cache"
    limit: int | None = Field(None, ge=1, le=1000, description="By node: draw only this many lines, fold the others.")

    def names(self) -> list[str]:
        """Return the names without repeats. Raise RangeError where there are none or too many."""
        names = list(dict.fromkeys(name.strip() for part in self.metric for name in part.split(",") if name.strip()))
        if not 1 <= len(names) <= METRIC_CEILING:
            raise series.RangeError(_("Name 1 to %(limit)d metrics.") % {"limit": METRIC_CEILING})
        return names

    def span(self) -> tuple[datetime, datetime]:
        end = moment(self.to) if self.to else timezone.now()
        return (moment(self.from_) if self.from_ else end - timedelta(hours=1)), end


@router.get(
    "/{name}/series",
    response={200: SeriesList, **problems(404)},
    operation_id="read_series",
    summary="Read metrics over time",
)
def read_series(request: HttpRequest, name: str, query: Query[SeriesQuery]) -> HttpResponse:
    """By cache each metric has the lines sum, max, min and mean over nodes; by node one line a node.

    Metrics named service_… are the service's own, from Cloud Monitoring: by node, a line for each node and role.
    """
    cache, names = cache_named(name), query.names()
    start, end = query.span()
    check_ceiling(cache, query, len(names), start, end)
    found = read_all(cache, names, start, end, query.step, query.by, query.limit)
    return compressed_json(request, {"cache": cache.name, "series": found})


def check_ceiling(cache: Cache, query: SeriesQuery, metrics: int, start: datetime, end: datetime) -> None:
    """Raise RangeError where the answer would be too large to be of use."""
    lines = LINES_OF_A_CACHE
    if query.by == "node":
        places = CloudPlace.objects.filter(instance__cache=cache).count()
        lines = max(Node.objects.filter(cache=cache).count(), places)
    lines = min(lines, (query.limit or lines) + 1)
    points = series.grid_of(start, end, cache.poll_interval_seconds, query.step).count * lines * metrics
    if points > POINT_CEILING:
        raise series.RangeError(
            _("That is %(points)d points, more than %(ceiling)d: take a larger step, fewer metrics or a limit.")
            % {"points": points, "ceiling": POINT_CEILING}
        )


def moment(text: str) -> datetime:
    """Return the time that epoch seconds or ISO 8601 name, UTC where no zone is given. Raise RangeError."""
    try:
        value: Any = datetime.fromtimestamp(float(text), UTC)
    except (ValueError, OverflowError, OSError):
        try:
            value = datetime.fromisoformat(text)
        except ValueError as error:
            message = _("“%(text)s” is no time: give epoch seconds or ISO 8601, such as 2026-05-04T12:00:00Z.")
            raise series.RangeError(message % {"text": text}) from error
    value = value if value.tzinfo else value.replace(tzinfo=UTC)
    if not EARLIEST <= value <= LATEST:
        raise series.RangeError(_("Times lie between the years 2000 and 2100."))
    return value  # type: ignore[no-any-return]
