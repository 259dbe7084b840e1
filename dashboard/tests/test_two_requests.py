"""Two requests at once, of which one deletes: the other one finds nothing, and only one is in the audit."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import time, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Model
from django.http import Http404
from django.utils import timezone

from accounts.models import AuditEntry, Role, User
from accounts.tests.cast import person
from alerts import channel_changes, route_changes, rule_changes, window_changes
from alerts.models import Channel, Route, Step, Window
from alerts.route import Tree
from alerts.rule import Override, Rule
from alerts.tests.cast import KEY, channel
from alerts.tests.judged import rule
from dashboard import cache_changes
from dashboard.tests.api import call
from fleet.locking import locked
from fleet.models import Cache
from launcher.waiting import until

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
PATIENCE_SECONDS = 20.0


def branch() -> Route:
    Tree.load()
    return Route.objects.create(name="game", parent=Route.objects.get(), matchers=["cache=game-*"])


def step() -> Step:
    return Step.objects.create(route=branch(), after_seconds=60)


def window() -> Window:
    until_then = timezone.now() + timedelta(days=30)
    return Window.objects.create(
        matchers=["cache=game"], weekdays=[0], starts=time(1), ends=time(2), zone="UTC", until=until_then
    )


def override() -> Override:
    return Override.objects.create(rule=rule(), labels={"env": "test"}, hold=60)


def cache() -> Cache:
    return Cache.objects.create(name="game", address="redis://127.0.0.1:1")


DELETED: dict[str, tuple[Callable[[], Any], Callable[[User, Any], None]]] = {
    "rule": (rule, rule_changes.delete),
    "override": (override, rule_changes.delete_override),
    "channel": (channel, channel_changes.delete),
    "route": (branch, route_changes.delete),
    "step": (step, route_changes.delete_step),
    "window": (window, window_changes.delete),
    "cache": (cache, cache_changes.delete),
}
ROUTE = {"name": "game", "matchers": ["cache=game-*"]}
CHANGED: dict[str, tuple[Callable[[], Any], Callable[[User, Any], object]]] = {
    "rule": (rule, lambda by, row: rule_changes.change(by, row, row.spec)),
    "rule's exception": (
        rule,
        lambda by, row: rule_changes.add_override(by, row, Override(labels={"env": "test"}, hold=60)),
    ),
    "channel": (
        channel,
        lambda by, row: channel_changes.change(by, row, "pager", {"routing_key": KEY}, None, row.revision),
    ),
    "channel's test": (channel, channel_changes.send_test),
    "channel's repair": (channel, channel_changes.mend_by_hand),
    "route": (branch, lambda by, row: route_changes.change(by, row, ROUTE, None)),
    "route's branch": (branch, lambda by, row: route_changes.add(by, row, ROUTE, ())),
    "route's step": (branch, lambda by, row: route_changes.add_step(by, row, 60, [channel()])),
}


def acts() -> list[str]:
    return list(AuditEntry.objects.values_list("action", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize("name", DELETED)
def test_what_is_deleted_twice_is_deleted_once(name: str) -> None:
    make, delete = DELETED[name]
    by, row = person(Role.ADMIN), make()
    same = type(row).objects.get(pk=row.pk)

    delete(by, row)
    with pytest.raises(Http404):
        delete(by, same)

    assert len(acts()) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("name", CHANGED)
def test_what_was_deleted_meanwhile_is_not_found(name: str) -> None:
    make, change = CHANGED[name]
    by, row = person(Role.ADMIN), make()
    type(row).objects.filter(pk=row.pk).delete()

    with pytest.raises(Http404):
        change(by, row)

    assert acts() == []
    assert not type(row).objects.filter(pk=row.pk).exists()


@contextmanager
def held(row: Model) -> Iterator[Model]:
    """Let whoever wants the row wait until the end."""
    with transaction.atomic():
        yield locked(row)


def ask(role: str, method: str, path: str, body: Any = None) -> int:
    """Return the status of a request on a connection of this thread's own."""
    try:
        return int(call(role, method, path, body).status_code)
    finally:
        connection.close()


def waiting(count: int) -> bool:
    def claim() -> bool:
        with connection.cursor() as cursor:
            # Within a transaction the first look counts, unless it is forgotten.
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(WAITING)
            return bool(cursor.fetchone()[0] == count)

    return until(claim, PATIENCE_SECONDS)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["rule", "channel"])
def test_of_two_requests_that_delete_one_finds_nothing(name: str) -> None:
    person(Role.ADMIN)
    row: Rule | Channel = rule() if name == "rule" else channel()
    path = "/rules/memory" if name == "rule" else f"/channels/{row.pk}"

    with ThreadPoolExecutor(2) as pool:
        with held(row):
            asked: list[Future[int]] = [pool.submit(ask, Role.ADMIN, "delete", path) for _ in range(2)]
            assert waiting(2)
        answers = sorted(one.result() for one in asked)

    assert answers == [204, 404]
    assert acts().count(f"{name}.delete") == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["rule", "channel"])
def test_a_change_that_waits_for_a_deletion_finds_nothing(name: str) -> None:
    person(Role.ADMIN)
    row: Rule | Channel = rule() if name == "rule" else channel()
    path = "/rules/memory" if name == "rule" else f"/channels/{row.pk}"
    body = {"text": row.text} if isinstance(row, Rule) else {"name": "other"}

    with ThreadPoolExecutor(1) as pool:
        with held(row) as known:
            asked = pool.submit(ask, Role.ADMIN, "patch", path, body)
            assert waiting(1)
            known.delete()

        assert asked.result() == 404
