"""Charts and newest figures of the service."""

from datetime import datetime, timedelta

import pytest
from pytest_django.fixtures import Settings

from collectors import latest
from collectors.cloud import cost, rollups, series
from collectors.cloud.feed import CloudFeed
from collectors.cloud.known import services
from collectors.cloud.latest import Standing, latest_of, standings
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.products import Product
from collectors.cloud.summaries import refresh
from collectors.series import RangeError, Series
from collectors.tests.cloud_cast import NOON, PROJECT, instance, minutes
from fleet.models import Cache, Node, Reach, Shard

pytestmark = pytest.mark.django_db
CLIENTS, USED = "service_connected_clients", "service_used_memory"


@pytest.fixture(autouse=True)
def keep(settings: Settings) -> None:
    """Which tier is read depends on what is kept until today, and noon was long ago."""
    settings.RETENTION_RAW_DAYS = settings.RETENTION_5M_DAYS = 36_500


@pytest.fixture
def sessions() -> CloudInstance:
    return instance(CloudProject.objects.create(project_id=PROJECT))


def cache_of(owner: CloudInstance) -> Cache:
    assert owner.cache
    return owner.cache


def read(owner: CloudInstance, name: str, by: str = "cache", span: int = 10, end: datetime = NOON) -> Series:
    start = end - timedelta(minutes=span)
    return series.read(cache_of(owner), [name], start, end, by=by)[0]


def standing_of(owner: CloudInstance) -> Standing:
    return standings(services([owner.cache_id or 0]))[owner.cache_id or 0]


def line(found: Series, label: str) -> list[float | None]:
    return next(one.mean for one in found.lines if one.label == label)


def test_a_series_has_a_point_a_minute_and_names_its_source(sessions: CloudInstance) -> None:
    minutes(sessions, connected_clients=[1, 2, 3])

    found = read(sessions, CLIENTS, span=3)

    assert (found.step, found.unit, found.source) == (60, "connections", "Cloud Monitoring")
    assert line(found, "sum") == [1, 2, 3]


def test_a_gap_stays_a_gap(sessions: CloudInstance) -> None:
    minutes(sessions, connected_clients=[1, None, 3])

    assert line(read(sessions, CLIENTS, span=3), "sum") == [1, None, 3]


def test_minutes_that_are_still_hidden_are_empty(sessions: CloudInstance) -> None:
    minutes(sessions, connected_clients=[1], end=NOON - timedelta(minutes=5))

    assert line(read(sessions, CLIENTS, span=3), "sum") == [None, None, None]


def test_places_make_one_line_each_way(sessions: CloudInstance) -> None:
    minutes(sessions, role="primary", connected_clients=[10])
    minutes(sessions, role="replica", connected_clients=[4])

    found = read(sessions, CLIENTS, span=1)

    assert [line(found, label) for label in ("sum", "max", "min", "mean")] == [[14], [10], [4], [7]]
    assert found.nodes == [2]


def test_by_node_each_place_has_its_own_line(sessions: CloudInstance) -> None:
    minutes(sessions, node="node-0", role="primary", connected_clients=[10])
    minutes(sessions, node="node-1", role="replica", connected_clients=[4])

    lines = read(sessions, CLIENTS, by="node", span=1).lines

    assert [(one.label, one.role, one.mean) for one in lines] == [
        ("node-0 primary", "primary", [10]),
        ("node-1 replica", "replica", [4]),
    ]


CLUSTER_ID = "07c37dfeb235213a872192d90877d0cd55635b91"


def test_a_node_that_its_cluster_tells_of_is_named_by_address_and_shard(sessions: CloudInstance) -> None:
    shard = Shard.objects.create(cache=cache_of(sessions), identity="a", number=3)
    place = {"host": "10.0.0.5", "port": 11001}
    Node.objects.create(cache=cache_of(sessions), identity=CLUSTER_ID, shard=shard, **place)
    minutes(sessions, node=CLUSTER_ID, connected_clients=[1])

    (found,) = read(sessions, CLIENTS, by="node", span=1).lines

    assert (found.label, found.shard, found.whole_label) == ("10.0.0.5:11001 primary", 3, "")


