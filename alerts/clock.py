"""When a condition becomes an alert and when it is over: a pure state machine.

The times are those of ticks, never of the moment at which the code runs. The table is Prometheus' own
(rules/alerting.go, Eval; checked against promtool in the tests) but for missing data: what cannot be
judged changes nothing, where Prometheus would call it recovered.
"""

from dataclasses import dataclass, replace
from enum import StrEnum


class Phase(StrEnum):
    """Where one condition stands; firing and recovering both count as firing to the outside."""

    INACTIVE = "inactive"
    PENDING = "pending"
    FIRING = "firing"
    RECOVERING = "recovering"


@dataclass(frozen=True, slots=True)
class Clock:
    """Since when a condition has been true, fired, and false again; seconds since the epoch."""

    active_at: int | None = None
    fired_at: int | None = None
    kept_since: int | None = None

    @property
    def phase(self) -> Phase:
        if self.active_at is None:
            return Phase.INACTIVE
        if self.fired_at is None:
            return Phase.PENDING
        return Phase.FIRING if self.kept_since is None else Phase.RECOVERING

    @property
    def is_firing(self) -> bool:
        return self.fired_at is not None


AT_REST = Clock()


def step(
    clock: Clock,
    is_true: bool | None,
    tick: int,
    hold: int,
    keep: int,
    may_begin: bool = True,
    since: int | None = None,
) -> Clock:
    """Return the clock after a tick at which the condition was true, false or not to be judged (None).

    It fires once true for `hold` seconds and is over once false for `keep` seconds; equality counts in
    both. A tick that is not newer than what the clock has seen may be given again: nothing changes twice.
    Where nothing may begin, what waits begins to wait anew afterwards; what fires goes on. `since` is given
    where what is seen now is known to have been true before.
    """
    if not may_begin and not clock.is_firing:
        return AT_REST
    if is_true is None:
        return clock
    return _rise(clock, tick, hold, since) if is_true else _fall(clock, tick, keep)


def _rise(clock: Clock, tick: int, hold: int, since: int | None = None) -> Clock:
    active_at = clock.active_at
    if active_at is None:
        active_at = tick if since is None else min(since, tick)
    if tick - active_at < hold:
        # A firing alert whose `for` was raised above its age waits again.
        return Clock(active_at)
    return Clock(active_at, tick if clock.fired_at is None else clock.fired_at)


def _fall(clock: Clock, tick: int, keep: int) -> Clock:
    if clock.fired_at is None or keep <= 0:
        return AT_REST
    kept_since = tick if clock.kept_since is None else clock.kept_since
    return AT_REST if tick - kept_since >= keep else replace(clock, kept_since=kept_since)
