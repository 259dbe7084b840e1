import pytest
from django.test import Client, RequestFactory
from django.utils import timezone

from accounts.middleware import viewer_zone
from accounts.models import User
from accounts.tests.cast import client_of, person


def zone_for(cookie: str = "", chosen: str = "") -> str:
    request = RequestFactory().get("/")
    request.COOKIES["tz"] = cookie
    request.user = User(time_zone=chosen)
    return viewer_zone(request)


@pytest.mark.parametrize(
    ("cookie", "chosen", "zone"),
    [
        ("", "", "UTC"),
        ("Asia/Tokyo", "", "Asia/Tokyo"),
        ("Asia%2FTokyo", "", "Asia/Tokyo"),
        ("Asia/Tokyo", "Europe/Berlin", "Europe/Berlin"),
        ("../../etc/passwd", "", "UTC"),
        ("Asia", "", "UTC"),
        ("x" * 5000, "", "UTC"),
        ("Asia/Tokyo", "Moon/Base", "Asia/Tokyo"),
    ],
)
def test_it_prefers_the_choice_then_the_browser_then_utc(cookie: str, chosen: str, zone: str) -> None:
    assert zone_for(cookie, chosen) == zone


@pytest.mark.django_db
def test_it_shows_times_in_the_viewers_zone_and_forgets_it_afterwards() -> None:
    client = client_of()
    client.cookies["tz"] = "Asia/Tokyo"

    page = client.get("/account/").content.decode()

    assert 'data-time-zone="Asia/Tokyo"' in page
    assert timezone.get_current_timezone_name() == "UTC"


@pytest.mark.django_db
def test_it_asks_the_database_nothing_for_healthz(django_assert_num_queries: pytest.FixtureRequest) -> None:
    client = Client()
    client.force_login(person())

    with django_assert_num_queries(0):  # type: ignore[operator]
        assert client.get("/healthz").content == b"ok\n"
