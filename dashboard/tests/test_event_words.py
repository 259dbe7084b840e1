"""What events say, in both languages."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import translation

from collectors.event import NOTE_KINDS, Event, Kind
from collectors.tests.cast import noon
from dashboard import event_words
from dashboard.event_words import mark_of, moment, sentence
from dashboard.tests.test_events import CHANGED, ONE, THREE, TWO, seen

BOTH: dict[str, Any] = {"shard": 1, "to": TWO, "from": ONE}
JAPANESE = [
    (seen(Kind.RESTART), "10.0.0.1:7001が再起動しました"),
    (seen(Kind.RESTART, 3, 40, nodes=[{**ONE, "times": 3}]), "10.0.0.1:7001が再起動しました（3回）"),
    (seen(Kind.UNREACHABLE), "10.0.0.1:7001が応答していません"),
    (seen(Kind.UNREACHABLE, 1, 90), "10.0.0.1:7001が1分の間応答しませんでした"),
    (seen(Kind.ROLE, **CHANGED), "10.0.0.1:7001がプライマリからレプリカに変わりました"),
    (seen(Kind.SLOTS, slots=3, ways={"1 4": 3}), "スロットの移動: シャード 1 から 4 へ3個"),
    (seen(Kind.MOVED, nodes=[{**ONE, "before": "a:1"}]), "a:1 が 10.0.0.1:7001 に移動しました"),
    (seen(Kind.JOINED), "10.0.0.1:7001が参加しました"),
    (seen(Kind.CONFIG, changes={"maxmemory": [2**20, 0]}), "10.0.0.1:7001: maxmemory 1\u00a0MiB → 上限なし"),
]


def failover(count: int = 1, is_forced: bool = True, **data: Any) -> Event:
    return seen(Kind.FAILOVER, count, is_forced=is_forced, **{**BOTH, **data})


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (failover(), "Shard 1: 10.0.0.1:7002 took over from 10.0.0.1:7001, which had stopped answering"),
        (failover(is_forced=False), "Shard 1: 10.0.0.1:7002 took over from 10.0.0.1:7001 as asked"),
        (failover(4), "Shard 1 changed its primary 4 times, last to 10.0.0.1:7002"),
        (failover(1_234), "Shard 1 changed its primary 1\u202f234 times, last to 10.0.0.1:7002"),
    ],
)
def test_it_tells_a_failover_that_was_asked_for_from_one_that_was_forced(event: Event, words: str) -> None:
    assert sentence(event) == words


@pytest.mark.parametrize(("event", "words"), JAPANESE, ids=[event.kind for event, _words in JAPANESE])
def test_it_says_so_in_japanese(event: Event, words: str) -> None:
    with translation.override("ja"):
        assert sentence(event) == words


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"shards_before": None, "shards_after": 3, "nodes_before": 2, "nodes_after": 3}, "2 to 3 nodes"),
        ({"shards_before": 3, "shards_after": None, "nodes_before": 2, "nodes_after": 3}, "2 to 3 nodes"),
        ({"nodes_before": 2, "nodes_after": 0}, "2 to 0 nodes"),
        ({"shards_before": 1, "shards_after": 1, "slots": 1}, "1 slot moved"),
        ({}, "nodes replaced"),
    ],
)
def test_scaling_names_only_what_changed(data: dict[str, Any], words: str) -> None:
    assert sentence(seen(Kind.SCALING, **data)) == f"Scaling: {words}"


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], ""),
        ([ONE], "10.0.0.1:7001"),
        ([ONE, TWO], "10.0.0.1:7001, 10.0.0.1:7002"),
        ([ONE, TWO, THREE], "3 nodes"),
        ([ONE] * 1_500, "1\u202f500 nodes"),
    ],
)
def test_it_names_two_nodes_and_counts_more(nodes: list[dict[str, Any]], words: str) -> None:
    assert event_words.names(nodes) == words


@pytest.mark.parametrize(
    ("count", "nodes", "words"),
    [
        (1, [ONE], "it"),
        (1, [{**ONE, "times": 2}], "it, 2 times"),
        (5, [ONE, TWO], "it"),
        (5, [ONE, {**TWO, "times": 4}], "it, 4 times"),
        (5, [], "it, 5 times"),
    ],
)
def test_often_is_meant_for_each_node(count: int, nodes: list[dict[str, Any]], words: str) -> None:
    assert event_words.times(seen(Kind.RESTART, count, nodes=nodes), "it") == words


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("maxmemory", 0, "no limit"),
        ("maxmemory", None, "no limit"),
        ("maxmemory", 2**30, "1\u00a0GiB"),
        ("maxclients", 0, "0"),
        ("maxmemory_policy", "allkeys-lru", "allkeys-lru"),
    ],
)
def test_settings_are_written_with_their_unit(name: str, value: Any, words: str) -> None:
    assert event_words.setting(name, value) == words


def test_a_scan_that_goes_on_has_no_figures_yet() -> None:
    assert sentence(seen(Kind.KEY_SCAN, scan=5)) == "Scan 5 of the keys is under way"


def test_a_scan_that_found_nothing_out_is_not_zero() -> None:
    assert "not reported" in sentence(seen(Kind.KEY_SCAN, 1, 5, scan=5))
    assert "1\u202f234 in all, 2\u00a0KiB" in sentence(seen(Kind.KEY_SCAN, 1, 5, scan=5, keys=1_234, bytes=2_048))


@pytest.mark.parametrize("kind", list(NOTE_KINDS))
def test_a_note_speaks_for_itself(kind: Kind) -> None:
    event = Event(kind=kind, title="<b>Release 7</b>", source="person", at=noon())

    assert sentence(event) == "<b>Release 7</b>"
    assert mark_of(event).tone == "note"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("off", "Switch user-cache turned off: sick"),
        ("step", "Switch user-cache at 10 %: sick"),
        ("repointed", "Switch user-cache pointed elsewhere: sick"),
        ("on", "Switch user-cache turned on: sick"),
    ],
)
def test_a_switch_tells_its_change_and_the_reason(change: str, words: str) -> None:
    data = {"switch": "user-cache", "change": change, "percent": 10, "reason": "sick"}

    assert sentence(Event(kind=Kind.SWITCH, data=data)) == words


def test_a_kind_of_a_later_version_still_has_a_mark() -> None:
    assert mark_of(Event(kind="unheard-of", at=noon())) == event_words.Mark("N", "note")


@pytest.mark.parametrize(
    ("seconds", "expected"), [(None, None), (0, datetime(1970, 1, 1, tzinfo=UTC)), (noon().timestamp(), noon())]
)
def test_times_in_the_data_are_read_as_utc(seconds: float | None, expected: datetime | None) -> None:
    assert moment(seconds) == expected


def test_what_ended_before_it_began_lasted_no_time() -> None:
    assert event_words.length(seen(Kind.UNREACHABLE, 1, -30)) == 0.0
