"""Cloud Monitoring as Google's own client sees it in the emulator."""

from typing import Any

import grpc
import pytest
from google.api.metric_pb2 import MetricDescriptor
from google.api_core import exceptions
from google.cloud.monitoring_v3 import ListTimeSeriesRequest

from collectors.cloud.catalogue import COLLECTED
from collectors.cloud.metric_types import MetricType, metric_types
from collectors.cloud.products import Product
from demo.cloud.emulator import Emulator
from demo.tests.cloud import (
    CALLS,
    CONNECTED,
    NOW,
    PROJECT,
    SECONDS,
    BareClients,
    Clock,
    add_points,
    aggregation,
    resource_name,
)

INSTANCE, NODE = "resource.labels.instance_id", "resource.labels.node_id"
RATIO = "redis.googleapis.com/stats/memory/usage_ratio"
IN_PROGRESS = "redis.googleapis.com/persistence/rdb/bgsave_in_progress"


def values(series: Any) -> list[float]:
    return [getattr(point.value, point.value._pb.WhichOneof("value")) for point in series.points]


def ends(series: Any) -> list[float]:
    return [point.interval.end_time.timestamp() - NOW for point in series.points]


def kind_name(series: Any) -> str:
    return str(MetricDescriptor.MetricKind.Name(series.metric_kind))


def type_name(series: Any) -> str:
    return str(MetricDescriptor.ValueType.Name(series.value_type))


def only(pager: Any) -> Any:
    (series,) = pager
    return series


def descriptors(google: BareClients, **request: Any) -> list[Any]:
    pager = google.metrics.list_metric_descriptors(request={"name": f"projects/{PROJECT}", **request}, timeout=SECONDS)
    return list(pager)


def test_it_hides_points_until_their_delay_has_passed(google: BareClients, emulator: Emulator) -> None:
    clock = emulator.clock
    assert isinstance(clock, Clock)
    emulator.metrics.delay = 300
    add_points(emulator, *range(10))

    assert ends(only(google.series())) == [-300, -360, -420, -480, -540]
    clock.now = NOW + 60
    assert ends(only(google.series()))[0] == -240


def test_it_shows_nothing_while_everything_is_hidden(google: BareClients, emulator: Emulator) -> None:
    emulator.metrics.delay = 300
    add_points(emulator, 1, 2, 3)

    assert list(google.series()) == []


def test_it_gives_the_newest_point_first(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, 2, 3)

    series = only(google.series())

    assert values(series) == [3, 2, 1]
    assert ends(series) == [0, -60, -120]


def test_it_leaves_out_the_start_of_the_interval_and_takes_in_its_end(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, 2, 3)

    assert values(only(google.series(seconds=120))) == [3, 2]


def test_it_gives_a_point_for_one_moment(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, 2, 3)

    assert list(google.series(interval={"end_time": {"seconds": int(NOW) + 30}})) == []


def test_it_counts_points_when_it_makes_pages(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, 2, 3, node="node-0")
    add_points(emulator, 4, 5, 6, node="node-1")

    pages = list(google.series(page_size=4).pages)

    assert [[values(series) for series in page.time_series] for page in pages] == [[[3, 2, 1], [6]], [[5, 4]]]


def test_it_splits_a_series_over_pages_under_the_same_labels(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, *range(5))

    found = list(google.series(page_size=2))

    assert [values(series) for series in found] == [[4, 3], [2, 1], [0]]
    assert len({tuple(sorted(series.resource.labels.items())) for series in found}) == 1


def test_it_answers_all_pages_as_of_the_first(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, 2, 3)
    pages = iter(google.series(page_size=2).pages)
    next(pages)

    add_points(emulator, 9, ends=NOW - 30)

    assert [values(series) for series in next(pages).time_series] == [[1]]


def test_it_refuses_a_page_that_it_never_gave(google: BareClients) -> None:
    with pytest.raises(exceptions.InvalidArgument, match="pageToken"):
        list(google.series(page_token="second"))


