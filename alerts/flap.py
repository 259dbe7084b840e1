"""When an alert flaps: it fires again and again, and is over only once it has been calm for long enough."""

from collections.abc import Sequence

from alerts.spec import Spec

# So many times within the window.
TIMES = 3
# Long enough to see it at every period of up to five times a rule's `for`, within bounds that people can follow.
SHORTEST_WINDOW, LONGEST_WINDOW = 30 * 60, 6 * 3_600
SHORTEST_CALM = 5 * 60
KEPT = 100


def window(spec: Spec) -> int:
    """Return within how many seconds an alert of a rule must fire TIMES times to count as flapping."""
    return min(max(12 * (spec.hold + spec.keep), SHORTEST_WINDOW), LONGEST_WINDOW)


def calm(spec: Spec) -> int:
    """Return for how many seconds a flapping alert's condition must be false until it is over."""
    return max(spec.keep, min(max(3 * spec.hold, SHORTEST_CALM), LONGEST_WINDOW))


def recent(firings: Sequence[int], tick: int, spec: Spec) -> list[int]:
    """Return the ticks of the window at which the alert fired, with this one, oldest first."""
    edge = tick - window(spec)
    return [*(time for time in firings if edge < time < tick), tick][-KEPT:]
