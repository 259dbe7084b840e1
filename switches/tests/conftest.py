"""Readers of switches without a database behind them, and with a real one."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from switches import board as boards
from switches.board import Board
from switches.gate import Gate
from switches.snapshot import Snapshot
from switches.tests.cast import snapshot

GateOf = Callable[..., Gate]
BoardAt = Callable[..., Board]
FAR = 10_000.0
LEFT_BEHIND = (
    "switches_proposal",
    "switches_plan",
    "switches_sighting",
    "switches_instance",
    "switches_switchchange",
    "switches_switch",
    "switches_clientkey",
    "accounts_auditentry",
    "accounts_user",
    "collectors_event",
    "fleet_cache",
)


class StillBoard(Board):
    """A board that never hears of a database; what it shows is set by the test."""

    def begin(self) -> Snapshot | None:
        return self.snapshot


def django(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"django"]


@pytest.fixture
def gate_of() -> GateOf:
    """`gate_of(snapshot)` returns a gate before a board that shows it, fresh unless told otherwise."""

    def make(shown: Snapshot | None = None, is_fresh: bool = True) -> Gate:
        board = StillBoard(None)
        board.snapshot = snapshot() if shown is None else shown
        board.fresh_until = time.monotonic() + FAR if is_fresh else 0.0
        return Gate(board, django)

    return make


@pytest.fixture
def board_at(committed: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoardAt]:
    """`board_at(path, open_store)` returns a board that runs until the test ends."""
    # What a board waits for at most before it can end, too.
    monkeypatch.setattr(boards, "WAIT_SECONDS", 0.05)
    running: list[Board] = []

    def start(path: Path | None = None, **given: Any) -> Board:
        running.append(Board(path, **given))
        running[-1].begin()
        return running[-1]

    yield start
    for board in running:
        board.stop()


@pytest.fixture
def committed(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The database without a transaction around the test, for what other connections must see.

    Emptying the few tables that such a test fills takes a hundredth of what emptying all of them does.
    """
    with django_db_blocker.unblock():
        yield
        with connection.cursor() as cursor:
            # The record of changes refuses to be deleted, but not to whoever owns the server.
            cursor.execute("SET session_replication_role = replica")
            for table in LEFT_BEHIND:
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - names from above
            cursor.execute("UPDATE switches_installation SET epoch = 1, serial = 1")
        connection.close()
