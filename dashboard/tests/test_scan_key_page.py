"""The page of one key: how long it was idle, and what a second look tells beside its size."""

import pytest

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.keyscan import recheck
from collectors.keyscan.details import Detail
from collectors.keyscan.models import ScanKey
from dashboard.tests.scan_cast import scanned_cache, stored
from dashboard.tests.test_scans import page, plain

pytestmark = pytest.mark.django_db


def key_of(detail: Detail) -> ScanKey:
    return stored(scanned_cache(), [detail]).top_keys.get()


def read_again(key: ScanKey, seen: Detail, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(recheck, "check", lambda _cache, _key: seen)
    answer = client_of(Role.OPERATOR).post(f"/scans/{key.scan_id}/keys/{key.pk}/check/", follow=True)
    return plain(answer.content)


def test_it_shows_how_long_a_key_was_idle() -> None:
    key = key_of(Detail(b"old", 5_000, "string", -1, 7_200))

    html = page(f"/scans/{key.scan_id}/keys/{key.pk}/")

    assert "<dt>Idle</dt><dd>2 h" in html


def test_it_shows_the_frequency_where_the_server_counts_uses() -> None:
    key = key_of(Detail(b"hot", 5_000, "string", -1, frequency=181))

    html = page(f"/scans/{key.scan_id}/keys/{key.pk}/")

    assert "<dt>Frequency</dt><dd>181" in html
    assert "<dt>Idle</dt>" not in html


@pytest.mark.parametrize(
    ("ttl_ms", "idle", "words"),
    [(60_000, 7_200, "It expires in 1 min. Nobody has used it for 2 h."), (-1, None, "It has no TTL.")],
)
def test_a_second_look_tells_times_too(
    monkeypatch: pytest.MonkeyPatch, ttl_ms: int, idle: int | None, words: str
) -> None:
    key = key_of(Detail(b"k", 5_000, "string", -1))

    html = read_again(key, Detail(b"k", 6_000, "string", ttl_ms, idle, "raw"), monkeypatch)

    assert words in html


def test_what_was_not_read_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_of(Detail(b"k", 5_000, "string", -1))

    html = read_again(key, Detail(b"k", 6_000, "string"), monkeypatch)

    assert "Now it takes" in html
    assert "It has no TTL" not in html
    assert "Nobody has used it" not in html
