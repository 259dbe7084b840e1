"""/metrics and /metrics/fleet, for Prometheus and what reads its format."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from ninja.errors import AuthenticationError, AuthorizationError

from accounts.api_auth import callers
from dashboard.exposition import fleet, own
from dashboard.exposition.text import CONTENT_TYPE, Family, render


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer Shardwatch's own numbers."""
    return refusal(request) or page(own.families())


@login_not_required
@never_cache
@require_safe
def fleet_metrics(request: HttpRequest) -> HttpResponse:
    """Answer the last sample of each node under redis_exporter's names."""
    if not settings.FLEET_METRICS:
        raise Http404
    return refusal(request) or page(fleet.families(timezone.now()))


def refusal(request: HttpRequest) -> HttpResponse | None:
    """Return why the caller may not read, None where it may: scrapers come with a token, people with a session."""
    try:
        if any(way(request) for way in callers()):
            return None
    except AuthorizationError as error:
        return plain(str(error), 403)
    except AuthenticationError as error:
        return plain(str(error), 401)
    return plain("Send Authorization: Bearer and a token of a viewer.", 401)


def plain(sentence: str, status: int) -> HttpResponse:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return HttpResponse(f"{sentence}\n", status=status, headers=headers, content_type="text/plain; charset=utf-8")


def page(families: Iterable[Family]) -> HttpResponse:
    with translation.override("en"):
        return HttpResponse(render(families), content_type=CONTENT_TYPE)
