"""Findings on the cache's page that come from scans of its keys, and scans as events."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.event import Event, Kind
from collectors.keyscan import markers, metrics
from collectors.keyscan.details import Detail
from collectors.keyscan.models import Scan, ScanMetric, ScanState
from dashboard.event_words import sentence
from dashboard.findings import keys
from dashboard.tests.scan_cast import running, scanned_cache, stored, usual_keys
from dashboard.watched import Watched, nodes_of
from fleet.models import Cache

pytestmark = pytest.mark.django_db
HEAVY = [Detail(b"user_cache:%d" % n, 3_000, "string", -1) for n in range(400)]


@pytest.fixture
def cache() -> Cache:
    return scanned_cache()


def watched(cache: Cache) -> Watched:
    return Watched(cache, timezone.now(), None, nodes_of([cache.pk])[cache.pk])


def test_it_names_the_family_that_holds_the_memory(cache: Cache) -> None:
    scan = stored(cache, HEAVY)

    finding = keys.heavy_family(watched(cache))

    assert finding is not None
    assert finding.sentence == "user_cache:* holds 100% of the memory of all keys, by the last scan"
    assert finding.url == f"/scans/{scan.pk}/"


def test_it_is_silent_without_a_heavy_family_or_a_fresh_scan(cache: Cache) -> None:
    assert keys.heavy_family(watched(cache)) is None
    stored(cache, [Detail(b"%c:1" % letter, 100) for letter in b"abcdefg"])
    assert keys.heavy_family(watched(cache)) is None
    stored(cache, HEAVY)
    ScanMetric.objects.update(at=timezone.now() - timedelta(days=30))
    assert keys.heavy_family(watched(cache)) is None


def test_it_shows_nobody_ids_where_viewers_must_not_see_them(cache: Cache, settings: Settings) -> None:
    settings.MASK_KEY_NAMES = True
    stored(cache, [Detail(b"bob@example", 10**6)])

    finding = keys.heavy_family(watched(cache))

    assert finding is not None
    assert "bob" not in finding.sentence


def test_a_complete_scan_leaves_figures_for_rules(cache: Cache) -> None:
    stored(cache, usual_keys(), days=2)
    scan = stored(cache, usual_keys(factor=2))

    found = metrics.read([cache.pk], timezone.now())[cache.pk]

    assert set(found) == set(metrics.CATALOGUE)
    assert (found["scan_largest_key_bytes"], found["scan_keys"]) == (40_000_000, 701)
    assert found["scan_keys_without_ttl_ratio"] == pytest.approx(401 / 701, abs=1e-6)
    assert found["scan_prefix_growth_bytes_per_day"] == pytest.approx(600_000, rel=0.01)
    assert ScanMetric.objects.get(name="scan_prefix_growth_bytes_per_day").detail == {"prefix": "user_cache:"}
    assert set(ScanMetric.objects.values_list("scan", flat=True)) == {scan.pk}


@pytest.mark.parametrize("given", [{"match": "user:*"}, {"state": ScanState.INCOMPLETE}, {"shards": (1,)}])
def test_a_scan_of_a_part_leaves_no_figures(cache: Cache, given: dict[str, object]) -> None:
    stored(cache, usual_keys(), **given)  # type: ignore[arg-type]

    assert metrics.read([cache.pk], timezone.now()) == {}


def test_two_scans_within_an_hour_tell_no_growth(cache: Cache) -> None:
    stored(cache, usual_keys(), days=0.01)
    stored(cache, usual_keys(factor=2))

    assert "scan_prefix_growth_bytes_per_day" not in metrics.read([cache.pk], timezone.now())[cache.pk]


def test_a_scan_is_marked_from_its_start_to_its_end(cache: Cache) -> None:
    scan = running(cache)
    markers.begin(scan)
    markers.begin(scan)
    event = Event.objects.get(kind=Kind.KEY_SCAN)

    assert event.goes_on
    assert sentence(event) == f"Scan {scan.pk} of the keys is under way"
    Scan.objects.filter(pk=scan.pk).update(finished_at=timezone.now(), keys=1_234, bytes=2_048)
    scan.refresh_from_db()
    markers.end(scan)

    event.refresh_from_db()
    assert (
        sentence(event).replace("\u202f", " ").replace("\u00a0", " ")
        == f"Scan {scan.pk} of the keys: 1 234 in all, 2 KiB"
    )
    assert not event.goes_on


def test_the_event_leads_to_the_scan(cache: Cache) -> None:
    scan = running(cache)
    markers.begin(scan)

    html = client_of(Role.VIEWER).get(Event.objects.get().get_absolute_url()).content.decode()

    assert f'href="/scans/{scan.pk}/"' in html
