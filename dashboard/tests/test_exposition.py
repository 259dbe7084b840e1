"""/metrics and /metrics/fleet."""

import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import Role
from accounts.tests.cast import bearer_of, client_of
from collectors import samples
from collectors.metrics.detail import DETAIL_NAMES
from collectors.metrics.exporter_names import NAMES, RARE_NAMES
from collectors.models import NodeFact, NodeStatus
from collectors.tests.cast import cache_with_nodes, reading
from conftest import needed_program
from dashboard.exposition.text import Family, render
from fleet.models import Node

pytestmark = pytest.mark.django_db


def sampled_now(age_seconds: int = 0, rare: dict[str, float] | None = None, **hot: float | bool | None) -> Node:
    cache_with_nodes()
    node = Node.objects.get()
    now = datetime.now(UTC)
    given = reading(node, 0, **hot)
    given.tick, given.detail = int(now.timestamp()) - age_seconds, rare or {}
    samples.write([given])
    NodeStatus.objects.create(node=node, answered_at=now)
    return node


def fleet_page() -> str:
    return client_of().get("/metrics/fleet").content.decode()


def test_it_escapes_labels_and_help() -> None:
    family = Family("a", "gauge", "one\ntwo")
    family.add({"name": 'x"y\\z\n'}, 2)

    assert render([family]) == '# HELP a one\\ntwo\n# TYPE a gauge\na{name="x\\"y\\\\z\\n"} 2.0\n'


def test_it_leaves_out_what_is_not_known() -> None:
    family = Family("a", "gauge", "b")
    family.add({}, None)

    assert render([family]) == ""


@pytest.mark.parametrize("path", ["/metrics", "/metrics/fleet"])
def test_it_wants_a_token_or_a_session(path: str) -> None:
    assert Client().get(path).status_code == 401
    assert Client().get(path, headers={"Authorization": "Bearer sw_wrong"}).status_code == 401
    assert Client().get(path, headers=bearer_of(Role.VIEWER)).status_code == 200
    assert client_of(Role.VIEWER).get(path).status_code == 200


@pytest.mark.parametrize("path", ["/metrics", "/metrics/fleet"])
def test_promtool_accepts_it(path: str) -> None:
    rare = dict.fromkeys((name for name, _, _ in RARE_NAMES), 1.0)
    sampled_now(rare=rare, **dict.fromkeys((column for column, _, _ in NAMES), 1))
    page = client_of().get(path).content

    said = subprocess.run(
        [needed_program("promtool"), "check", "metrics"], input=page, capture_output=True, check=False
    )

    assert (said.returncode, said.stderr.decode()) == (0, "")


def test_it_tells_a_node_under_the_names_of_redis_exporter() -> None:
    sampled_now(used_memory=1_024, used_cpu_user=2_500_000, master_link_up=True)

    page = fleet_page()

    labels = '{instance="127.0.0.1:7010",cache="game",shard="1",role="primary"}'
    assert f"redis_up{labels} 1.0" in page
    assert f"redis_memory_used_bytes{labels} 1024.0" in page
    assert f"redis_cpu_user_seconds_total{labels} 2.5" in page
    assert f"redis_master_link_up{labels} 1.0" in page


def test_it_tells_what_is_read_every_few_minutes_as_well() -> None:
    sampled_now(rare={"aof_last_write_status": 0, "rdb_last_save_time": 1_700_000_000}, used_memory=1)

    page = fleet_page()

    labels = '{instance="127.0.0.1:7010",cache="game",shard="1",role="primary"}'
    assert f"redis_aof_last_write_status{labels} 0.0" in page
    assert f"redis_rdb_last_save_timestamp_seconds{labels} 1700000000.0" in page
    assert "redis_aof_enabled" not in page


def test_a_silent_node_tells_nothing_of_minutes_ago() -> None:
    sampled_now(age_seconds=60, rare={"aof_enabled": 1}, used_memory=1)

    assert "redis_aof_enabled" not in fleet_page()


def test_each_name_is_given_once_and_read_from_the_catalogue() -> None:
    exported = [name for _, name, _ in (*NAMES, *RARE_NAMES)]

    assert len(set(exported)) == len(exported)
    assert {name for name, _, _ in RARE_NAMES} <= set(DETAIL_NAMES)


def test_it_never_writes_zero_for_what_is_not_reported() -> None:
    sampled_now(used_memory=1)

    assert "redis_memory_max_bytes" not in fleet_page()


def test_it_leaves_out_a_stale_sample_and_calls_the_node_down() -> None:
    sampled_now(age_seconds=60, used_memory=1)

    page = fleet_page()

    assert "redis_memory_used_bytes" not in page
    assert 'role="primary"} 0.0' in page


def test_it_carries_text_fields_as_labels() -> None:
    node = sampled_now(used_memory=1)
    NodeFact.objects.create(node=node, name="redis_version", value='7"2', since=datetime.now(UTC) - timedelta(1))

    assert 'redis_version="7\\"2"' in fleet_page()


def test_it_can_be_turned_off(settings: Settings) -> None:
    settings.FLEET_METRICS = False

    assert client_of().get("/metrics/fleet").status_code == 404


def test_its_queries_do_not_grow_with_nodes(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    cache_with_nodes(shards=5, replicas=2)
    client = client_of()

    for path in ("/metrics", "/metrics/fleet"):
        with django_assert_max_num_queries(11):
            client.get(path)