def test_one_that_nobody_knows_keeps_its_whole_name_beside_the_short_one(sessions: CloudInstance) -> None:
    minutes(sessions, node=CLUSTER_ID, connected_clients=[1])
    minutes(sessions, node="node-0", connected_clients=[1])

    lines = read(sessions, CLIENTS, by="node", span=1).lines

    assert {one.label: one.whole_label for one in lines} == {
        "07c37dfeb235… primary": f"{CLUSTER_ID} primary",
        "node-0 primary": "",
    }


def test_one_place_is_read_by_itself(sessions: CloudInstance) -> None:
    first = minutes(sessions, node="node-0", connected_clients=[1, 2])
    minutes(sessions, node="node-1", connected_clients=[7, 8])

    assert series.of_place(first.pk, CLIENTS, NOON - timedelta(minutes=2), NOON) == [1, 2]
    assert series.of_place(first.pk, USED, NOON - timedelta(minutes=2), NOON) == []


def test_the_whole_instance_is_called_by_its_source(sessions: CloudInstance) -> None:
    minutes(sessions, role="", connected_clients=[10])

    assert [one.label for one in read(sessions, CLIENTS, by="node", span=1).lines] == ["Cloud Monitoring"]


def test_a_place_without_the_metric_has_no_line(sessions: CloudInstance) -> None:
    minutes(sessions, used_memory=[10])

    assert read(sessions, CLIENTS, by="node").lines == []


def test_a_long_range_comes_from_rollups_and_its_end_from_samples(sessions: CloudInstance) -> None:
    minutes(sessions, connected_clients=[float(value) for value in range(60)])
    rollups.roll_up(NOON)

    found = read(sessions, CLIENTS, span=12 * 60)

    drawn = [value for value in line(found, "mean") if value is not None]
    assert (found.tier, found.step) == ("5m", 300)
    assert drawn == [2, 7, 12, 17, 22, 27, 32, 37, 42, 47, 52, 57]


def test_a_range_that_ends_before_it_begins_is_refused(sessions: CloudInstance) -> None:
    with pytest.raises(RangeError):
        series.read(cache_of(sessions), [CLIENTS], NOON, NOON)


def test_a_cache_of_another_instance_is_another_series(sessions: CloudInstance) -> None:
    other = instance(sessions.project, short_id="other", uid="other")
    minutes(other, connected_clients=[5])

    assert read(sessions, CLIENTS).lines[0].mean == [None] * 10


def test_nodes_and_service_answer_one_question_in_its_order(sessions: CloudInstance) -> None:
    cache = cache_of(sessions)
    minutes(sessions, connected_clients=[5])

    found = series.read_all(cache, [CLIENTS, "used_memory", USED], NOON - timedelta(minutes=5), NOON)

    assert [(one.metric, one.source) for one in found] == [
        (CLIENTS, "Cloud Monitoring"),
        ("used_memory", "nodes"),
        (USED, "Cloud Monitoring"),
    ]


def test_the_newest_figures_are_given_with_their_place_and_time(sessions: CloudInstance) -> None:
    minutes(sessions, role="primary", connected_clients=[1, 2], used_memory=[8, None])

    found = latest_of([cache_of(sessions).pk], NOON)[cache_of(sessions).pk]

    (clients,), (used,) = found[CLIENTS], found[USED]
    assert (clients.value, clients.at, clients.place.role) == (2, NOON - timedelta(minutes=1), "primary")
    assert (used.value, used.at) == (8, NOON - timedelta(minutes=2))


def test_figures_of_an_hour_ago_are_not_the_newest(sessions: CloudInstance) -> None:
    minutes(sessions, connected_clients=[1], end=NOON - timedelta(hours=1))

    assert latest_of([cache_of(sessions).pk], NOON) == {}


def test_a_cache_that_only_the_service_tells_of_gets_its_summary_from_it(sessions: CloudInstance) -> None:
    minutes(
        sessions,
        role="primary",
        used_memory=[50, 60],
        maxmemory=[100, 100],
        memory_maximum_utilization=[0.5, 0.6],
        main_thread_cpu_ratio=[0.2, 0.3],
        connected_clients=[7, 8],
        commands_per_second=[900, 1000],
    )
    minutes(sessions, role="replica", used_memory=[50, 60], connected_clients=[2, 2], commands_per_second=[1, 1])

    refresh([sessions.pk], NOON)

    (row,) = latest.caches([cache_of(sessions).pk]).values()
    assert (row.used_memory, row.memory_limit_bytes, row.connected_clients) == (60, 100, 10)
    assert (row.memory_used_ratio, row.cpu_ratio, row.commands_per_second) == pytest.approx((0.6, 0.3, 1000))
    assert row.at == NOON - timedelta(minutes=1)
    assert (row.spark_used_memory or [])[-2:] == [50, 60]


