"""What the two polls that are compared ask, and what the peer stores beside them."""

import re

import pytest
from pytest_django.fixtures import Settings

from bench import collect
from bench.sides import INTERVAL_SECONDS
from collectors.sources import make_sources

KINDS = {
    "redis_memory_used_bytes": ("lean", "full"),
    "redis_commands_total": ("full",),
    "redis_errors_total": ("full",),
}


def test_a_source_has_the_share_of_polls_that_it_has_by_default(settings: Settings) -> None:
    settings.POLL_INTERVAL_SECONDS, settings.COMMANDS_INTERVAL_SECONDS = 15, 60

    assert collect.shared_out("COMMANDS") == 4 * INTERVAL_SECONDS


def test_nothing_is_asked_more_often_than_there_are_polls(settings: Settings) -> None:
    settings.POLL_INTERVAL_SECONDS, settings.COMMANDS_INTERVAL_SECONDS = 60, 5

    assert collect.shared_out("COMMANDS") == INTERVAL_SECONDS


def test_the_full_poll_leaves_no_source_out(settings: Settings) -> None:
    """A new source with an interval of its own must be named in the bench, or the lean poll would pay for it."""
    _, full = collect.polls()
    for number, name in enumerate(full.intervals):
        setattr(settings, f"{name}_INTERVAL_SECONDS", 100_000 + number)

    # What is asked once an hour weighs nothing.
    left_out = {
        source.name for source in make_sources("", tls=False) if 0 < source.every() < 3_600 and not source.once_a_cache
    }

    assert not left_out


def test_the_lean_poll_asks_by_name_once_a_day() -> None:
    lean, full = collect.polls()

    assert {name for name, seconds in lean.intervals.items() if seconds == collect.NEVER_SECONDS} > set(
        collect.FULL_SOURCES
    )
    assert collect.NEVER_SECONDS not in full.intervals.values()
    assert lean.bar < full.bar


@pytest.mark.parametrize(("metric", "kept_by"), KINDS.items())
def test_the_peer_stores_what_we_store(metric: str, kept_by: tuple[str, ...]) -> None:
    # Prometheus matches names as wholes.
    found = tuple(poll.name for poll in collect.polls() if re.fullmatch(f"redis_({poll.kept})", metric))

    assert found == kept_by
