"""Entries of slow logs in the database: gaps, restarts, bounds, groups."""

from datetime import timedelta

import pytest
from django.utils import timezone

from collectors import slowlog
from collectors.models import SlowEntry, SlowMark
from collectors.slowlog import NodeSlowCalls, SlowFilter
from collectors.source import SlowCall
from collectors.tests.cast import cache_with_nodes
from fleet.models import Node

pytestmark = pytest.mark.django_db
NOW = int(timezone.now().timestamp())


def call(number: int, ago: int = 60, amount: int = 20_000, **given: str | int) -> SlowCall:
    known: dict[str, str | int] = {"log": "slow", "command": "GET", "arguments": 1, "key_prefix": "player:*"}
    return SlowCall(entry_id=number, started_at=NOW - ago, amount=amount, **known | given)  # type: ignore[arg-type]


def keep(node: Node, *calls: SlowCall) -> None:
    slowlog.write([NodeSlowCalls(node.pk, calls)])


def missed() -> list[tuple[int, int]]:
    return list(SlowEntry.objects.order_by("started_at", "entry_id").values_list("entry_id", "missed"))


@pytest.fixture
def node() -> Node:
    return cache_with_nodes().nodes.get()


def everything(*nodes: Node) -> SlowFilter:
    now = timezone.now()
    return SlowFilter([node.pk for node in nodes], now - timedelta(days=1), now)


def test_it_keeps_an_entry_once(node: Node) -> None:
    keep(node, call(7), call(6))
    keep(node, call(8, ago=30), call(7), call(6))

    assert missed() == [(6, 0), (7, 0), (8, 0)]


def test_it_counts_the_entries_between(node: Node) -> None:
    keep(node, call(6))

    keep(node, call(11, ago=5), call(10, ago=10))

    assert missed() == [(6, 0), (10, 3), (11, 0)]


def test_ids_that_begin_anew_are_a_restart(node: Node) -> None:
    keep(node, call(500))

    keep(node, call(1, ago=5), call(0, ago=6))

    assert missed() == [(500, 0), (0, 0), (1, 0)]


def test_after_a_restart_it_counts_what_was_pushed_out(node: Node) -> None:
    keep(node, call(500))

    keep(node, call(12, ago=5))

    assert missed() == [(500, 0), (12, 12)]


def test_each_log_counts_for_itself(node: Node) -> None:
    keep(node, call(6), call(90, log="large-reply"))

    keep(node, call(7, ago=5), call(91, ago=5, log="large-reply"))

    assert all(number == 0 for _id, number in missed())


def test_it_keeps_the_heaviest_of_too_many(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowlog, "ENTRIES_A_DAY", 3)
    keep(node, *[call(number, amount=number) for number in range(10)])
    keep(node, call(10, ago=5, amount=10))

    mark = SlowMark.objects.get()

    assert set(SlowEntry.objects.values_list("amount", flat=True)) == {7, 8, 9}
    assert (mark.kept, mark.dropped, mark.newest_id) == (3, 8, 10)


def test_it_believes_no_clock_that_is_far_off(node: Node) -> None:
    keep(node, call(1, ago=-3 * 86_400), call(2, ago=400 * 86_400))

    assert not SlowEntry.objects.exists()
    assert not SlowMark.objects.exists()


def test_a_node_that_was_removed_is_passed_over(node: Node) -> None:
    slowlog.write([NodeSlowCalls(node.pk + 999, [call(1)]), NodeSlowCalls(node.pk, [call(1)])])

    assert SlowEntry.objects.get().node == node


def test_it_groups_over_nodes() -> None:
    first, second = cache_with_nodes(2).nodes.all()
    keep(first, call(1, amount=10_000), call(2, amount=30_000, arguments=5))
    keep(first, call(3, command="INFO", arguments=0, key_prefix=""))
    keep(second, call(1, amount=50_000))

    top, other = slowlog.groups(everything(first, second))

    assert (top.shape, top.key_prefix, top.count, top.nodes) == ("GET ×1–5", "player:*", 3, 2)
    assert (top.largest, top.total) == (50_000, 90_000)
    assert (other.shape, other.count) == ("INFO", 1)


def test_it_forgets_what_is_old(node: Node) -> None:
    keep(node, call(1, ago=20 * 86_400), call(2))

    slowlog.forget_old(timezone.now() + timedelta(days=15))

    assert SlowEntry.objects.get().entry_id == 2
