"""Latency events as servers tell them: what is new, whose history is asked for, odd and hostile replies."""

from typing import Any

import pytest

from collectors.source import Spike
from collectors.sources.latency_events import EVENTS_READ, MOMENTS_READ, LatencyEvents, LatencyThreshold

AT = 1_700_000_000


def latest(event: bytes = b"command", at: int = AT, milliseconds: int = 30, *more: int) -> list[Any]:
    return [event, at, milliseconds, max(milliseconds, 90), *more]


def test_it_gives_the_newest_moment_of_each_event_once() -> None:
    source = LatencyEvents()

    first = source.parse([[latest(), latest(b"fork", AT - 5, 12)]]).spikes
    again = source.parse([[latest(), latest(b"fork", AT - 5, 12)], [], []]).spikes

    assert sorted(spike.event for spike in first) == ["command", "fork"]
    assert Spike("fork", AT - 5, 12) in first
    assert list(again) == []


def test_the_history_of_an_event_is_asked_for_once_after_it_happened() -> None:
    source = LatencyEvents()
    asked = [source.commands()]
    for reply in ([[latest()]], [[latest()], []], [[latest()]], [[latest(at=AT + 60)]]):
        source.parse(reply)
        asked.append(source.commands())

    assert [len(commands) for commands in asked] == [1, 2, 1, 1, 2]
    assert asked[1][1] == ("LATENCY", "HISTORY", "command")


def test_moments_between_two_looks_come_from_the_history() -> None:
    source = LatencyEvents()
    source.parse([[latest()]])

    spikes = source.parse([[latest()], [[AT - 2, 11], [AT - 1, 12], [AT, 30]]]).spikes

    assert sorted((spike.at, spike.milliseconds) for spike in spikes) == [(AT - 2, 11), (AT - 1, 12)]


def test_a_second_that_was_not_over_counts_again() -> None:
    source = LatencyEvents()
    source.parse([[latest(milliseconds=30)]])

    spikes = source.parse([[latest(milliseconds=80)], [[AT, 80]]]).spikes

    assert list(spikes) == [Spike("command", AT, 80)]


def test_valkeys_further_numbers_are_left_alone() -> None:
    assert list(LatencyEvents().parse([[latest(b"command", AT, 30, 120, 4)]]).spikes) == [Spike("command", AT, 30)]


@pytest.mark.parametrize(
    "reply",
    [None, 7, b"text", [], [None], [[]], [[b"command", AT]], [[7, AT, 30, 30]], [latest(at=-1)], [latest(at=2**40)]],
)
def test_it_leaves_out_what_cannot_be_read(reply: Any) -> None:
    source = LatencyEvents()

    assert list(source.parse([reply]).spikes) == []
    assert len(source.commands()) == 1


@pytest.mark.parametrize("event", [b"x" * 41, b"evil\r\nFLUSHALL", b"\xff\xfe", b" padded"])
def test_it_asks_nothing_by_a_name_that_is_none(event: bytes) -> None:
    source = LatencyEvents()
    source.parse([[latest(event)]])

    assert len(source.commands()) == 1


def test_it_reads_no_more_than_servers_keep() -> None:
    source = LatencyEvents()
    source.parse([[latest(b"event-%d" % number) for number in range(1_000)]])

    assert len(source.commands()) == 1 + EVENTS_READ

    flood = [[AT - number, 1] for number in range(10_000)]
    replies = [[latest(b"event-0")], flood, *[None] * (EVENTS_READ - 1)]
    assert len(source.parse(replies).spikes) <= MOMENTS_READ


def test_an_error_for_one_history_costs_the_others_nothing() -> None:
    source = LatencyEvents()
    source.parse([[latest(b"fork"), latest(b"command")]])

    spikes = source.parse([[latest(b"fork"), latest(b"command")], None, [[AT - 9, 44]]]).spikes

    assert list(spikes) == [Spike("command", AT - 9, 44)]


def test_the_threshold_is_a_fact_when_it_changes() -> None:
    source = LatencyThreshold()
    told = [source.parse([[b"latency-monitor-threshold", value]]).facts for value in (b"0", b"0", b"100")]

    assert told == [{"latency_monitor_threshold": "0"}, {}, {"latency_monitor_threshold": "100"}]


@pytest.mark.parametrize("reply", [None, [], [b"latency-monitor-threshold"], [b"a", None], [b"a", b"-1"], [b"a", b"x"]])
def test_an_odd_threshold_is_not_known(reply: Any) -> None:
    assert LatencyThreshold().parse([reply]).facts == {}