def test_it_counts_series_when_it_gives_their_heads_alone(google: BareClients, emulator: Emulator) -> None:
    for node in ("node-0", "node-1", "node-2"):
        add_points(emulator, 1, 2, 3, node=node)

    pages = list(google.series(view=ListTimeSeriesRequest.TimeSeriesView.HEADERS, page_size=2).pages)

    assert [len(page.time_series) for page in pages] == [2, 1]
    assert not any(series.points for page in pages for series in page.time_series)


def test_it_tells_the_unit_on_pages(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, 2, type_="redis.googleapis.com/stats/network_traffic")

    plain = next(iter(google.series(type_="redis.googleapis.com/stats/network_traffic", page_size=1).pages))
    rate = next(
        iter(
            google.series(
                type_="redis.googleapis.com/stats/network_traffic", aggregation=aggregation("ALIGN_RATE")
            ).pages
        )
    )

    assert (plain.unit, rate.unit) == ("By", "By/s")


def test_it_may_say_that_an_answer_is_partial(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1)
    emulator.metrics.execution_errors = ["A part of the data could not be read in time."]

    page = next(iter(google.series().pages))

    assert [error.message for error in page.execution_errors] == emulator.metrics.execution_errors
    assert len(page.time_series) == 1


def test_it_answers_nothing_for_a_metric_that_it_does_not_know(google: BareClients) -> None:
    pages = list(google.series(type_="redis.googleapis.com/stats/luck").pages)

    assert [list(page.time_series) for page in pages] == [[]]


def test_it_answers_nothing_for_a_metric_that_vanished(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1)

    emulator.points.forget(CONNECTED)

    assert list(google.series()) == []


def test_it_shows_a_project_its_own_series_alone(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1)

    assert list(google.series(name="projects/another")) == []


def test_it_answers_for_the_projects_of_a_metrics_scope(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1)
    emulator.metrics.scopes["scoping"] = {PROJECT, "another"}

    series = only(google.series(name="projects/scoping"))

    assert series.resource.labels["project_id"] == PROJECT


def test_it_sees_the_routing_header_of_the_client(google: BareClients, emulator: Emulator) -> None:
    list(google.series())

    assert emulator.asked("ListTimeSeries")[0].params == f"name=projects/{PROJECT}"


