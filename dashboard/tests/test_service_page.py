"""What Google tells, on the page of a cache; and the silence that it proposes for maintenance."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.utils import timezone
from django.utils.html import strip_tags

from accounts.models import Role
from accounts.tests.cast import client_of, person
from alerts import silence_changes
from alerts.silence import Silence
from collectors.cloud import taking_in
from collectors.cloud.models import CloudInstance
from collectors.cloud.snapshots import facts
from collectors.event import Event, Kind
from collectors.tests.cast import cache_with_nodes
from dashboard.service_page import silence_over
from dashboard.tests.service_cast import in_cloud, iso
from dashboard.tests.test_fleet import sampled
from fleet.models import Cache, Reach

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
HOUR = timedelta(hours=1)


def page(role: str = Role.VIEWER) -> str:
    answer = client_of(role).get("/caches/game/")
    assert answer.status_code == 200
    return answer.content.decode()


def section(role: str = Role.VIEWER) -> str:
    found = re.search(r'<section class="panel" id="service".*?</section>', page(role), re.DOTALL)
    assert found
    return found[0]


def words(role: str = Role.VIEWER) -> str:
    text = unescape(strip_tags(section(role).replace("<", " <")))
    return " ".join(text.replace("\u00a0", " ").replace("\u202f", " ").split())


def planned(cache: Cache, after: timedelta = timedelta(days=2), **more: Any) -> CloudInstance:
    start = timezone.now() + after
    schedule = {"start_time": iso(start), "end_time": iso(start + HOUR), **more}
    return in_cloud(cache, maintenance_schedule=schedule)


def test_a_cache_outside_google_cloud_has_no_such_part() -> None:
    sampled(cache_with_nodes())

    assert 'id="service"' not in page()


def test_it_shows_what_google_tells() -> None:
    in_cloud(cache_with_nodes())

    told = words()

    for part in (
        "Google Cloud ACTIVE shop-prod",
        "Product Memorystore for Valkey europe-west1/carts",
        "Node type HIGHMEM_MEDIUM",
        "32 000 connections, 10.4 GiB for keys, 2 vCPU",
        "Size 39 GiB 13 GiB a node",
        "Shape 3 shards, 1 replica each nodes: 6 of at most 250",
        "Version 8.0",
        "AUTH IAM tokens",
        "TLS on",
        "Maintenance window Tuesday, 22:00 to 23:00 UTC next from",
        "Planned maintenance none",
    ):
        assert part in told


def test_it_shows_a_redis_instance() -> None:
    in_cloud(cache_with_nodes(), "redis")

    told = words()

    for part in (
        "Tier STANDARD_HA M2",
        "65 000 connections",
        "Size 5 GiB",
        "Shape 1 shard, 1 replica each",
        "AUTH a password",
        "TLS off",
        "not set: any time, without notice",
        "10.0.0.3:6379 (primary)",
    ):
        assert part in told


def test_it_shows_memcached_and_its_end() -> None:
    in_cloud(cache_with_nodes(), "memcached")

    assert "Shape 2 nodes" in words()
    assert "Limits of a node 65 000 connections, 2 vCPU" in words()
    assert "which Google shuts down on Jan. 31, 2029" in page()


def test_a_node_type_without_published_sizes_says_so() -> None:
    in_cloud(cache_with_nodes(), node_type="CUSTOM_PICO")

    assert "Limits of a node no published limit" in words()


def test_what_google_does_not_tell_is_not_reported() -> None:
    in_cloud(cache_with_nodes(), "redis", redis_version=None, memory_size_gb=None)

    assert "Size not reported" in words()
    assert "Version not reported" in words()


def test_a_cache_that_is_not_polled_has_its_part_too() -> None:
    in_cloud(Cache.objects.create(name="game", address="redis://10.0.0.3:6379", reach=Reach.SERVICE))

    assert "Memorystore for Valkey" in words()
    assert "own-load" not in page()


@pytest.mark.parametrize("tab", ["latency", "slowlog", "clients", "balance", "internals", "scans", "commands"])
def test_pages_of_nodes_that_are_not_read_say_so(tab: str) -> None:
    Cache.objects.create(name="game", address="redis://10.0.0.3:6379", reach=Reach.SERVICE)

    assert "The nodes of this cache are not read" in client_of(Role.VIEWER).get(f"/caches/game/{tab}/").content.decode()


@pytest.mark.parametrize(("reach", "tab"), [("service", ""), ("service", "events/"), ("nodes", "latency/")])
def test_pages_that_know_something_say_nothing_of_the_kind(reach: str, tab: str) -> None:
    Cache.objects.create(name="game", address="redis://10.0.0.3:6379", reach=reach)

    assert "are not read" not in client_of(Role.VIEWER).get(f"/caches/game/{tab}").content.decode()


def test_what_google_says_is_text() -> None:
    messages = [{"code": "ZONE_DISTRIBUTION_UNBALANCED", "message": HOSTILE}]
    in_cloud(cache_with_nodes(), "memcached", instance_messages=messages, memcache_full_version=HOSTILE)

    html = page()

    assert HOSTILE not in html
    assert "ZONE_DISTRIBUTION_UNBALANCED" in section()
    assert "&lt;script&gt;" in section()


def test_an_instance_that_is_gone_says_since_when() -> None:
    instance = in_cloud(cache_with_nodes())
    CloudInstance.objects.filter(pk=instance.pk).update(gone_at=timezone.now() - HOUR)

    assert "gone since 1 h ago" in words()


def test_planned_maintenance_proposes_a_silence_to_operators() -> None:
    planned(cache_with_nodes())

    html = section(Role.OPERATOR)
    found = re.search(r'id="propose-silence" href="([^"]+)"', html)
    assert found
    form = client_of(Role.OPERATOR).get(unescape(found[1])).content.decode()

    assert ">\ncache=game</textarea>" in form
    assert 'value="Maintenance of game by Google"' in form
    assert not Silence.objects.exists()


def test_a_viewer_is_proposed_nothing() -> None:
    planned(cache_with_nodes())

    assert "propose-silence" not in section()


def silence(line: str, after: timedelta, length: timedelta = 2 * HOUR) -> Silence:
    now = timezone.now()
    return silence_changes.add(person(Role.OPERATOR), [line], "planned", now + after, now + after + length, now)


@pytest.mark.parametrize(
    ("line", "after", "covers"),
    [
        ("cache=game", timedelta(days=2) - HOUR / 2, True),
        ("cache=ga*", timedelta(days=2) - HOUR / 2, True),
        ("cache=game", timedelta(days=2) + HOUR / 2, False),
        ("cache=game", timedelta(days=2) - 3 * HOUR / 2, False),
        ("cache=other", timedelta(days=2) - HOUR / 2, False),
        ("severity=warning", timedelta(days=2) - HOUR / 2, False),
    ],
    ids=str,
)
def test_a_silence_that_covers_the_time_stands_in_its_place(line: str, after: timedelta, covers: bool) -> None:
    planned(cache_with_nodes())
    silence(line, after)

    html = section(Role.OPERATOR)

    assert ("Alerts are silenced for that time by operator." in html) == covers
    assert ("propose-silence" in html) != covers


def test_a_silence_of_some_alerts_is_none_of_the_cache() -> None:
    cache, now = cache_with_nodes(), timezone.now()
    made = silence("cache=game", timedelta(0))
    Silence.objects.filter(pk=made.pk).update(matchers=["cache=game", "rule=cpu"])

    assert silence_over(cache, now + HOUR / 2, now + HOUR) is None


@pytest.mark.parametrize(("after", "is_proposed"), [(-HOUR / 2, True), (-2 * HOUR, False)], ids=str)
def test_what_is_over_needs_no_silence(after: timedelta, is_proposed: bool) -> None:
    planned(cache_with_nodes(), after)

    assert ("propose-silence" in section(Role.OPERATOR)) == is_proposed


def test_a_deadline_and_what_cannot_be_put_off_are_told() -> None:
    planned(cache_with_nodes(), schedule_deadline_time="2026-12-24T18:00:00Z", can_reschedule=False)

    assert "may be put off until 2026-12-24 18:00:00 UTC" in words()
    assert "cannot be put off any more" in words()


def test_maintenance_versions_to_choose_are_listed() -> None:
    in_cloud(cache_with_nodes(), available_maintenance_versions=["20260401_00_00", "20260501_00_00"])

    assert "Maintenance versions to choose 20260401_00_00, 20260501_00_00" in words()


def test_taking_in_sets_limits_and_writes_events_once() -> None:
    cache = cache_with_nodes()
    instance = planned(cache)
    taking_in.take_in(instance, timezone.now())

    cache.refresh_from_db()
    assert (cache.service_maxclients, cache.service_memory_bytes) == (32_000, round(10.4 * 2**30))
    assert (cache.revision, cache.plan_maxclients) == (1, None)
    assert Event.objects.filter(kind=Kind.MAINTENANCE).count() == 2


def test_a_setting_of_the_instance_goes_before_the_published_default() -> None:
    cache = cache_with_nodes()
    in_cloud(cache, engine_configs={"maxclients": "64000", "maxmemory": "x"})

    cache.refresh_from_db()
    assert cache.service_maxclients == 64_000


@pytest.mark.parametrize(("given", "expected"), [("4.5", 4.5), ("2", 2), ("all", 5), ("", 5), ("-1", 5)])
def test_redis_may_have_less_than_its_capacity(given: str, expected: float) -> None:
    cache = cache_with_nodes()
    in_cloud(cache, "redis", redis_configs={"maxmemory-gb": given})

    cache.refresh_from_db()
    assert cache.service_memory_bytes == expected * 2**30


def test_an_instance_without_a_cache_is_left_alone() -> None:
    instance = in_cloud(cache_with_nodes())
    instance.cache = None

    taking_in.take_in(instance, timezone.now())

    assert facts("valkey", instance.snapshot).shards == 3
    assert not Event.objects.exists()


def test_a_refresh_brings_the_service_s_news_to_where_they_stand() -> None:
    in_cloud(cache_with_nodes())

    refreshed = client_of().get("/caches/game/", headers={"HX-Request": "true"}).content.decode()

    assert '<section class="panel" id="service" hx-swap-oob="true"' in refreshed
    assert "hx-swap-oob" not in client_of().get("/caches/game/").content.decode()


def test_a_refresh_without_news_is_no_page() -> None:
    instance = in_cloud(cache_with_nodes())
    client = client_of()
    first = client.get("/caches/game/", headers={"HX-Request": "true"}).content.decode()
    version = re.search(r"version=(\w+)", first)
    assert version

    def again() -> int:
        return client.get(f"/caches/game/?version={version[1]}", headers={"HX-Request": "true"}).status_code

    assert again() == 204
    CloudInstance.objects.filter(pk=instance.pk).update(seen_at=timezone.now())
    assert again() == 200


@pytest.mark.parametrize(
    ("reach", "tabs"),
    [
        ("service", ["Overview", "Readiness", "Events"]),
        (
            "nodes",
            [
                *("Overview", "Commands", "Latency", "Slow log", "Connections", "Balance"),
                *("Internals", "Readiness", "Keys", "Events"),
            ],
        ),
    ],
)
def test_tabs_lead_to_what_somebody_reads(reach: Reach, tabs: list[str]) -> None:
    Cache.objects.create(name="game", address="redis://10.0.0.9", engine="valkey", reach=reach)

    shown = page().split('class="tabs"')[1].split("</nav>")[0]

    assert re.findall(r">([^<]+)</a>", shown) == tabs
