"""Before a scan: what its preview warns of, and what a schedule may ask for."""

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors import samples
from collectors.keyscan.models import ScanSchedule
from collectors.tests.cast import reading
from dashboard.tests.scan_cast import running, scanned_cache
from dashboard.tests.test_scans import page, post
from fleet.models import Cache

pytestmark = pytest.mark.django_db
NIGHTLY: dict[str, Any] = {"begins": "02:00", "ends": "05:00", "weekdays": ["0", "3"], "brake": "brisk"}


@pytest.fixture
def cache() -> Cache:
    return scanned_cache(shards=2)


def test_the_preview_tells_how_far_replicas_are_behind(cache: Cache) -> None:
    replicas = cache.nodes.filter(role="replica")
    samples.write([reading(node, 60, replication_lag_bytes=5_000_000, master_link_up=True) for node in replicas])

    assert "MB behind" in page("/caches/game/scans/?preview=1").replace("MiB", "MB")


@pytest.mark.parametrize(("limit", "query", "warns"), [(1, "", True), (1, "&ignores_budget=on", False), (0, "", False)])
def test_the_preview_warns_of_a_budget_that_does_not_last(
    cache: Cache, settings: Settings, limit: int, query: str, warns: bool
) -> None:
    settings.SCAN_BUDGET_SECONDS = limit
    scan = running(cache)
    scan.shards.update(busy_seconds=50, is_active=False)

    html = page(f"/caches/game/scans/?preview=1{query}")

    assert ("does not last: it gives scans 1 seconds of its time, and about 50" in html) == warns


def test_the_api_warns_too(cache: Cache, settings: Settings) -> None:
    settings.SCAN_BUDGET_SECONDS = 1
    running(cache).shards.update(busy_seconds=50, is_active=False)
    client = client_of(Role.OPERATOR)

    told = client.post("/api/v1/scans/preview", {"cache": "game"}, content_type="application/json").json()

    assert [note for note in told["notes"] if "does not last" in note]
    assert [node["lag_bytes"] for node in told["nodes"]] == [None, None]


def test_a_schedule_may_ask_for_some_keys_only(cache: Cache) -> None:
    chosen: dict[str, Any] = {"match": "user:*", "type": "hash", "shards": ["2"], "details": ["ttl"], "top": "500"}

    assert post("/caches/game/scans/schedule/", **NIGHTLY, **chosen) == 302

    asked = ScanSchedule.objects.get().asked
    assert (asked.match, asked.type, asked.shards, asked.fields, asked.top) == ("user:*", "hash", (2,), ("ttl",), 500)


def test_schedules_say_what_they_ask_for(cache: Cache) -> None:
    post("/caches/game/scans/schedule/", **NIGHTLY, match="cart:*")
    post("/caches/game/scans/schedule/", **NIGHTLY)

    html = page("/caches/game/scans/")

    assert "<code>cart:*</code>" in html
    assert "all keys" in html


def test_the_two_forms_of_the_page_share_no_id(cache: Cache) -> None:
    html = page("/caches/game/scans/", Role.OPERATOR)

    for name in ("match", "type", "brake", "may_use_primary"):
        assert html.count(f'id="id_{name}"') == html.count(f'id="schedule_{name}"') == 1
