"""What every page needs of its viewer: being signed in, and a time zone."""

from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import available_timezones

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from accounts.models import User

# static/js/page.js writes the browser's zone here.
ZONE_COOKIE = "tz"


class SignInMiddleware(LoginRequiredMiddleware):
    """Sends visitors to the sign-in page; a page that refreshes a part of itself goes there as a whole."""

    def process_view(self, request: HttpRequest, view_func: Callable[..., Any], *rest: Any) -> HttpResponseBase | None:
        # Django looks at the user first, which costs /healthz two queries.
        return super().process_view(request, view_func, *rest) if needs_user(view_func) else None

    def handle_no_permission(self, request: HttpRequest, view_func: Callable[..., Any]) -> HttpResponse:  # type: ignore[override]
        if "HX-Request" not in request.headers:
            return super().handle_no_permission(request, view_func)
        page = urlsplit(request.headers.get("HX-Current-URL", "/"))
        target = redirect_to_login(page._replace(scheme="", netloc="").geturl()).url
        return HttpResponse(status=401, headers={"HX-Redirect": target})


class ViewerTimeZoneMiddleware:
    """Shows times in the zone that the user chose, else the browser's, else UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            return self.get_response(request)
        finally:
            timezone.deactivate()

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: Any) -> None:
        if needs_user(view):
            timezone.activate(viewer_zone(request))


def needs_user(view: Callable[..., Any]) -> bool:
    return bool(getattr(view, "login_required", True))


def viewer_zone(request: HttpRequest) -> str:
    chosen = request.user.time_zone if isinstance(request.user, User) else ""
    return known_zone(chosen) or known_zone(unquote(request.COOKIES.get(ZONE_COOKIE, ""))) or "UTC"


def known_zone(name: str) -> str:
    """Return the name where it is a zone of the IANA list, else an empty text."""
    return name if name in zones() else ""


@cache
def zones() -> frozenset[str]:
    # The list holds names that stand for no place: of a machine without a setting, and of the machine's own setting.
    return frozenset(available_timezones() - {"Factory", "localtime"})
