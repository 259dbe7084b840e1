"""Many incidents of one tick: each costs little, as the first page waits for the last."""

from collections.abc import Sequence

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from alerts import evaluate
from alerts.models import Delivery, Incident
from alerts.route import Route
from alerts.tests.cast import channel
from alerts.tests.judged import Fleet, fleet, rule

pytestmark = pytest.mark.django_db
# What opening one more incident may ask of the database, savepoints among it, and closing one.
OPENING, CLOSING = 18, 15


def queries(fleets: Sequence[Fleet], memory: float) -> int:
    """Let some caches report at one tick; return how many queries it takes to judge and to tell."""
    for one in fleets:
        one.poll(memory, judge=False)
    with CaptureQueriesContext(connection) as asked:
        evaluate.evaluate([one.cache.pk for one in fleets], fleets[0].tick)
    return len(asked)


@pytest.fixture
def crowd() -> list[Fleet]:
    rule()
    Route.objects.create(name="root").channels.add(channel())
    return [fleet(name=f"cache-{number}") for number in range(10)]


def test_one_more_incident_costs_little(crowd: list[Fleet]) -> None:
    few, many = crowd[:2], crowd[2:8]

    assert queries(many, 0.95) - queries(few, 0.95) <= OPENING * (len(many) - len(few))
    assert Incident.objects.count() == Delivery.objects.count() == len(many) + len(few)


def test_one_more_end_costs_little(crowd: list[Fleet]) -> None:
    few, many = crowd[:2], crowd[2:8]
    queries(crowd[:8], 0.95)

    assert queries(many, 0.5) - queries(few, 0.5) <= CLOSING * (len(many) - len(few))
    assert not Incident.objects.open().exists()
