"""What is written once is kept once, whatever comes late, twice or out of bounds."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from collectors import latest, samples
from collectors.metrics.hot import HOT
from collectors.models import NodeFact
from collectors.tests.cast import NOON, cache_with_nodes, reading
from fleet.models import Node

pytestmark = pytest.mark.django_db


def stored() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sample")
        return int(cursor.fetchone()[0])


def test_it_has_a_column_of_the_right_type_for_every_hot_metric() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = 'sample'")
        columns = dict(cursor.fetchall())

    assert columns == {m.name: m.column for m in HOT} | {"at": "timestamptz", "node_id": "int4"}


def test_it_keeps_at_most_64_numbers_a_row() -> None:
    assert len(HOT) <= 64


def test_it_creates_the_partition_that_a_sample_needs() -> None:
    cache_with_nodes()

    written = samples.write([reading(Node.objects.get(), 0, keys=1)])

    assert (written, stored()) == (1, 1)


def test_it_ignores_a_repeated_sample() -> None:
    cache_with_nodes(shards=2)
    first, second = Node.objects.order_by("port")
    samples.write([reading(first, 0, keys=1)])

    written = samples.write([reading(first, 0, keys=99), reading(second, 0, keys=2), reading(second, 0, keys=3)])

    assert (written, stored()) == (1, 2)
    assert latest.nodes()[first.pk].keys == 1


def test_it_stores_a_late_sample_without_touching_the_latest_values() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    samples.write([reading(node, 60, keys=7)])

    samples.write([reading(node, 30, keys=3)])

    assert stored() == 2
    assert latest.nodes()[node.pk].keys == 7


@pytest.mark.parametrize("offset", [timedelta(hours=2), timedelta(days=-8)])
def test_it_leaves_out_what_a_jumped_clock_dates(offset: timedelta) -> None:
    cache_with_nodes()
    odd = reading(Node.objects.get(), 0, keys=1)
    odd.tick = int((datetime.now(UTC) + offset).timestamp())

    assert samples.write([odd]) == 0


def test_it_keeps_every_value_exactly() -> None:
    cache_with_nodes()
    node = Node.objects.get()

    samples.write([reading(node, 0, used_memory=2**53 + 1, used_cpu_user=123_456_789_012_345, is_primary=True)])

    newest = latest.nodes()[node.pk]
    assert (newest.used_memory, newest.used_cpu_user, newest.keys) == (2**53 + 1, 123_456_789_012_345, None)


def test_it_stores_details_by_their_slots() -> None:
    cache_with_nodes()
    given = reading(Node.objects.get())
    given.detail = {"hz": 10.0, "a_field_of_the_future": 1.0}

    samples.write([given])

    with connection.cursor() as cursor:
        cursor.execute("SELECT numbers[%s] FROM detail", [samples.DETAIL_SLOT["hz"] + 1])
        assert cursor.fetchall() == [(10.0,)]


def test_it_keeps_the_history_of_a_fact_by_its_changes() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    for seconds, run_id in ((0, "a"), (15, "a"), (30, "b")):
        given = reading(node, seconds)
        given.facts = {"run_id": run_id}
        samples.write([given])

    facts = list(NodeFact.objects.order_by("since").values_list("value", "since", "until"))

    start, change = (datetime.fromtimestamp(NOON + s, UTC) for s in (0, 30))
    assert facts == [("a", start, change), ("b", change, None)]


def test_it_does_not_let_an_old_fact_replace_a_newer_one() -> None:
    cache_with_nodes()
    node = Node.objects.get()
    for seconds, version in ((60, "9.1"), (0, "8.0")):
        given = reading(node, seconds)
        given.facts = {"redis_version": version}
        samples.write([given])

    assert NodeFact.objects.get(until=None).value == "9.1"
