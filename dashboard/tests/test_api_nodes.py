import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import bearer_of
from collectors import samples
from collectors.causes import sentence_of
from collectors.models import NodeStatus
from collectors.tests.cast import cache_with_nodes, noon, reading
from dashboard.tests.api import ROOT, call

pytestmark = pytest.mark.django_db


def test_it_shows_roles_shards_and_newest_values() -> None:
    cache = cache_with_nodes(replicas=1)
    samples.write([reading(node, used_memory=100, used_cpu_sys=1_500_000) for node in cache.nodes.all()])

    primary, replica = call(Role.VIEWER, "get", "/caches/game/nodes").json()["nodes"]

    assert (primary["role"], replica["role"], primary["shard"]) == ("primary", "replica", 1)
    assert (primary["latest"]["used_memory"], primary["latest"]["used_cpu_sys"]) == (100, 1.5)
    assert primary["sampled_at"].startswith(noon().isoformat()[:19])


def test_it_says_null_where_nothing_is_known() -> None:
    cache_with_nodes()

    node = call(Role.VIEWER, "get", "/caches/game/nodes").json()["nodes"][0]

    assert (node["answered_at"], node["sampled_at"], node["latest"]) == (None, None, {})


def test_it_says_why_a_node_does_not_answer() -> None:
    node = cache_with_nodes().nodes.get()
    NodeStatus.objects.create(node=node, failing_since=noon(), failed_step="connect", failed_cause="refused")

    shown = call(Role.VIEWER, "get", "/caches/game/nodes").json()["nodes"][0]

    assert (shown["failed_step"], shown["failed_reason"]) == ("connect", sentence_of("refused", ""))


def test_it_leaves_out_nodes_that_left() -> None:
    cache = cache_with_nodes(shards=2)
    cache.nodes.filter(shard__number=1).update(left_at=timezone.now())

    assert len(call(Role.VIEWER, "get", "/caches/game/nodes").json()["nodes"]) == 1


def test_it_needs_the_same_queries_for_many_nodes(django_assert_max_num_queries: pytest.FixtureRequest) -> None:
    cache_with_nodes(shards=30)
    headers = bearer_of()

    with django_assert_max_num_queries(5):  # type: ignore[operator]
        Client().get(f"{ROOT}/caches/game/nodes", headers=headers)
