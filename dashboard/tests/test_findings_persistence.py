"""Advice about append-only files: when it speaks, what it says, and when it stays silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dashboard.findings import Finding, State, in_depth, persistence
from dashboard.past import Past
from dashboard.tests.cast import LONG_AGO, failing, member, watched
from dashboard.watched import Watched, WatchedNode

REPLICA, PRIMARY = member(1, "replica", used_memory=1), member(2, used_memory=1)
Check = Callable[[Watched], Finding | None]
CHECKS: list[tuple[Check, str]] = [
    (persistence.append_only_failed, "append_failed"),
    (persistence.rewrite_failed, "rewrite_failed"),
]


def failed(what: str, *nodes: WatchedNode) -> Watched:
    given: dict[str, Any] = {what: {node.node.pk for node in nodes}}
    return replace(watched(*nodes), past=Past(**given))


@pytest.mark.parametrize(("check", "what"), CHECKS, ids=["write", "rewrite"])
def test_it_names_a_primary_first_and_counts_all(check: Check, what: str) -> None:
    found = check(failed(what, REPLICA, PRIMARY))

    assert found is not None
    assert found.sentence.startswith("game-cache shard 2 primary c")
    assert (found.state, found.figure) == (State.NOTICE, "2")
    assert found.url == "/caches/game-cache/internals/#persistence"


def test_it_says_that_writes_are_refused() -> None:
    found = persistence.append_only_failed(failed("append_failed", PRIMARY))

    assert found is not None
    assert "refuses writes until it can (MISCONF)" in found.sentence


@pytest.mark.parametrize(("check", "what"), CHECKS, ids=["write", "rewrite"])
def test_it_is_silent_where_nothing_failed_or_nobody_answers(check: Check, what: str) -> None:
    assert check(watched(PRIMARY)) is None
    assert check(failed(what, failing(PRIMARY, LONG_AGO))) is None


def test_it_is_part_of_the_advice() -> None:
    cache = failed("append_failed", PRIMARY)
    cache.cache.address = "redis://127.0.0.1"

    assert any("append-only" in finding.sentence for finding in in_depth(cache))
