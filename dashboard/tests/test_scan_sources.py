"""Sizes of primaries and replicas are never mixed: not in trends, deltas or figures for rules; comparisons say so."""

import pytest

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.keyscan import metrics
from collectors.keyscan.models import Scan, ScanShard
from collectors.keyscan.sources import Sources, earlier_of, mixed, mixed_shards
from dashboard.scans.trends import trends
from dashboard.tests.scan_cast import scanned_cache, stored, usual_keys
from dashboard.tests.test_scans import page
from fleet.models import Cache

pytestmark = pytest.mark.django_db


@pytest.fixture
def cache() -> Cache:
    return scanned_cache()


def of_primary(scan: Scan) -> Scan:
    ScanShard.objects.filter(scan=scan).update(is_replica=False)
    return scan


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({1: True, 2: True}, {1: True, 2: True}, []),
        ({1: True, 2: False, 3: True}, {1: False, 2: True, 3: True}, [1, 2]),
        ({1: True}, {2: False}, []),
    ],
)
def test_it_names_shards_whose_source_differs(before: Sources, after: Sources, expected: list[int]) -> None:
    assert mixed(before, after) == expected


def test_a_scan_is_set_beside_the_newest_of_the_same_source(cache: Cache) -> None:
    same, _other, newest = (
        stored(cache, usual_keys(), days=3),
        of_primary(stored(cache, usual_keys(), days=2)),
        stored(cache, usual_keys()),
    )

    assert earlier_of(newest) == same


def test_no_delta_is_shown_beside_another_source(cache: Cache) -> None:
    of_primary(stored(cache, usual_keys(), days=2))
    newest = stored(cache, usual_keys(factor=2))

    assert "Since the scan before" not in page(f"/scans/{newest.pk}/")
    assert earlier_of(newest) is None


def test_a_comparison_of_two_sources_says_so(cache: Cache) -> None:
    before, after = of_primary(stored(cache, usual_keys(), days=2)), stored(cache, usual_keys(factor=2))

    assert "Shard 1 was read from its primary in one scan" in page(f"/scans/{after.pk}/compare/?with={before.pk}")


def test_a_comparison_of_one_source_says_nothing(cache: Cache) -> None:
    before, after = stored(cache, usual_keys(), days=2), stored(cache, usual_keys(factor=2))

    assert "was read from its primary" not in page(f"/scans/{after.pk}/compare/?with={before.pk}")
    assert mixed_shards(before, after) == []


def test_the_api_names_mixed_shards(cache: Cache) -> None:
    before, after = of_primary(stored(cache, usual_keys(), days=2)), stored(cache, usual_keys())

    told = client_of(Role.VIEWER).get(f"/api/v1/scans/{after.pk}/compare?before={before.pk}").json()

    assert told["mixed_shards"] == [1]


def test_trends_leave_other_sources_out(cache: Cache) -> None:
    of_primary(stored(cache, usual_keys(factor=9), days=2))
    first, last = stored(cache, usual_keys(), days=1), stored(cache, usual_keys())
    root = last.prefixes.get(depth=0)

    assert [point.scan for point in trends(last, [root.digest])[root.digest].points] == [first, last]


def test_growth_for_rules_is_between_scans_of_one_source(cache: Cache) -> None:
    of_primary(stored(cache, usual_keys(), days=1))
    newest = stored(cache, usual_keys(factor=2))
    metrics.write(newest)

    assert metrics.PREFIX_GROWTH not in metrics.read([cache.pk], newest.at)[cache.pk]
