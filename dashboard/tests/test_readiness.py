"""Pages of readiness, of one cache and of the fleet, and the same over the API."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.html import strip_tags
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors import samples
from collectors.cloud.feed import CloudPlace
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.service_metrics import SERVICE_METRICS
from collectors.cloud.storing import store
from collectors.keyscan.details import Detail
from collectors.keyscan.models import ScanMetric
from collectors.tests.cast import cache_with_nodes, reading
from dashboard.readiness import RULES
from dashboard.tests.api import call
from dashboard.tests.scan_cast import scanned_cache, stored
from dashboard.tests.service_cast import VALKEY, in_cloud
from dashboard.tests.test_fleet import sampled
from fleet.models import Cache, Node, Reach, Shard

pytestmark = pytest.mark.django_db
GIB = 2**30
# Session, user and navigation; caches, instances, places and figures; nodes, shards, statuses, latest and facts; keys.
FLEET_QUERIES = 13


def page(path: str) -> str:
    answer = client_of(Role.VIEWER).get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def row_of(name: str, path: str = "/caches/game/readiness/") -> str:
    """Return the words of one check."""
    found = re.search(rf'<tr id="check-{name}">(.*?)</tr>', page(path), re.DOTALL)
    assert found
    return " ".join(strip_tags(found[1].split("<details")[0].replace("<", " <")).split()).replace("\u00a0", " ")


def cluster(shards: int = 3, replicas: int = 1) -> Cache:
    cache = cache_with_nodes(shards, replicas)
    sampled(cache, used_memory=GIB, maxmemory=4 * GIB, connected_clients=10)
    return cache


def test_a_page_shows_every_check_with_its_mark_rule_and_source() -> None:
    in_cloud(cluster())

    html = page("/caches/game/readiness/")

    assert len(re.findall(r'<tr id="check-', html)) == len(RULES)
    assert html.count("The rule and its source") == len(RULES)
    assert all(f'href="{source.url}"' in html for rule in RULES for source in rule.pages)


def test_a_mark_has_a_word_beside_its_sign() -> None:
    in_cloud(cluster())

    html = page("/caches/game/readiness/")

    signs = re.findall(r'<b aria-hidden="true">(.)</b> ([^<]+)</span>', html)
    assert ("○", "ready") in signs
    assert ("?", "not known") in signs
    assert {word for _sign, word in signs} <= {"ready", "with care", "not ready", "not known", "does not apply"}


def test_a_figure_names_its_unit_and_who_told_it() -> None:
    in_cloud(cluster())

    assert row_of("replica-memory").startswith("Memory of the fullest node ○ ready 25% INFO of the nodes ·")
    assert "at most 80%" in row_of("replica-memory")


def test_each_smaller_number_of_shards_is_listed() -> None:
    in_cloud(cluster())

    words = row_of("scale-in")

    assert "down to 2 shards" in words
    assert "2 shards: room for 8 GiB, 4.50 GiB wanted, fits" in words
    assert "1 shard: room for 4 GiB, 4.50 GiB wanted, too small" in words


def test_the_biggest_key_leads_to_the_scans() -> None:
    cache = scanned_cache()
    Cache.objects.update(topology="cluster")
    stored(cache, [Detail(b"feed", 200_000_000)])
    ScanMetric.objects.update(at=timezone.now() - timedelta(days=3))

    assert "not ready 191 MiB scan of the keys" in row_of("biggest-key")
    assert "Scanned 3 d ago" in row_of("biggest-key")
    assert 'href="/caches/game/scans/"' in page("/caches/game/readiness/")


def test_a_cache_that_was_never_polled_is_not_known() -> None:
    Cache.objects.create(name="game", address="redis://127.0.0.1:1", topology="cluster")

    html = page("/caches/game/readiness/")

    assert "mark-ready" not in html
    assert "not known" in html


def test_a_cache_by_the_service_alone_is_judged_by_what_google_tells() -> None:
    in_cloud(Cache.objects.create(name="game", address="redis://10.0.0.3:6379", reach=Reach.SERVICE))

    assert "ready set" in row_of("window")
    assert "ready HIGHMEM_MEDIUM" in row_of("node-type")
    assert "not known" in row_of("cpu-primary")
    assert "It cannot be known from here" in row_of("biggest-key")
    assert "/caches/game/scans/" not in page("/caches/game/readiness/")


def test_the_fleet_is_listed_worst_first() -> None:
    in_cloud(cache_with_nodes(3, 1, "well"))
    in_cloud(cache_with_nodes(3, 1, "bare"), name="projects/p/locations/r/instances/b", maintenance_policy=None)
    cache_with_nodes(name="alone")

    html = page("/readiness/")

    assert re.findall(r'id="cache-\d+"[^>]*>([^<]+)</a>', html) == ["bare", "alone", "well"]
    assert "/caches/bare/readiness/#check-window" in html


def test_an_empty_fleet_says_what_to_do() -> None:
    assert "No caches yet" in page("/readiness/")


def test_a_page_of_a_cache_that_is_not_there_is_none() -> None:
    assert client_of().get("/caches/nowhere/readiness/").status_code == 404


@pytest.mark.parametrize("path", ["/readiness/", "/caches/game/readiness/", "/caches/game/"])
def test_more_nodes_cost_no_more_queries(path: str, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    in_cloud(cluster(10, 2))
    client = client_of()

    with django_assert_max_num_queries(39):
        client.get(path)


def fleet_of(caches: int, nodes: int) -> None:
    """Make caches in Google Cloud with one shard of so many nodes, each with a sample and figures of its service."""
    now = timezone.now()
    made = Cache.objects.bulk_create(
        Cache(name=f"cache-{n}", address="redis://127.0.0.1:1", topology="cluster") for n in range(caches)
    )
    shards = Shard.objects.bulk_create(Shard(cache=cache, identity="1", number=1) for cache in made)
    Node.objects.bulk_create(
        Node(
            cache=shard.cache,
            shard=shard,
            identity=str(n),
            host="127.0.0.1",
            port=7000 + n,
            role="replica" if n else "primary",
        )
        for shard in shards
        for n in range(nodes)
    )
    tick = int(now.timestamp()) // 15 * 15
    rows = [reading(node, used_memory=1, maxmemory=4, connected_clients=1) for node in Node.objects.all()]
    samples.write([replace(row, tick=tick) for row in rows])
    project = CloudProject.objects.create(project_id="shop-prod")
    instances = CloudInstance.objects.bulk_create(
        CloudInstance(project=project, product="valkey", name=f"n-{cache.pk}", uid="u", snapshot=VALKEY, cache=cache)
        for cache in made
    )
    places = CloudPlace.objects.bulk_create(
        CloudPlace(instance=one, role="primary", seen_on=now.date()) for one in instances
    )
    figures: list[float | None] = [0.1] * len(SERVICE_METRICS)
    store([(tick // 60 * 60 - 60 * minute, place.pk, figures) for place in places for minute in range(1, 4)])


@pytest.mark.parametrize("path", ["/readiness/", "/api/v1/readiness"])
@pytest.mark.parametrize(("caches", "nodes"), [(2, 1), (200, 5)])
def test_the_fleet_costs_the_same_queries_with_any_number_of_caches_and_nodes(
    path: str, caches: int, nodes: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    fleet_of(caches, nodes)
    client = client_of()
    client.get("/readiness/")

    with django_assert_max_num_queries(FLEET_QUERIES):
        answer = client.get(path)

    assert answer.status_code == 200


def test_many_caches_come_in_pages() -> None:
    Cache.objects.bulk_create(Cache(name=f"cache-{n:03}", address="redis://127.0.0.1:1") for n in range(103))

    assert page("/readiness/?page=2").count('id="cache-') == 3
    assert page("/readiness/?page=nonsense").count('id="cache-') == 100


def test_the_pages_are_reached_from_the_others() -> None:
    in_cloud(cluster())

    assert 'href="/caches/game/readiness/"' in page("/caches/game/")
    assert 'href="/readiness/"' in page("/")


def test_the_api_answers_the_same() -> None:
    in_cloud(cluster())

    answer = call(Role.VIEWER, "get", "/caches/game/readiness").json()

    checks = {check["name"]: check for part in answer["parts"] for check in part["checks"]}
    assert set(checks) == {rule.name for rule in RULES}
    assert checks["replica-memory"]["mark"] == "ready"
    assert checks["replica-memory"]["measured"][0]["value"] == 0.25
    assert [room["fits"] for room in checks["scale-in"]["rooms"]] == [True, False]


def test_the_api_lists_the_fleet() -> None:
    in_cloud(cluster())
    cache_with_nodes(name="alone")

    answer = call(Role.VIEWER, "get", "/readiness?page_size=1").json()

    assert (answer["count"], [row["cache"] for row in answer["caches"]]) == (2, ["alone"])
    assert [part["part"] for part in answer["caches"][0]["parts"]] == ["maintenance", "scaling", "scale-in", "access"]


def test_the_api_tells_what_google_tells() -> None:
    start = timezone.now() + timedelta(days=2)
    in_cloud(cluster(), maintenance_schedule={"start_time": start.isoformat()})

    answer = call(Role.VIEWER, "get", "/caches/game/service").json()

    assert (answer["project"], answer["state_name"], answer["shards"]) == ("shop-prod", "ACTIVE", 3)
    assert (answer["limits"]["maxclients"], answer["limits"]["vcpu"], answer["units_most"]) == (32_000, 2, 250)
    assert answer["upkeep"]["start"].startswith(f"{start:%Y-%m-%dT%H:%M}")


def test_the_api_has_nothing_of_a_cache_outside_google_cloud() -> None:
    cluster()

    assert call(Role.VIEWER, "get", "/caches/game/service").status_code == 404
