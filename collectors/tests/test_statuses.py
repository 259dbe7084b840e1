"""How polls of nodes went, from one to the next."""

from datetime import UTC, datetime, timedelta

import pytest

from collectors import statuses
from collectors.failures import Cause, ReadError
from collectors.models import NodeStatus, Step
from collectors.tests.cast import cache_with_nodes
from fleet.models import Node

pytestmark = pytest.mark.django_db
START = datetime(2026, 10, 25, 0, 59, tzinfo=UTC)
SILENT, CUT = ReadError(Step.INFO, Cause.SILENT), ReadError(Step.INFO, Cause.CUT, "reset")


@pytest.fixture
def node() -> Node:
    return cache_with_nodes().nodes.get()


def after(node: Node, *results: ReadError | None) -> NodeStatus:
    """Return the status after polls a minute apart."""
    for minutes, result in enumerate(results):
        statuses.record([(node.pk, result)], START + timedelta(minutes=minutes))
    return NodeStatus.objects.get()


def test_a_failure_begins_with_the_first_poll_that_failed(node: Node) -> None:
    status = after(node, None, SILENT, CUT)

    assert (status.answered_at, status.failing_since) == (START, START + timedelta(minutes=1))
    assert (status.failed_cause, status.failed_words, status.polls, status.failures) == (Cause.CUT, "reset", 3, 2)


def test_an_answer_ends_a_failure_and_the_next_one_begins_anew(node: Node) -> None:
    status = after(node, SILENT, None, SILENT)

    assert status.failing_since == START + timedelta(minutes=2)
    assert status.answered_at == START + timedelta(minutes=1)


def test_a_node_that_never_answered_has_no_moment_of_an_answer(node: Node) -> None:
    assert after(node, SILENT, SILENT).answered_at is None
    assert statuses.that_answered([node.pk]) == set()


def test_a_node_that_failed_later_has_answered_all_the_same(node: Node) -> None:
    after(node, None, SILENT)

    assert statuses.that_answered([node.pk, 10**9]) == {node.pk}


def test_a_node_that_was_deleted_meanwhile_costs_the_others_nothing(node: Node) -> None:
    statuses.record([(10**9, SILENT), (node.pk, None)], START)

    assert [status.node_id for status in NodeStatus.objects.all()] == [node.pk]


def test_a_server_cannot_fill_the_table_with_its_words(node: Node) -> None:
    status = after(node, ReadError(Step.INFO, Cause.ERROR_REPLY, "\x00'; DROP TABLE--\x1b" + "x" * 9_999))

    assert len(status.failed_words) == 200
    assert status.failed_words.isprintable()


def test_no_results_change_nothing(node: Node) -> None:
    statuses.record([], START)

    assert not NodeStatus.objects.exists()
