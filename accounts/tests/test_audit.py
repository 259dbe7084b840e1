import re

import pytest
from django.conf import settings
from django.utils import timezone, translation

from accounts.audit import ACTIONS, detail_words
from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from accounts.views.audit import PAGE_SIZE

pytestmark = pytest.mark.django_db


def test_it_shows_who_did_what() -> None:
    client = client_of(Role.ADMIN)
    AuditEntry.record(None, "cache.add", "game-cache", address="redis://a:1")

    page = client.get("/audit/").content.decode()

    assert "added the cache" in page
    assert "address: redis://a:1" in page


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ({"role": "operator"}, "role: operator"),
        ({"before": "viewer", "after": "admin"}, "before: viewer, after: admin"),
        ({"is_paused": "False -> True"}, "paused: no → yes"),
        ({"plan_memory_bytes": "None -> 1024"}, "plan size per node (bytes): none → 1024"),
        ({"client_key": "changed"}, "client key (PEM): changed"),
        ({"kind": "load-test", "title": "Friday"}, "kind: load test, title: Friday"),
        ({"something": "new"}, "something: new"),
        ({"count": 3}, "number: 3"),
        ({}, ""),
    ],
)
def test_it_has_words_for_details(detail: dict[str, object], words: str) -> None:
    assert detail_words(AuditEntry(detail=detail)) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("2026-11-22T03:57:22.391805+00:00", "2026-11-22 12:57:22 JST"),
        ("2026-12-31T00:00:00+00:00 -> 2027-01-01T00:00:00+00:00", "2026-12-31 09:00:00 JST → 2027-01-01 09:00:00 JST"),
        ("20261231", "20261231"),
        ("2026-12-31", "2026-12-31"),
        ("2026-99-99T00:00:00+00:00", "2026-99-99T00:00:00+00:00"),
        (600, "600"),
    ],
)
def test_moments_are_written_in_the_readers_time_zone(value: object, words: str) -> None:
    with timezone.override("Asia/Tokyo"):
        assert detail_words(AuditEntry(detail={"until": value})) == f"until: {words}"


def test_it_reads_details_in_the_readers_language() -> None:
    entry = AuditEntry(detail={"role": "operator", "is_paused": "False -> True"})

    with translation.override("ja"):
        words = detail_words(entry)

    assert str(Role.OPERATOR.label) not in words
    assert "False" not in words


def test_it_escapes_what_people_typed() -> None:
    client = client_of(Role.ADMIN)
    AuditEntry.record(None, "token.add", "<script>alert(1)</script>")

    assert "<script>alert(1)" not in client.get("/audit/").content.decode()


def test_it_pages_back_without_gaps() -> None:
    client = client_of(Role.ADMIN)
    for number in range(PAGE_SIZE + 5):
        AuditEntry.record(None, "cache.add", f"cache-{number}")

    older = client.get("/audit/").context["older"]
    rows = client.get(f"/audit/?before={older}").context["rows"]

    assert [entry.target for entry, *_ in rows] == [f"cache-{number}" for number in range(4, -1, -1)]


def test_it_finds_by_text() -> None:
    client = client_of(Role.ADMIN)
    AuditEntry.record(None, "cache.add", "game-cache")
    AuditEntry.record(None, "cache.add", "session-cache")

    rows = client.get("/audit/?text=GAME").context["rows"]

    assert [entry.target for entry, *_ in rows] == ["game-cache"]


@pytest.mark.parametrize("query", ["before=x", "before=" + "9" * 40, "before=²", "text=" + "a" * 5000])
def test_it_survives_odd_queries(query: str) -> None:
    assert client_of(Role.ADMIN).get(f"/audit/?{query}").status_code == 200


def test_every_act_that_is_written_down_has_words() -> None:
    noted = re.compile(r'(?:audit|record)\((?:[^()"]|\([^()]*\))*"([a-z-]+\.[a-z-]+)"')
    apps = ("accounts", "alerts", "collectors", "dashboard", "fleet", "switches")
    files = [path for app in apps for path in (settings.BASE_DIR / app).rglob("*.py") if "tests" not in path.parts]

    acts = {act for path in files for act in noted.findall(path.read_text())}

    assert "cache.add" in acts
    assert acts - set(ACTIONS) == set()
