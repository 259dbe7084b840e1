"""Filters and single steps of aggregation, where a server would only be in the way."""

import pytest

from demo.cloud.aggregation import without_gaps
from demo.cloud.faults import RefusalError
from demo.cloud.filters import parsed
from demo.cloud.store import KEPT_POINTS, Point, Points
from demo.cloud.time_series import KEPT_PAGES, Quota, Rest

TYPE = "redis.googleapis.com/commands/calls"
RESOURCE = {"project_id": "shop", "node_id": "node-0"}


def suits(clause: str, **labels: str) -> bool:
    return parsed(f'metric.type = "{TYPE}" AND {clause}').suits("redis_instance", RESOURCE, labels)


def test_it_reads_the_one_type() -> None:
    assert parsed(f'metric.type="{TYPE}"').type == TYPE
    assert parsed(f'resource.type = "x" AND metric.type = one_of("{TYPE}")').type == TYPE


@pytest.mark.parametrize("text", ["", 'metric.type = "a" AND metric.type = "b"', 'metric.type = one_of("a", "b")'])
def test_it_wants_one_type_alone(text: str) -> None:
    with pytest.raises(RefusalError, match="single metric type"):
        _ = parsed(text).type


@pytest.mark.parametrize(
    "text",
    [
        "metric.type",
        'metric.type = "a',
        'metric.type = "a" AND',
        'metric.type = "a" ANDmetric.labels.b = "c"',
        'metric.type != "a"',
        'metric.type = any_of("a")',
        'metric.type = "a" resource.type = "b"',
    ],
)
def test_it_refuses_what_it_cannot_read(text: str) -> None:
    with pytest.raises(RefusalError, match="could not parse"):
        _ = parsed(text).type


def test_every_clause_must_hold() -> None:
    assert suits('metric.labels.cmd = "get" AND resource.labels.node_id = "node-0"', cmd="get")
    assert not suits('metric.labels.cmd = "get" AND resource.labels.node_id = "node-1"', cmd="get")


def test_a_label_that_is_missing_suits_nothing() -> None:
    assert not suits('metric.labels.cmd = ""')


def test_a_prefix_is_no_equality() -> None:
    assert suits('metric.labels.cmd = starts_with("ge")', cmd="get")
    assert not suits('metric.labels.cmd = "ge"', cmd="get")


def test_it_fills_only_gaps_between_values() -> None:
    assert without_gaps({0: 4.0, 4: 0.0}) == {0: 4.0, 1: 3.0, 2: 2.0, 3: 1.0, 4: 0.0}
    assert without_gaps({2: 1.0}) == {2: 1.0}


def test_old_points_make_room() -> None:
    points = Points()
    points.add(TYPE, "redis_instance", RESOURCE, {}, *(Point(n, n, n) for n in range(KEPT_POINTS + 10)))

    ((_, kept),) = points.matching(parsed(f'metric.type = "{TYPE}"'), -1, 1e9)

    assert (len(kept), kept[0].value) == (KEPT_POINTS, 10)


def test_a_quota_begins_anew_each_minute() -> None:
    quota = Quota(per_minute=1)
    quota.take("shop", 59.0)

    quota.take("shop", 60.0)

    with pytest.raises(RefusalError, match="QueryRequestsPerMinutePerProject"):
        quota.take("shop", 61.0)


def test_an_old_page_is_forgotten() -> None:
    rest = Rest()
    first = rest.put([], "By")
    assert rest.take(first) == ([], "By")

    for _ in range(KEPT_PAGES):
        rest.put([], "By")

    with pytest.raises(RefusalError, match="pageToken"):
        rest.take(first)
