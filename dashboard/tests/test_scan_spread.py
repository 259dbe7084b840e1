"""The result page shows elements and encodings by type, and the slots that hash tags make heavy."""

import pytest
from pytest_django.fixtures import Settings

from accounts.models import Role
from collectors.keyscan.details import Detail
from collectors.keyscan.models import Scan
from dashboard.scans.naming import Naming
from dashboard.scans.spread import encodings, slots, tag_of
from dashboard.tests.scan_cast import scanned_cache, stored, usual_keys
from dashboard.tests.test_scans import page
from fleet.models import Cache

pytestmark = pytest.mark.django_db


@pytest.fixture
def cache() -> Cache:
    cache = scanned_cache()
    Cache.objects.filter(pk=cache.pk).update(topology="cluster")
    return Cache.objects.get(pk=cache.pk)


def tagged(cache: Cache) -> Scan:
    """Return a scan of which one hash tag keeps half of the memory in one slot."""
    together = [Detail(b"{team:7}:%d" % n, 9_000, "string", -1) for n in range(40)]
    return stored(cache, [*together, *(Detail(b"user:%d" % n, 900, "string", -1) for n in range(400))])


def test_the_result_shows_elements_and_encodings_by_type(cache: Cache) -> None:
    html = page(f"/scans/{stored(cache, usual_keys()).pk}/")

    for words in ("Elements: hash", "Elements: zset", "Encodings", "listpack", "skiplist"):
        assert words in html
    assert "Elements: string" not in html


def test_encodings_are_shares_of_their_type(cache: Cache) -> None:
    pairs = [(b"raw", "raw"), (b"int", "int"), (b"int2", "int"), (b"int3", "int")]
    scan = stored(cache, [Detail(name, 100, "string", -1, 0, encoding) for name, encoding in pairs])

    assert [(line.encoding, line.keys, line.share) for line in encodings(scan)] == [("int", 3, 0.75), ("raw", 1, 0.25)]


def test_a_heavy_slot_is_shown_with_its_hash_tag(cache: Cache) -> None:
    html = page(f"/scans/{tagged(cache).pk}/")

    assert "Heaviest slots" in html
    assert "<code><bdi>{team:7}</bdi></code>" in html


def test_the_heaviest_slot_comes_first_with_its_share(cache: Cache) -> None:
    (line, *_rest) = slots(tagged(cache), Naming())

    assert (line.keys, line.share, line.tags) == (40, 0.5, ["{team:7}"])


def test_hash_tags_are_hidden_from_those_who_may_not_see_ids(cache: Cache, settings: Settings) -> None:
    settings.MASK_KEY_NAMES = True
    scan = tagged(cache)

    assert "{team:7}" not in page(f"/scans/{scan.pk}/")
    assert "{team:7}" in page(f"/scans/{scan.pk}/", Role.OPERATOR)


def test_servers_outside_of_clusters_have_no_slots(cache: Cache) -> None:
    Cache.objects.filter(pk=cache.pk).update(topology="standalone")
    html = page(f"/scans/{tagged(Cache.objects.get(pk=cache.pk)).pk}/")

    assert "Heaviest slots" not in html
    assert "a hash tag keeps many keys together" not in html


@pytest.mark.parametrize(
    ("name", "tag"),
    [(b"{a}:1", b"{a}"), (b"x{a}{b}", b"{a}"), (b"{}a", b""), (b"a", b""), (b"{a", b""), (b"}{", b"")],
)
def test_it_knows_a_hash_tag_as_servers_do(name: bytes, tag: bytes) -> None:
    assert tag_of(name) == tag
