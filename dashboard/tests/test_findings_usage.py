"""Advice about what clients ask: when it speaks, what it says, and when it stays silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dashboard.commands import CommandRow
from dashboard.findings import Finding, State, usage
from dashboard.past import Change, Past
from dashboard.tests.cast import watched
from dashboard.watched import Watched

EMPTY = dict.fromkeys(CommandRow.__dataclass_fields__)


def command(name: str, **given: Any) -> CommandRow:
    return CommandRow(**{**EMPTY, "name": name, "latency": "histogram", **given})


def after(*commands: CommandRow, topology: str = "cluster", **given: Any) -> Watched:
    return replace(watched(topology=topology), past=Past(commands=commands, **given))


def said(finding: Finding | None) -> Finding:
    assert finding is not None
    assert finding.state is State.NOTICE
    return finding


def test_it_names_the_costly_command_that_takes_most_time_and_the_better_choice() -> None:
    hash_, keys = (
        command("hgetall", calls_per_second=500.0, time_share=0.2, p99_usec=900.0),
        command("keys", calls_per_second=2.0, time_share=0.3, p99_usec=90_000.0),
    )

    found = said(usage.costly_commands(after(hash_, keys)))

    assert found.sentence == (
        "game-cache runs KEYS 2/s, which takes 30% of its time. Walks through all keys while everybody waits: use SCAN"
    )
    assert (found.figure, found.url) == ("30%", "/caches/game-cache/commands/")


def test_it_says_how_long_a_rare_command_holds_up_all_others() -> None:
    found = said(
        usage.costly_commands(after(command("zrange", calls_per_second=0.05, time_share=0.0003, p99_usec=66e3)))
    )

    assert found.sentence.replace("\u00a0", " ").startswith("game-cache runs ZRANGE 0.05/s, up to 66 ms a call. Reads")
    assert found.figure.replace("\u00a0", " ") == "66 ms"


@pytest.mark.parametrize(
    ("name", "given", "speaks"),
    [
        ("keys", {"time_share": 0.01}, True),
        ("keys", {"time_share": 0.0099}, False),
        ("keys", {"time_share": 0.001, "usec_per_call": 5_000.0}, True),
        ("keys", {"time_share": 0.001, "usec_per_call": 4_999.0}, False),
        ("keys", {"time_share": None}, False),
        ("hgetall", {"time_share": 0.5, "p99_usec": 200.0}, True),
        ("hgetall", {"time_share": 0.5, "p99_usec": 199.0}, False),
        ("hgetall", {"time_share": 0.5}, False),
        ("zrange", {"time_share": 0.5, "usec_per_call": 300.0}, True),
        ("eval", {"time_share": 0.5, "p99_usec": 5_000.0}, True),
        ("eval", {"time_share": 0.9, "p99_usec": 4_000.0}, False),
        ("get", {"time_share": 0.9, "p99_usec": 9_000.0}, False),
        ("client|list", {"time_share": 0.5, "p99_usec": 90_000.0}, False),
        ("cluster|slots", {"time_share": 0.5, "p99_usec": 90_000.0}, False),
    ],
)
def test_it_calls_costly_what_holds_up_others(name: str, given: dict[str, Any], speaks: bool) -> None:
    row = command(name, **{"calls_per_second": 3.0, **given})

    assert bool(usage.costly_commands(after(row))) == speaks


def test_it_sees_a_missing_slot_cache() -> None:
    rows = [command("get", calls_per_second=900.0), command("cluster|slots", calls_per_second=100.0)]

    found = said(usage.layout_storm(after(*rows)))

    assert "is asked for its layout 100/s" in found.sentence
    assert "10% of all commands" in found.sentence
    assert found.url == "/caches/game-cache/commands/"


@pytest.mark.parametrize(
    ("asked", "others", "topology", "speaks"),
    [
        (1.0, 99.0, "cluster", True),
        (0.99, 1.0, "cluster", False),
        (1.0, 100.0, "cluster", False),
        (1.0, 99.0, "standalone", False),
        (None, None, "cluster", False),
    ],
)
def test_it_takes_usual_questions_about_the_layout_for_no_storm(
    asked: float | None, others: float | None, topology: str, speaks: bool
) -> None:
    rows = [command("cluster|shards", calls_per_second=asked), command("get", calls_per_second=others)]

    assert bool(usage.layout_storm(after(*rows, topology=topology))) == speaks


def test_it_names_the_most_frequent_of_the_errors_that_rise() -> None:
    errors = {"ERR": Change(0.5, 0.1), "OOM": Change(12.0, 0.0), "WRONGTYPE": Change(90.0, 80.0)}

    found = said(usage.errors_rising(after(errors=errors)))

    assert found.sentence.startswith("game-cache answers OOM 12/s, the day before 0/s. Memory is full")
    assert found.figure == "12/s"


@pytest.mark.parametrize(
    ("name", "change", "speaks"),
    [
        ("OOM", Change(0.1, 0.0), True),
        ("OOM", Change(0.099, 0.0), False),
        ("OOM", Change(3.0, 1.0), True),
        ("OOM", Change(2.9, 1.0), False),
        ("OOM", Change(50.0, None), False),
        ("MOVED", Change(50.0, 0.0), False),
        ("NOSCRIPT", Change(50.0, 0.0), False),
        ("MADEUP", Change(50.0, 0.0), True),
    ],
)
def test_it_speaks_of_errors_that_rise_and_are_not_usual(name: str, change: Change, speaks: bool) -> None:
    assert bool(usage.errors_rising(after(errors={name: change}))) == speaks


@pytest.mark.parametrize(
    ("name", "change", "speaks"),
    [
        ("OOM", Change(50.0, 50.0), True),
        ("OOM", Change(50.0, None), True),
        ("OOM", Change(50.0, 1.0), False),
        ("OOM", Change(0.09, 0.09), False),
        ("MISCONF", Change(0.1, 0.1), True),
        ("WRONGTYPE", Change(50.0, 50.0), False),
    ],
)
def test_it_speaks_of_work_that_is_refused_for_long(name: str, change: Change, speaks: bool) -> None:
    assert bool(usage.work_refused(after(errors={name: change}))) == speaks


def test_it_says_what_is_refused_most_and_why() -> None:
    errors = {"OOM": Change(3.0, 3.0), "CLUSTERDOWN": Change(90.0, 80.0), "ERR": Change(900.0, 900.0)}

    found = said(usage.work_refused(after(errors=errors)))

    assert found.sentence.startswith("game-cache goes on answering CLUSTERDOWN, 90/s. The cluster serves nothing")
    assert (found.figure, found.url) == ("90/s", "/caches/game-cache/commands/#errors")


@pytest.mark.parametrize(
    ("slow", "speaks"),
    [
        (None, False),
        (Change(11 / 600, 0.0), True),
        (Change(10 / 600, 0.0), False),
        (Change(30 / 600, 10 / 600), True),
        (Change(29 / 600, 10 / 600), False),
        (Change(30 / 600, None), False),
    ],
)
def test_it_speaks_of_a_slow_log_that_grows_faster_than_usual(slow: Change | None, speaks: bool) -> None:
    assert bool(usage.slow_log_growing(after(slow=slow))) == speaks


def test_it_links_to_the_slow_log() -> None:
    found = said(usage.slow_log_growing(after(slow=Change(2.0, 0.5))))

    assert found.sentence == "game-cache logs 2/s slow commands, the day before 0.50/s"
    assert found.url == "/caches/game-cache/slowlog/"