def test_it_denies_with_the_name_of_the_permission(google: BareClients, emulator: Emulator) -> None:
    emulator.faults.deny("MetricService/ListTimeSeries")

    with pytest.raises(exceptions.PermissionDenied, match=r"monitoring\.timeSeries\.list"):
        list(google.series())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"filter": ""}, "single metric type"),
        ({"filter": 'resource.type = "redis_instance"'}, "single metric type"),
        ({"filter": 'metric.type = starts_with("redis")'}, "single metric type"),
        ({"filter": 'metric.type > "redis"'}, "could not parse"),
        ({"filter": f'metric.type = "{CONNECTED}" OR resource.type = "x"'}, "could not parse"),
        ({"order_by": "value"}, "orderBy"),
        ({"interval": {}}, "endTime"),
        ({"seconds": -60}, "startTime"),
        ({"aggregation": aggregation("ALIGN_MEAN", seconds=30)}, "at least 60 seconds"),
        ({"aggregation": aggregation("ALIGN_NONE", "REDUCE_SUM")}, "not aligned"),
        ({"aggregation": aggregation("ALIGN_RATE")}, "cannot be applied"),
        ({"aggregation": aggregation("ALIGN_FRACTION_TRUE")}, "cannot be applied"),
        ({"type_": IN_PROGRESS, "aggregation": aggregation("ALIGN_MEAN")}, "cannot be applied"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_refuses_what_the_service_refuses(google: BareClients, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(exceptions.InvalidArgument, match=words):
        list(google.series(**changes))


def test_it_admits_what_it_cannot_compute(google: BareClients) -> None:
    with pytest.raises(exceptions.MethodNotImplemented, match="ALIGN_STDDEV"):
        list(google.series(aggregation=aggregation("ALIGN_STDDEV")))


def test_it_filters_by_labels(google: BareClients, emulator: Emulator) -> None:
    for command in ("get", "set", "hget"):
        add_points(emulator, 5, type_=CALLS, cmd=command)
    of_type = f'metric.type = "{CALLS}"'

    def commands(clause: str) -> list[str]:
        return [series.metric.labels["cmd"] for series in google.series(filter=f"{of_type} AND {clause}")]

    assert commands('metric.labels.cmd = "get"') == ["get"]
    assert commands('metric.label.cmd = one_of("get", "set")') == ["get", "set"]
    assert commands('metric.labels.cmd = starts_with("h") AND resource.labels.node_id="node-0"') == ["hget"]
    assert commands('resource.type = "memcache_node"') == []


@pytest.mark.parametrize(
    ("aligner", "expected"),
    [("ALIGN_MEAN", 2.0), ("ALIGN_MAX", 4), ("ALIGN_MIN", 0), ("ALIGN_SUM", 6), ("ALIGN_NEXT_OLDER", 4)],
)
def test_it_makes_one_level_of_a_period(google: BareClients, emulator: Emulator, aligner: str, expected: float) -> None:
    add_points(emulator, 0, 2, 4, seconds=20)

    series = only(google.series(aggregation=aggregation(aligner)))

    assert values(series) == [expected]
    assert ends(series) == [0]
    assert type_name(series) == ("DOUBLE" if aligner == "ALIGN_MEAN" else "INT64")


def test_it_makes_a_rate_of_what_was_counted(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 60, 120, type_=CALLS, cmd="get")

    series = only(google.series(type_=CALLS, aggregation=aggregation("ALIGN_RATE")))

    assert values(series) == [2.0, 1.0]
    assert (kind_name(series), type_name(series)) == ("GAUGE", "DOUBLE")


def test_it_draws_a_line_over_gaps_of_a_rate(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 60, type_=CALLS, ends=NOW - 180)
    add_points(emulator, 240, type_=CALLS)

    series = only(google.series(type_=CALLS, aggregation=aggregation("ALIGN_RATE")))

    assert values(series) == [4.0, 3.0, 2.0, 1.0]


def test_it_leaves_gaps_in_a_level(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, ends=NOW - 180)
    add_points(emulator, 4)

    assert ends(only(google.series(aggregation=aggregation("ALIGN_MEAN")))) == [0, -180]


def test_it_tells_the_span_of_what_was_counted(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 60, type_=CALLS)

    series = only(google.series(type_=CALLS, aggregation=aggregation("ALIGN_DELTA")))

    assert (kind_name(series), values(series)) == ("DELTA", [60])
    assert (series.points[0].interval.end_time - series.points[0].interval.start_time).total_seconds() == 60


def test_it_makes_a_share_of_claims(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, True, False, False, True, type_=IN_PROGRESS, seconds=15)

    series = only(google.series(type_=IN_PROGRESS, aggregation=aggregation("ALIGN_FRACTION_TRUE")))

    assert values(series) == [0.5]
    assert type_name(series) == "DOUBLE"


def test_it_counts_periods_back_from_the_end_of_the_interval(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, 2, 3)

    series = only(google.series(end=NOW + 7, aggregation=aggregation("ALIGN_MEAN")))

    assert ends(series) == [7, -53, -113]


@pytest.mark.parametrize(
    ("reducer", "expected"), [("REDUCE_SUM", 6.0), ("REDUCE_MEAN", 3.0), ("REDUCE_MAX", 4.0), ("REDUCE_MIN", 2.0)]
)
def test_it_makes_one_series_of_a_group(google: BareClients, emulator: Emulator, reducer: str, expected: float) -> None:
    add_points(emulator, 2, node="node-0")
    add_points(emulator, 4, node="node-1")

    series = only(google.series(aggregation=aggregation("ALIGN_MEAN", reducer, (INSTANCE,))))

    assert values(series) == [expected]


def test_it_drops_the_labels_that_it_does_not_group_by(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 2)

    series = only(google.series(aggregation=aggregation("ALIGN_MEAN", "REDUCE_SUM", (NODE, "metric.label.role"))))

    assert dict(series.resource.labels) == {"node_id": "node-0"}
    assert dict(series.metric.labels) == {"role": "primary"}
    assert series.resource.type == "redis_instance"


def test_it_keeps_groups_apart_and_in_order(google: BareClients, emulator: Emulator) -> None:
    for node in ("node-1", "node-0"):
        add_points(emulator, 60, type_=CALLS, node=node, cmd="get")
        add_points(emulator, 180, type_=CALLS, node=node, cmd="set")

    found = list(google.series(type_=CALLS, aggregation=aggregation("ALIGN_RATE", "REDUCE_SUM", (NODE,))))

    assert [series.resource.labels["node_id"] for series in found] == ["node-0", "node-1"]
    assert [values(series) for series in found] == [[4.0], [4.0]]


def test_it_adds_up_only_the_nodes_that_have_a_point(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, 2, node="node-0")
    add_points(emulator, 10, node="node-1")

    series = only(google.series(aggregation=aggregation("ALIGN_MEAN", "REDUCE_SUM", (INSTANCE,))))

    assert values(series) == [12.0, 1.0]


def test_it_keeps_ratios_as_they_were_reported(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 0.25, type_=RATIO)

    assert values(only(google.series(type_=RATIO))) == [0.25]


def test_it_computes_everything_that_is_collected(google: BareClients, emulator: Emulator) -> None:
    for metric in COLLECTED:
        wish = aggregation(metric.aligner, metric.reducer, metric.group_by)

        assert list(google.series(type_=metric.type, filter=metric.filter, aggregation=wish)) == []


def test_it_describes_metric_types(google: BareClients) -> None:
    (told,) = descriptors(google, filter=f'metric.type = "{CALLS}"')

    assert (told.type, told.unit, [label.key for label in told.labels]) == (CALLS, "1", ["role", "cmd"])
    assert told.name == f"projects/{PROJECT}/metricDescriptors/{CALLS}"
    assert told.monitored_resource_types == ["redis_instance"]


def test_it_describes_all_types_of_a_prefix_page_by_page(google: BareClients) -> None:
    of_memcached = [of.type for of in metric_types().values() if of.product == Product.MEMCACHED]
    prefix = 'metric.type = starts_with("memcache.googleapis.com/")'

    assert [told.type for told in descriptors(google, filter=prefix, page_size=5)] == of_memcached


def test_it_describes_active_types_alone_when_asked(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1)

    assert [told.type for told in descriptors(google, active_only=True)] == [CONNECTED]


def test_it_describes_a_type_that_is_new(google: BareClients, emulator: Emulator) -> None:
    new = MetricType("redis.googleapis.com/stats/luck", "redis_instance", "GAUGE", "DOUBLE", "1", ("role",), 240)
    emulator.metric_types[new.type] = new

    assert [told.type for told in descriptors(google, filter=f'metric.type = "{new.type}"')] == [new.type]


def test_it_denies_descriptors_too(google: BareClients, emulator: Emulator) -> None:
    emulator.faults.deny("MetricService/ListMetricDescriptors")

    with pytest.raises(exceptions.PermissionDenied, match=r"monitoring\.metricDescriptors\.list"):
        descriptors(google)


def test_it_fails_in_the_middle_of_the_pages(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1, 2, 3)
    pages = iter(google.series(page_size=2).pages)
    next(pages)

    emulator.faults.fail("ListTimeSeries", grpc.StatusCode.INTERNAL, "An internal error occurred.")

    with pytest.raises(exceptions.InternalServerError):
        next(pages)


def test_it_names_the_instance_of_redis_by_its_whole_path(google: BareClients, emulator: Emulator) -> None:
    add_points(emulator, 1)

    assert only(google.series()).resource.labels["instance_id"] == resource_name(Product.REDIS, "carts")
