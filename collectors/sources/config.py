"""CONFIG GET for the limits that older servers do not show in INFO. Costs a few microseconds."""

from collections.abc import Sequence

from django.conf import settings

from collectors.metrics.catalogue import Column
from collectors.metrics.hot import HOT_INDEX
from collectors.source import Command, Readings, Reply, Source, Standing, empty_row
from collectors.sources.fields import TOPS

LIMITS = ("maxclients", "maxmemory")


class ConfigLimits(Source):
    """CONFIG GET maxclients and maxmemory. Many managed services refuse CONFIG."""

    name = "config_limits"

    def every(self) -> int:
        return int(settings.DETAIL_INTERVAL_SECONDS)

    def wanted(self, standing: Standing) -> bool:
        # Once before that is known, so that we know whether the node lets us.
        return standing.reports_limits is not True

    def commands(self) -> tuple[Command, ...]:
        # One parameter a command: several at once need Redis 7.
        return tuple(("CONFIG", "GET", name) for name in LIMITS)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        row = empty_row()
        for name, reply in zip(LIMITS, replies, strict=False):
            if isinstance(reply, list) and len(reply) == 2 and isinstance(reply[1], bytes) and reply[1].isdigit():
                number = int(reply[1][:20])
                row[HOT_INDEX[name]] = (
                    number if number <= TOPS[Column.INT4 if name == "maxclients" else Column.INT8] else None
                )
        return Readings(row)
