"""The drill of the outbox, shortened, and that its pager and its verdict can tell right from wrong."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.pager import Book, Faults, Pager
from bench.product import FOREIGN
from launcher.checkout import ROOT

HELD = {"never_paged": 0, "stuck_open": 0, "opened_twice": 0, "waiting": 0, "not_accepted": 0}
LOST = [HELD | {name: 1} for name in HELD]
# Django is set up at its import, as for every bench.
VERDICTS = """
import json, sys
from bench.outbox import holds
print(json.dumps([holds(found) for found in json.loads(sys.argv[1])]))
"""


def python(*words: str) -> str:
    """Run Python without the database of the tests."""
    env = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    command = [sys.executable, "-P", *words]
    return subprocess.run(
        command, cwd=ROOT, env=env | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True, timeout=400
    ).stdout


def event(key: str, action: str) -> dict[str, Any]:
    return {"dedup_key": key, "event_action": action}


def test_no_page_is_lost_under_kill_and_crash(tmp_path: Path) -> None:
    file = tmp_path / "drill.json"

    said = python("-m", "bench.drill", "outbox", "--short", "--json", str(file))

    found = json.loads(file.read_text())
    assert said.startswith("outbox: held")
    assert {name: found[name] for name in HELD} == HELD
    assert (found["incidents"], found["not_closed"], found["crashes"]) == (36, 0, 1)
    assert found["kills"] > 12
    assert found["unknown_outcomes"] > 0


def test_one_lost_page_is_noticed() -> None:
    assert json.loads(python("-c", VERDICTS, json.dumps([HELD, *LOST]))) == [True, *[False] * len(LOST)]


def test_the_pager_merges_triggers_of_an_open_incident() -> None:
    book = Book()

    for action in ("trigger", "trigger", "acknowledge"):
        book.take(event("a", action))

    assert (book.opened["a"], book.open) == (1, {"a"})


def test_a_trigger_behind_the_resolve_opens_a_second_incident_for_ever() -> None:
    book = Book()

    for action in ("trigger", "resolve", "trigger"):
        book.take(event("a", action))

    assert (book.opened["a"], book.open) == (2, {"a"})


def test_the_pager_drops_a_resolve_of_what_it_does_not_know() -> None:
    book = Book()

    book.take(event("a", "resolve"))

    assert (book.opened["a"], book.open) == (0, set())


def test_faults_come_in_their_shares() -> None:
    pager = Pager(Faults(), random.Random(1))

    drawn = [pager.fault() for _ in range(20_000)]

    shares = {name: drawn.count(name) / len(drawn) for name in set(drawn)}
    expected = {"busy": 0.05, "unavailable": 0.07, "slow": 0.04, "unanswered": 0.04, "taken": 0.8}
    assert shares == pytest.approx(expected, abs=0.01)
