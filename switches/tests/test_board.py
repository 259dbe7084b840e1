"""What a web process knows: at once after a change, from memory and file while the database is away."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from accounts.models import User
from fleet.registration import ConflictError
from launcher.waiting import until
from switches import board as boards
from switches import changing, client_keys
from switches.board import Board
from switches.gate import Gate
from switches.models import ClientKey, Installation, Instance, Switch
from switches.snapshot import READ, packed, parse
from switches.store import Store
from switches.tests.cast import KEY, WHY, ask, cache, instance, operator, row, snapshot, switch
from switches.tests.conftest import BoardAt, django

PATIENCE_SECONDS = 10.0
PATH = "/api/v1/switches/user-cache"


def eventually(claim: Callable[[], object]) -> bool:
    return bool(until(lambda: bool(claim()), PATIENCE_SECONDS))


def revision(board: Board) -> int:
    assert board.snapshot is not None
    return board.snapshot.switches["user-cache"].revision


class Away:
    """A database that can be taken away: refuses connections, and cuts those that are open."""

    def __init__(self) -> None:
        self.is_away = False
        self.stores: list[Store] = []

    def __call__(self) -> Store:
        if self.is_away:
            raise psycopg.OperationalError("away")
        self.stores.append(Store())
        return self.stores[-1]

    def leave(self) -> None:
        self.is_away = True
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [self.stores[-1].raw.info.backend_pid])


@pytest.mark.django_db
def test_one_statement_reads_all_that_answers_show() -> None:
    canary = switch("canary", cache_now=cache(address="redis://10.0.0.5:7000"), ttl_seconds=9)
    changing.turn_on(canary, operator(), WHY, 1, 50)
    instance(canary, "pod-1", is_admitted=True)
    instance(switch("plain"), "pod-2")
    changing.retire(switch("retired"), operator(), WHY, 1)
    client_keys.issue(operator(), "shop", ["canary"])

    with connection.cursor() as cursor:
        cursor.execute(READ)
        found = parse(cursor.fetchone()[0].encode())

    assert set(found.switches) == {"canary", "plain"}
    one = found.switches["canary"]
    assert (one.percent, one.revision, one.ttl_seconds, one.instances) == (50, 2, 9, {"pod-1": True})
    assert one.endpoint == {"host": "10.0.0.5", "port": 7000, "tls": False, "cluster": False}
    assert [key.scope for key in found.keys.values()] == [("canary",)]
    assert found.switches["plain"].instances == {}


def test_it_begins_with_what_the_database_says(board_at: BoardAt) -> None:
    switch()

    assert revision(board_at()) == 1


def test_it_hears_of_a_change_at_once(board_at: BoardAt, monkeypatch: pytest.MonkeyPatch) -> None:
    made = switch()
    board = board_at()
    # So long that only being told can be quicker.
    monkeypatch.setattr(boards, "WAIT_SECONDS", 60.0)
    off = changing.turn_off(made, operator(), WHY)
    assert eventually(lambda: revision(board) == 2)

    changing.turn_on(off, operator(), WHY, 2)

    assert eventually(lambda: revision(board) == 3)
    monkeypatch.setattr(boards, "WAIT_SECONDS", 0.05)
    changing.turn_off(made, operator(), WHY)
    assert eventually(lambda: revision(board) == 4)


def test_it_finds_a_change_that_nobody_told_of(board_at: BoardAt) -> None:
    made = switch()
    board = board_at()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE switches_installation SET serial = serial + 1")
        cursor.execute("ALTER TABLE switches_switch DISABLE TRIGGER switches_tell")
        cursor.execute("UPDATE switches_switch SET revision = 9 WHERE id = %s", [made.pk])
        cursor.execute("UPDATE switches_installation SET serial = serial + 1")
        cursor.execute("ALTER TABLE switches_switch ENABLE TRIGGER switches_tell")

    assert eventually(lambda: revision(board) == 9)


def test_a_transaction_that_is_taken_back_changes_nothing(board_at: BoardAt) -> None:
    made = switch()
    board = board_at()

    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("UPDATE switches_switch SET revision = 5 WHERE id = %s", [made.pk])
        cursor.execute("ROLLBACK")
    changing.turn_off(made, operator(), WHY)

    assert eventually(lambda: revision(board) == 2)


def test_a_revoked_key_is_shut_out_within_a_moment(board_at: BoardAt) -> None:
    switch()
    key, text = client_keys.issue(operator(), "shop", [])
    gate = Gate(board_at(), django)
    first = ask(gate, "GET", PATH, key=text).status

    client_keys.revoke(operator(), key)

    assert first == 200
    assert eventually(lambda: ask(gate, "GET", PATH, key=text).status == 401)


def test_it_goes_on_while_the_database_is_away_and_catches_up(
    board_at: BoardAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "STALE_SECONDS", 0.7)
    made, away = switch(), Away()
    _key, text = client_keys.issue(operator(), "shop", [])
    gate = Gate(board_at(open_store=away), django)

    away.leave()
    changing.turn_off(made, operator(), WHY)

    assert eventually(lambda: "X-Shardwatch-Stale" in ask(gate, "GET", PATH, key=text).headers)
    assert ask(gate, "GET", PATH, key=text).json["can_use"] is True
    away.is_away = False
    assert eventually(lambda: ask(gate, "GET", PATH, key=text).json["can_use"] is False)
    assert eventually(lambda: "X-Shardwatch-Stale" not in ask(gate, "GET", PATH, key=text).headers)


def test_an_outage_is_two_lines_in_the_log(board_at: BoardAt, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "switches.board")
    made, away = switch(), Away()
    board = board_at(open_store=away)

    away.leave()
    assert eventually(lambda: "away" in caplog.text)
    changing.turn_off(made, operator(), WHY)
    away.is_away = False
    assert eventually(lambda: revision(board) == 2)

    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_it_begins_with_its_file_while_the_database_is_away(board_at: BoardAt, tmp_path: Path) -> None:
    (tmp_path / "switches").write_bytes(packed(snapshot(row(percent=0, revision=4))))
    away = Away()
    away.is_away = True

    reply = ask(Gate(board_at(tmp_path / "switches", open_store=away), django), "GET", PATH, key=KEY)

    assert (reply.status, reply.json["can_use"], reply.json["revision"]) == (200, False, 4)
    assert "X-Shardwatch-Stale" in reply.headers


def test_without_file_and_database_it_says_so(board_at: BoardAt, tmp_path: Path) -> None:
    away = Away()
    away.is_away = True

    reply = ask(Gate(board_at(tmp_path / "none", open_store=away), django), "GET", PATH)

    assert reply.status == 503


@pytest.mark.parametrize("content", [b"", b"damaged", packed(snapshot())[:-3]], ids=["empty", "damaged", "cut"])
def test_a_damaged_file_is_replaced(board_at: BoardAt, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "switches"
    path.write_bytes(content)
    switch()

    board = board_at(path)

    assert board.snapshot is not None
    assert eventually(lambda: path.read_bytes() == packed(board.snapshot))  # type: ignore[arg-type]


def test_the_time_of_the_file_says_when_the_database_was_heard(
    board_at: BoardAt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "RELOAD_SECONDS", 0.0)
    switch()
    board_at(tmp_path / "switches")
    assert eventually((tmp_path / "switches").exists)

    os.utime(tmp_path / "switches", (0, 0))

    assert eventually(lambda: (tmp_path / "switches").stat().st_mtime > 0)


def test_the_file_is_nobody_elses_to_read(board_at: BoardAt, tmp_path: Path) -> None:
    switch()
    board_at(tmp_path / "switches")

    assert eventually((tmp_path / "switches").exists)
    assert (tmp_path / "switches").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["switches"]


def test_a_folder_that_cannot_be_written_does_no_harm(board_at: BoardAt, tmp_path: Path) -> None:
    switch()

    assert revision(board_at(tmp_path / "none" / "switches")) == 1


def test_a_restored_backup_begins_a_new_epoch(board_at: BoardAt) -> None:
    made = switch()
    board = board_at()
    changing.turn_off(made, operator(), WHY)
    assert eventually(lambda: revision(board) == 2)

    with connection.cursor() as cursor:
        cursor.execute("UPDATE switches_switch SET revision = 1, percent = 100 WHERE id = %s", [made.pk])
        cursor.execute("UPDATE switches_installation SET serial = 1")

    assert eventually(lambda: board.snapshot and (board.snapshot.epoch, revision(board)) == (2, 1))
    assert Installation.objects.get().epoch == 2


def test_processes_that_notice_together_begin_one_epoch(committed: None) -> None:
    store = Store()
    before = Installation.objects.get()

    for _ in range(3):
        store.raise_epoch((before.epoch, before.serial + 100))

    store.close()
    assert Installation.objects.get().epoch == before.epoch + 1


def test_reports_are_written_once_an_instance(board_at: BoardAt) -> None:
    made = switch()
    _key, text = client_keys.issue(operator(), "shop", [])
    gate = Gate(board_at(), django)
    report = {"key": "user-cache", "instance": "pod-1", "revision": 1, "address": "10.1.1.1", "age_seconds": 2.5}

    for number in range(20):
        rows = [report, {**report, "instance": "pod-2", "error": f"e{number}"}]
        assert ask(gate, "POST", "/api/v1/switches/reports", rows, key=text).status == 202

    assert eventually(lambda: Instance.objects.filter(switch=made).count() == 2)
    assert Instance.objects.get(name="pod-1").address == "10.1.1.1"


def test_reports_wait_for_the_database(board_at: BoardAt) -> None:
    made, away = switch(), Away()
    board = board_at(open_store=away)
    gate = Gate(board, django)
    _key, text = client_keys.issue(operator(), "shop", [])
    assert eventually(lambda: ask(gate, "GET", PATH, key=text).status == 200)
    away.leave()

    ask(gate, "POST", "/api/v1/switches/reports", [{"key": "user-cache", "instance": "a", "revision": 1}], key=text)
    away.is_away = False

    assert eventually(lambda: Instance.objects.filter(switch=made, name="a").exists())


def test_it_notes_what_is_used(board_at: BoardAt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "USES_SECONDS", 0.0)
    made, other = switch(), switch("other")
    key, text = client_keys.issue(operator(), "shop", [])
    before = Installation.objects.get().serial

    ask(Gate(board_at(), django), "GET", PATH, key=text)

    assert eventually(lambda: Switch.objects.get(pk=made.pk).polled_at)
    assert eventually(lambda: ClientKey.objects.get(pk=key.pk).last_used_at)
    assert Switch.objects.get(pk=other.pk).polled_at is None
    assert Installation.objects.get().serial == before


def test_a_steady_reader_costs_no_query(board_at: BoardAt, django_assert_num_queries: Callable[..., object]) -> None:
    switch()
    _key, text = client_keys.issue(operator(), "shop", [])
    gate = Gate(board_at(), django)
    ask(gate, "GET", PATH, key=text)

    with django_assert_num_queries(0):  # type: ignore[attr-defined]
        for _ in range(50):
            ask(gate, "GET", PATH, key=text)


def test_it_ends_when_told_to(committed: None) -> None:
    board = Board(None)
    board.begin()
    began = time.monotonic()

    board.stop()

    assert board._thread is not None
    assert not board._thread.is_alive()
    assert time.monotonic() - began < PATIENCE_SECONDS


def test_of_two_operators_at_once_one_wins(committed: None) -> None:
    made, outcomes = switch(), []

    def act(name: str) -> None:
        try:
            changing.turn_off(made, User.objects.get(username=name), WHY, revision=1)
            outcomes.append("off")
        except ConflictError:
            outcomes.append("conflict")
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=(operator(name).username,)) for name in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert sorted(outcomes) == ["conflict", "off"]
    assert list(made.changes.values_list("revision", flat=True)) == [2, 1]
