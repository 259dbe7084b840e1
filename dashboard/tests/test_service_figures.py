"""What pages, findings and the API show of Cloud Monitoring's figures."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts.measures import is_service
from collectors.cloud import agreement
from collectors.cloud.agreement import Disagreement, compared
from collectors.cloud.catalogue import COLLECTED
from collectors.cloud.feed import CloudFeed
from collectors.cloud.latest import Standing
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.products import Product
from collectors.cloud.reading import Place
from collectors.cloud.summaries import refresh
from collectors.series import Line, Series
from collectors.tests.cloud_cast import PROJECT, instance, minutes
from dashboard import watched as watching
from dashboard.findings import State, reach, service
from dashboard.overview import Row
from dashboard.service_charts import SERVICE_CHARTS
from dashboard.tests.cast import NOW, summary, watched
from dashboard.watched import Watched
from fleet.models import Cache, Reach

STANDING = Standing(PROJECT, NOW, None, NOW, "", "")
AWAY = replace(STANDING, failing_since=NOW - timedelta(minutes=5), cause="unreachable", words="no route")


@pytest.fixture
def sessions(db: None) -> CloudInstance:
    now = timezone.now()
    CloudFeed.objects.create(project_id=PROJECT, answered_at=now, newest_at=now)
    owner = instance(CloudProject.objects.create(project_id=PROJECT))
    minutes(
        owner,
        end=now,
        used_memory=[50.0] * 5,
        maxmemory=[100.0] * 5,
        memory_maximum_utilization=[0.5] * 5,
        connected_clients=[7.0] * 5,
        commands_per_second=[1_000.0] * 5,
        main_thread_cpu_ratio=[0.25] * 5,
    )
    refresh([owner.pk], now)
    return owner


def page(owner: CloudInstance, path: str = "") -> str:
    assert owner.cache
    answer = client_of(Role.VIEWER).get(path or f"/caches/{owner.cache.name}/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_page_of_a_cache_that_only_the_service_tells_of_shows_its_figures(sessions: CloudInstance) -> None:
    html = page(sessions)

    assert "figures from Cloud Monitoring, each minute" in html
    assert "25%" in html
    assert 'data-chart="service-cpu"' in html
    assert 'data-chart="cpu"' not in html


def test_the_charts_of_the_service_name_their_source_and_its_age(sessions: CloudInstance) -> None:
    html = page(sessions)

    assert 'id="service-charts">Cloud Monitoring' in html
    assert "newest point" in html
    assert "redis.googleapis.com/stats/memory/usage" in html


def test_a_cache_whose_nodes_are_read_has_both(sessions: CloudInstance) -> None:
    assert sessions.cache
    type(sessions.cache).objects.update(reach=Reach.NODES)

    html = page(sessions)

    assert 'data-chart="service-cpu"' in html
    assert 'data-chart="cpu"' in html


def test_a_cache_without_a_point_says_so(sessions: CloudInstance) -> None:
    sessions.places.all().delete()

    assert "no point in the last day" in page(sessions)


def test_the_fleet_shows_the_service_s_figures(sessions: CloudInstance) -> None:
    row = page(sessions, "/").split('id="cache-')[1]

    assert "25%" in row


def test_a_new_cache_of_the_service_says_when_its_figures_come() -> None:
    assert "within seven minutes" in Row(Cache(name="new", reach=Reach.SERVICE), None, ()).no_figures


def test_the_api_gives_the_service_s_series_beside_those_of_nodes(sessions: CloudInstance) -> None:
    assert sessions.cache
    url = f"/api/v1/caches/{sessions.cache.name}/series?metric=service_used_memory,used_memory"

    found = client_of(Role.VIEWER).get(url).json()["series"]

    assert [(one["metric"], one["source"]) for one in found] == [
        ("service_used_memory", "Cloud Monitoring"),
        ("used_memory", "nodes"),
    ]
    assert 50.0 in found[0]["lines"][0]["mean"]


def test_the_api_gives_a_line_a_place(sessions: CloudInstance) -> None:
    assert sessions.cache
    url = f"/api/v1/caches/{sessions.cache.name}/series?metric=service_used_memory&by=node"

    (found,) = client_of(Role.VIEWER).get(url).json()["series"]

    assert [line["label"] for line in found["lines"]] == ["primary"]


def test_the_api_lists_the_service_s_metrics(db: None) -> None:
    found = client_of(Role.VIEWER).get("/api/v1/metrics").json()["metrics"]

    kinds = {one["name"]: one["kind"] for one in found}
    assert kinds["service_used_memory"] == "service"


def test_the_form_of_a_rule_offers_the_service_s_metrics(db: None) -> None:
    html = client_of(Role.OPERATOR).get("/rules/new/").content.decode()

    assert 'value="service_cpu_utilization"' in html


def test_every_chart_of_the_service_has_lines_of_known_metrics() -> None:
    names = {line.metric for chart in SERVICE_CHARTS for line in chart.lines}
    names |= {metric for chart in SERVICE_CHARTS for metric, _label in chart.by_node}

    assert all(is_service(name) for name in names)


@pytest.mark.parametrize("product", list(Product))
def test_every_product_has_charts_of_memory_cpu_and_connections(product: Product, db: None) -> None:
    CloudFeed.objects.create(project_id=PROJECT)
    owner = instance(CloudProject.objects.create(project_id=PROJECT), product)

    html = page(owner)

    assert all(f'data-chart="service-{key}"' in html for key in ("memory", "cpu", "connections", "commands"))


def remote(latest_at: datetime = NOW, **fields: object) -> Watched:
    seen = watched(latest=summary(at=latest_at))
    seen.cache.reach = Reach.SERVICE
    return replace(seen, **({"feed": STANDING} | fields))  # type: ignore[arg-type]


def test_a_service_that_does_not_answer_is_a_warning_where_nobody_else_tells() -> None:
    found = service.monitoring_away(remote(feed=AWAY))

    assert found
    assert found.state is State.WARNING
    assert f"Cloud Monitoring of project {PROJECT} has not answered since" in found.sentence
    assert "Google cannot be reached from here. Check DNS" in found.sentence


def test_the_age_of_a_silence_is_that_of_the_time_it_names() -> None:
    feed = replace(AWAY, answered_at=NOW - timedelta(minutes=7))

    found = service.monitoring_away(remote(feed=feed))

    assert found
    assert found.figure == "7 min"


def test_a_cache_that_lost_its_project_is_read_by_nobody() -> None:
    found = service.monitoring_gone(remote(feed=None))

    assert found
    assert "Add its project" in found.sentence


def test_a_cache_with_a_project_or_with_nodes_is_read() -> None:
    assert service.monitoring_gone(remote()) is None
    assert service.monitoring_gone(watched()) is None


def test_a_service_that_does_not_answer_is_a_notice_where_nodes_are_read() -> None:
    found = service.monitoring_away(replace(watched(), feed=AWAY))

    assert found
    assert found.state is State.NOTICE


def test_a_service_that_never_answered_says_so() -> None:
    found = service.monitoring_away(remote(feed=replace(AWAY, answered_at=None)))

    assert found
    assert "has never answered" in found.sentence


def test_one_round_that_failed_is_no_finding() -> None:
    assert service.monitoring_away(remote(feed=replace(AWAY, failing_since=NOW - timedelta(seconds=90)))) is None


def test_a_service_that_answers_is_no_finding() -> None:
    assert service.monitoring_away(remote()) is None


def test_a_cache_that_the_service_forgot_is_told() -> None:
    found = service.monitoring_silent(remote(NOW - timedelta(minutes=30)))

    assert found
    assert "has had no figures" in found.sentence


def test_a_whole_project_without_figures_asks_for_our_clock() -> None:
    silent = replace(STANDING, newest_at=NOW - timedelta(minutes=20))

    found = service.monitoring_silent(remote(NOW - timedelta(minutes=20), feed=silent))

    assert found
    assert "is the clock of this machine ahead?" in found.sentence


def test_figures_that_are_as_late_as_the_service_hides_them_are_fine() -> None:
    seen = remote(NOW - timedelta(minutes=7))

    assert service.monitoring_silent(seen) is None
    assert not seen.is_stale


def test_old_figures_of_the_service_are_not_blamed_on_our_polling() -> None:
    assert reach.stale(remote(NOW - timedelta(minutes=30))) is None


def test_a_silent_cache_is_one_finding_while_the_service_is_away() -> None:
    seen = remote(NOW - timedelta(minutes=30), feed=AWAY)

    assert service.monitoring_silent(seen) is None


def told(*values: tuple[str, float]) -> list[tuple[Place, float]]:
    return [(Place(number, 1, "", role), value) for number, (role, value) in enumerate(values)]


def measured(metric: str, label: str, *values: float | None) -> Series:
    return Series(metric, "", "raw", 0, 15, len(values), [Line(label, list(values))])


def test_figures_that_agree_are_no_disagreement() -> None:
    assert compared("connected_clients", told(("primary", 100), ("replica", 5)), measured("", "sum", 110, 111)) is None


def test_figures_that_differ_by_far_are_a_disagreement() -> None:
    found = compared("connected_clients", told(("primary", 300)), measured("", "sum", 100, 102))

    assert found == Disagreement("connected_clients", "connections", 300, 101)


def test_what_changes_fast_by_itself_is_no_disagreement() -> None:
    assert compared("connected_clients", told(("primary", 300)), measured("", "sum", 50, 290)) is None


def test_small_amounts_are_no_disagreement() -> None:
    assert compared("connected_clients", told(("primary", 2)), measured("", "sum", 9, 9)) is None


def test_keys_are_compared_on_primaries_alone() -> None:
    assert compared("keys", told(("primary", 10_000), ("replica", 10_000)), measured("", "sum", 10_000)) is None


def test_shares_are_compared_by_the_highest_node() -> None:
    found = compared("memory_used_ratio", told(("primary", 0.9)), measured("", "max", 0.3))

    assert found
    assert found.size == pytest.approx(2 / 3)


def test_what_one_of_both_does_not_tell_is_no_disagreement() -> None:
    assert compared("keys", [], measured("", "sum", 10_000)) is None
    assert compared("keys", told(("primary", 10_000)), measured("", "sum", None)) is None


def test_every_figure_that_must_agree_can_be_compared_or_is_left_out() -> None:
    compared_names = {metric.same_as for metric in COLLECTED if agreement.comparable(metric.same_as)}

    assert {"connected_clients", "memory_used_ratio", "keys"} <= compared_names


def test_the_page_says_what_differs(sessions: CloudInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sessions.cache
    type(sessions.cache).objects.update(reach=Reach.NODES)
    found = Disagreement("connected_clients", "connections", 300, 101)
    monkeypatch.setattr(agreement, "disagreements", lambda cache, now: [found])

    html = page(sessions)

    assert "Cloud Monitoring says 300 connections for connected_clients, its nodes say 101 connections" in html


def test_agreement_is_looked_at_once_a_minute(sessions: CloudInstance, django_assert_num_queries: object) -> None:
    assert sessions.cache
    agreement.disagreements(sessions.cache, timezone.now())

    with django_assert_num_queries(0):  # type: ignore[operator]
        agreement.disagreements(sessions.cache, timezone.now())


def test_how_the_service_answers_is_known_on_pages(sessions: CloudInstance) -> None:
    assert sessions.cache
    feed = watching.newest_of(sessions.cache).feed

    assert feed
    assert feed.project_id == PROJECT


@pytest.mark.parametrize(("lag", "words"), [(None, ("not reported", "none")), (0, ("in sync", "ok"))])
def test_replicas_that_only_the_service_knows_are_not_said_to_be_missing(
    lag: int | None, words: tuple[str, str]
) -> None:
    row = Row(Cache(name="far", reach=Reach.SERVICE), summary(replicas=0, replication_lag_bytes=lag), ())

    assert row.replication == words