def test_a_summary_takes_a_figure_that_comes_later_from_the_minute_before(sessions: CloudInstance) -> None:
    minutes(sessions, used_memory=[50, 60], connected_clients=[7, None])

    refresh([sessions.pk], NOON)

    (row,) = latest.caches([cache_of(sessions).pk]).values()
    assert (row.used_memory, row.connected_clients) == (60, 7)


def test_a_summary_counts_hits_over_all_roles(sessions: CloudInstance) -> None:
    minutes(sessions, role="primary", keyspace_hits_per_second=[60], keyspace_misses_per_second=[40])
    minutes(sessions, role="replica", keyspace_hits_per_second=[90], keyspace_misses_per_second=[10])

    refresh([sessions.pk], NOON)

    (row,) = latest.caches([cache_of(sessions).pk]).values()
    assert row.hit_ratio == pytest.approx(0.75)


def test_a_summary_knows_the_published_limit_of_connections(sessions: CloudInstance) -> None:
    Cache.objects.filter(cloud=sessions).update(service_maxclients=65_000)
    minutes(sessions, connected_clients=[6_500])

    refresh([sessions.pk], NOON)

    (row,) = latest.caches([cache_of(sessions).pk]).values()
    assert row.fullest_maxclients == 65_000
    assert row.connections_used_ratio == pytest.approx(0.1)


def test_memcached_has_its_share_of_memory_from_what_was_bought() -> None:
    owner = instance(CloudProject.objects.create(project_id=PROJECT), Product.MEMCACHED)
    minutes(owner, role="", used_memory=[30], memory_size=[40])

    refresh([owner.pk], NOON)

    (row,) = latest.caches([cache_of(owner).pk]).values()
    assert (row.memory_limit_bytes, row.memory_used_ratio) == (40, 0.75)


def test_a_cache_whose_nodes_are_read_keeps_its_own_summary() -> None:
    owner = instance(CloudProject.objects.create(project_id=PROJECT), reach=Reach.NODES)
    minutes(owner, used_memory=[50])

    assert refresh([owner.pk], NOON) == []
    assert latest.caches([cache_of(owner).pk]) == {}


def test_a_summary_does_not_go_back_in_time(sessions: CloudInstance) -> None:
    minutes(sessions, used_memory=[50, 60])
    refresh([sessions.pk], NOON)

    refresh([sessions.pk], NOON - timedelta(minutes=2))

    (row,) = latest.caches([cache_of(sessions).pk]).values()
    assert row.used_memory == 60


def test_how_a_cache_is_answered_for_is_known_by_its_project(sessions: CloudInstance) -> None:
    CloudFeed.objects.create(project_id=PROJECT, answered_at=NOON, cause="quota", words="used up")

    standing = standing_of(sessions)

    assert (standing.project_id, standing.answered_at) == (PROJECT, NOON)
    assert "used up" in standing.reason


def test_a_scoping_project_answers_for_the_caches_of_others(sessions: CloudInstance) -> None:
    CloudProject.objects.update(metrics_project_id="observe-prod")
    CloudFeed.objects.create(project_id="observe-prod")

    assert standing_of(sessions).project_id == "observe-prod"


def test_a_cache_without_an_instance_has_no_standing(db: None) -> None:
    cache = Cache.objects.create(name="own", address="redis://127.0.0.1:1")

    assert standings(services([cache.pk])) == {}


def test_the_cost_is_an_estimate_of_the_present_pace(sessions: CloudInstance) -> None:
    CloudFeed.objects.create(project_id=PROJECT, answered_at=NOON, month_series=1_000, round_series=1_000)

    found = cost.of(sessions.project)

    assert found == cost.Cost(1_000, 43_200_000, 21.1)


def test_there_is_no_cost_before_the_first_round(sessions: CloudInstance) -> None:
    CloudFeed.objects.create(project_id=PROJECT)

    assert cost.of(sessions.project) is None
