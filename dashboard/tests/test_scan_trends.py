"""How families of keys grew over all scans: as figures, as a line, as a picture."""

from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.keyscan.details import Detail
from collectors.keyscan.models import Scan, ScanState
from dashboard.scans.trends import Trend, TrendPoint, drawn, trends
from dashboard.tests.scan_cast import scanned_cache, stored, usual_keys
from fleet.models import Cache

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def points(*sizes: int, hours: float = 24) -> list[TrendPoint]:
    """Return a prefix of these sizes, a scan each so many hours."""
    scans = [Scan(finished_at=NOON + timedelta(hours=hours * number)) for number in range(len(sizes))]
    return [TrendPoint(scan, size, 1) for scan, size in zip(scans, sizes, strict=True)]


@pytest.mark.parametrize(
    ("sizes", "hours", "growth"),
    [
        ((100, 300), 24, 200),
        ((100, 900, 300), 12, 200),
        ((300, 100), 24, -200),
        ((100,), 24, None),
        ((), 24, None),
        ((100, 300), 0.5, None),
    ],
)
def test_growth_is_from_the_first_scan_to_the_last(sizes: tuple[int, ...], hours: float, growth: int | None) -> None:
    found = Trend(points(*sizes, hours=hours)).growth_per_day

    assert found == (None if growth is None else pytest.approx(growth))


def test_a_picture_goes_by_time_and_stands_on_nothing() -> None:
    first, middle, last = drawn(points(50, 100, 0))

    assert first.x < middle.x < last.x
    assert middle.x - first.x == pytest.approx(last.x - middle.x)
    assert middle.y < first.y < last.y
    assert all(0 < dot.x < 100 and 0 < dot.y < 100 for dot in (first, middle, last))


@pytest.mark.parametrize("sizes", [(), (5,), (0, 0)])
def test_a_picture_takes_few_points_and_empty_prefixes(sizes: tuple[int, ...]) -> None:
    assert len(drawn(points(*sizes))) == len(sizes)


def test_strokes_lie_between_neighbours() -> None:
    strokes = Trend(points(1, 2, 3)).strokes

    assert [(before.point.size, after.point.size) for before, after in strokes] == [(1, 2), (2, 3)]


@pytest.fixture
def cache(db: None) -> Cache:
    return scanned_cache()


def carts(count: int) -> list[Detail]:
    return [Detail(b"cart:%d:items" % number, 1_000_000, "hash", 60_000) for number in range(count)]


def digest_of(scan: Scan, prefix: bytes) -> int:
    return next(row.digest for row in scan.prefixes.all() if bytes(row.prefix) == prefix)


def test_it_follows_a_prefix_over_complete_scans(cache: Cache) -> None:
    stored(cache, carts(1), days=4)
    stored(cache, carts(9), days=3, state=ScanState.INCOMPLETE)
    stored(cache, carts(9), days=2, match="other:*")
    stored(cache, carts(2), days=1)
    scan = stored(cache, carts(5))
    digest = digest_of(scan, b"cart:")

    found = trends(scan, [digest])[digest]

    assert found.sizes == [1_000_000, 2_000_000, 5_000_000]
    assert found.growth_per_day == pytest.approx(1_000_000, rel=0.01)


def test_it_does_not_look_ahead(cache: Cache) -> None:
    scan = stored(cache, carts(1), days=4)
    stored(cache, carts(2))
    digest = digest_of(scan, b"cart:")

    assert trends(scan, [digest])[digest].sizes == [1_000_000]


def test_it_knows_nothing_of_what_is_no_prefix(cache: Cache) -> None:
    assert trends(stored(cache, carts(1)), [1, 2]) == {}


def test_the_result_shows_the_trend_of_each_prefix(cache: Cache) -> None:
    stored(cache, carts(1), days=2)
    scan = stored(cache, carts(3))

    html = client_of(Role.VIEWER).get(f"/scans/{scan.pk}/").content.decode()

    assert html.count('class="spark"') == 1
    assert html.count("<circle") == 2
    assert "a day" in html


def test_the_result_shows_the_trend_of_the_prefix_that_was_opened(cache: Cache) -> None:
    stored(cache, [*usual_keys(), *carts(1)], days=2)
    scan = stored(cache, [*usual_keys(), *carts(3)])
    digest = digest_of(scan, b"cart:")

    html = client_of(Role.VIEWER).get(f"/scans/{scan.pk}/?prefix={digest}").content.decode()

    heading = html[html.index('id="trend-title"') :]
    assert "cart:" in heading[:200]


def test_a_first_scan_has_no_trend(cache: Cache) -> None:
    html = client_of(Role.VIEWER).get(f"/scans/{stored(cache, carts(1)).pk}/").content.decode()

    assert "<circle" not in html
