"""Times that come again every week: from one hour of the wall clock to another, in a zone, over its changes of clocks.

A time that the clocks skip is the moment that lies as long after midnight as it says, and a window that begins
there has its whole length; one that they show twice begins at the first and ends at the second.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Weekly:
    """Weekdays (Monday is 0) and two times of day; an end that is not after the start is on the next day."""

    days: Collection[int]
    start: time
    end: time
    zone: ZoneInfo

    def on(self, day: date) -> tuple[datetime, datetime] | None:
        """Return when the window of a day begins and ends; None where the day has none."""
        if day.weekday() not in self.days:
            return None
        until = day if self.end > self.start else day + DAY
        begins, ends = self._moment(day, self.start, fold=0), self._moment(until, self.end, fold=1)
        if self._is_skipped(day, self.start):
            ends = max(ends, begins + (datetime.combine(until, self.end) - datetime.combine(day, self.start)))
        return begins, ends

    def _moment(self, day: date, at: time, fold: int) -> datetime:
        # Of a time that is skipped, the offset from before the change counts: as long after midnight as ever.
        fold = 0 if self._is_skipped(day, at) else fold
        return datetime.combine(day, at, tzinfo=self.zone).replace(fold=fold).astimezone(UTC)

    def _is_skipped(self, day: date, at: time) -> bool:
        local = datetime.combine(day, at)
        return local.replace(tzinfo=self.zone).astimezone(UTC).astimezone(self.zone).replace(tzinfo=None) != local

    def covers(self, at: datetime) -> bool:
        day = at.astimezone(self.zone).date()
        return any(found[0] <= at < found[1] for one in (day - DAY, day) if (found := self.on(one)))

    def following(self, at: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the windows that end after a time and begin before another, in their order."""
        day = at.astimezone(self.zone).date() - DAY
        while datetime.combine(day, time.min, tzinfo=self.zone) < until:
            found = self.on(day)
            if found and found[1] > at and found[0] < until:
                yield found
            day += DAY
