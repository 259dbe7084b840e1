"""Rankings of one shard or one type say from which size on no key is missing."""

import pytest

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.keyscan.details import Detail
from collectors.keyscan.models import Scan, ScanShard
from dashboard.scans.found import complete_from
from dashboard.templatetags.units import bytes_size
from dashboard.tests.scan_cast import scanned_cache, stored, usual_keys
from dashboard.tests.test_scans import page, plain
from fleet.models import Cache

pytestmark = pytest.mark.django_db
END = plain(bytes_size(3_000).encode())


@pytest.fixture
def cache() -> Cache:
    return scanned_cache()


def sampled(cache: Cache) -> Scan:
    """Return a scan that read types of the largest keys and of a sample."""
    scan = stored(cache, usual_keys())
    scan.summary["is_full"] = False
    scan.save()
    ScanShard.objects.filter(scan=scan).update(summary={"complete_from": 3_000, "typed_from": 3_000})
    return scan


def test_a_type_of_a_sample_says_where_its_ranking_ends(cache: Cache) -> None:
    html = page(f"/scans/{sampled(cache).pk}/?type=hash")

    assert f"Every key from {END} on is here. Of smaller ones the type was read of one key in 50" in html


def test_a_shard_says_where_its_ranking_ends(cache: Cache) -> None:
    html = page(f"/scans/{sampled(cache).pk}/?shard=1")

    assert f"Every key from {END} on is here; not all of the smaller ones were kept" in html


def test_the_ranking_of_all_keys_needs_no_such_word(cache: Cache) -> None:
    assert "Every key from" not in page(f"/scans/{sampled(cache).pk}/")


def test_a_ranking_that_lacks_nothing_says_nothing(cache: Cache) -> None:
    scan = stored(cache, usual_keys()[-20:])

    assert "Every key from" not in page(f"/scans/{scan.pk}/?type=hash")


def test_elements_are_ranked_among_those_that_were_read(cache: Cache) -> None:
    some, every = stored(cache, usual_keys()), stored(cache, usual_keys(), fields=("len",))

    assert "Ranked are keys whose number of elements was read" in page(f"/scans/{some.pk}/?sort=elements")
    assert "Ranked are keys" not in page(f"/scans/{every.pk}/?sort=elements")


def test_scans_of_before_do_not_know(cache: Cache) -> None:
    scan = stored(cache, usual_keys())
    ScanShard.objects.filter(scan=scan).update(summary={})

    assert complete_from(scan, kind="hash") is None


def test_the_api_tells_it_too(cache: Cache) -> None:
    scan = stored(cache, [Detail(b"k%d" % n, 1_000 + n, "hash", -1) for n in range(150)])
    client = client_of(Role.VIEWER)

    told = client.get(f"/api/v1/scans/{scan.pk}/keys?type=hash").json()

    assert (told["complete_from"], len(told["keys"])) == (1_050, 100)
    assert client.get(f"/api/v1/scans/{scan.pk}/keys").json()["complete_from"] is None
