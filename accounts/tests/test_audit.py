import pytest

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
