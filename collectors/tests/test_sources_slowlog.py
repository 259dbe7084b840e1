"""The slow log and the command logs: new entries only, odd and hostile replies."""

from typing import Any

import pytest

from collectors.source import Reply, SlowCall, Standing
from collectors.sources.slowlog import ENTRIES, CommandLog, CommandLogSlow, SlowLog
from fleet.engines import Engine


def entry(number: int, words: list[Reply] | None = None, at: int = 1_700_000_000) -> list[Reply]:
    return [number, at, 12_000, words or [b"GET", b"player:1:items"], b"127.0.0.1:5000", b"name"]


def test_it_gives_each_entry_once() -> None:
    source = SlowLog()

    first = source.parse([[entry(1), entry(0)]]).slow_calls
    second = source.parse([[entry(2), entry(1), entry(0)]]).slow_calls

    assert [call.entry_id for call in first] == [1, 0]
    assert list(second) == [SlowCall("slow", 2, 1_700_000_000, 12_000, "GET", 1, "player:*")]


def test_the_ids_of_a_restarted_server_are_new() -> None:
    source = SlowLog()
    source.parse([[entry(0)]])

    assert len(source.parse([[entry(0, at=1_700_000_500)]]).slow_calls) == 1


def test_binary_arguments_of_a_megabyte_leave_nothing_behind() -> None:
    calls = SlowLog().parse([[entry(0, [b"SET", b"\x00\xff" * 2**19, b"secret" * 2**18])]]).slow_calls

    assert [(call.command, call.arguments, call.key_prefix) for call in calls] == [("SET", 2, "*")]


@pytest.mark.parametrize(
    "reply",
    [
        None,
        7,
        b"text",
        [],
        [None],
        [[]],
        [[1, 2, 3]],
        [[-1, 1, 1, []]],
        [[1, 2**40, 1, []]],
        [[2**70, 1, 1, []]],
        [[b"1", 1, 1, []]],
    ],
)
def test_it_leaves_out_what_cannot_be_read(reply: Any) -> None:
    assert not SlowLog().parse([reply]).slow_calls


def test_it_reads_no_more_than_it_asked_for() -> None:
    assert len(SlowLog().parse([[entry(number) for number in range(1000)]]).slow_calls) == ENTRIES


def test_it_asks_for_command_logs_where_they_exist() -> None:
    standing = Standing(Engine.VALKEY, (7, 2, 4), (8, 1, 0))

    assert CommandLog().wanted(standing)
    assert CommandLogSlow().wanted(standing)
    assert not CommandLog().wanted(Standing(Engine.VALKEY, (7, 2, 4), (8, 0, 1)))
    assert not CommandLog().wanted(Standing(Engine.REDIS, (8, 2, 0)))


def test_it_tells_large_requests_from_large_replies() -> None:
    calls = CommandLog().parse([[entry(4)], [entry(4), entry(3)]]).slow_calls

    assert [(call.log, call.entry_id) for call in calls] == [
        ("large-request", 4),
        ("large-reply", 4),
        ("large-reply", 3),
    ]
