"""The API under /api/v1/: its routers, and one shape for every error."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from django.urls import URLPattern
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import HttpError
from ninja.errors import ValidationError as ParameterError

from collectors.keyscan.reasons import ScanRefusedError
from collectors.metrics.lookup import UnknownMetricError
from collectors.series import RangeError
from config.errors import harmless, json_error
from dashboard.api import (
    alerts,
    auto_off,
    balance,
    caches,
    channels,
    client_keys,
    clients,
    commands,
    events,
    findings,
    fleet,
    health,
    incidents,
    internals,
    latency,
    metrics,
    nodes,
    projects,
    readiness,
    routes,
    rules,
    run_books,
    scans,
    series,
    silences,
    slabs,
    slowlog,
    switches,
    tokens,
    topology,
    windows,
)
from dashboard.api.answers import OrjsonRenderer, StrictParser, refusal
from fleet.registration import ConflictError

api = NinjaAPI(
    title="Shardwatch",
    version="1",
    description="Caches, their nodes, their metrics. Every error is {error, field}: a sentence and what it is about.",
    urls_namespace="api",
    # Ninja's documentation pages load scripts from elsewhere.
    docs_url=None,
    renderer=OrjsonRenderer(),
    parser=StrictParser(),
)
api.add_router("/caches", caches.router)
api.add_router("/caches", nodes.router)
api.add_router("/caches", series.router)
api.add_router("/caches", commands.router)
api.add_router("/alerts", alerts.router)
api.add_router("/incidents", incidents.router)
api.add_router("/rules", rules.router)
api.add_router("/silences", silences.router)
api.add_router("/windows", windows.router)
api.add_router("/routes", routes.router)
api.add_router("/events", events.router)
api.add_router("/caches", latency.router)
api.add_router("/caches", balance.router)
api.add_router("/caches", internals.router)
api.add_router("/caches", slabs.router)
api.add_router("/caches", slowlog.router)
api.add_router("/caches", clients.router)
api.add_router("/caches", topology.router)
api.add_router("", findings.router)
api.add_router("", readiness.router)
api.add_router("/fleet", fleet.router)
api.add_router("/health", health.router)
api.add_router("/channels", channels.router)
api.add_router("/projects", projects.router)
api.add_router("/metrics", metrics.router)
api.add_router("/scans", scans.router)
api.add_router("/tokens", tokens.router)
# Beside /switches, where applications read: switches/gate.py.
api.add_router("/control/switches", switches.router)
api.add_router("/control/switches", run_books.router)
api.add_router("/control/switches", auto_off.router)
api.add_router("/control/client-keys", client_keys.router)


@api.exception_handler(HttpError)
def refused(request: HttpRequest, error: HttpError) -> HttpResponse:
    # Ninja wraps what its parser raised into "cannot parse"; ours says more.
    cause = error.__cause__
    error = cause if isinstance(cause, HttpError) else error
    sentence = _("Sign in, or send a token: Authorization: Bearer sw_…") if str(error) == "Unauthorized" else str(error)
    response = problem(request, sentence, error.status_code)
    if error.status_code == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


@api.exception_handler(ParameterError)
def bad_parameters(request: HttpRequest, error: ParameterError) -> HttpResponse:
    first = error.errors[0]
    # The location is (source, argument, field, …); the first two name our own arguments.
    place = [str(part) for part in first["loc"] if part not in {"body", "query", "path", "filters"}]
    field = ".".join(place) or "body"
    return problem(request, f"{field}: {first['msg']}.", 400, field)


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    status = 409 if isinstance(error, ConflictError) else 400
    return api.create_response(request, harmless(refusal(error)), status=status)


@api.exception_handler(UnknownMetricError)
def unknown_metric(request: HttpRequest, error: UnknownMetricError) -> HttpResponse:
    return problem(request, str(error), 400, "metric")


@api.exception_handler(ScanRefusedError)
def scan_refused(request: HttpRequest, error: ScanRefusedError) -> HttpResponse:
    return problem(request, str(error), 409)


@api.exception_handler(RangeError)
def bad_range(request: HttpRequest, error: RangeError) -> HttpResponse:
    return problem(request, str(error), 400)


@api.exception_handler(Http404)
def missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return problem(request, _("There is no such object."), 404)


@api.exception_handler(RequestDataTooBig)
def too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return problem(request, _("The body is too large."), 413)


@api.exception_handler(UnreadablePostError)
def cut_off(request: HttpRequest, error: UnreadablePostError) -> HttpResponse:
    return problem(request, _("The body did not arrive whole."), 400)


def problem(request: HttpRequest, sentence: str, status: int, field: str = "") -> HttpResponse:
    answer = {"error": sentence, **({"field": field} if field else {})}
    return api.create_response(request, harmless(answer), status=status)


def with_tokens(urls: tuple[list[Any], str, str]) -> tuple[list[Any], str, str]:
    """Let operations check their callers themselves, so that nobody is sent to the sign-in page."""
    for pattern in urls[0]:
        assert isinstance(pattern, URLPattern)
        pattern.callback = login_not_required(with_json_refusals(pattern.callback))
    return urls


def with_json_refusals(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Say in JSON, too, that a method is not there."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        if response.status_code != 405:
            return response
        allowed = response["Allow"]
        refused = json_error(_("This address takes %(methods)s only.") % {"methods": allowed}, 405)
        refused["Allow"] = allowed
        return refused

    answered.csrf_exempt = True  # type: ignore[attr-defined]
    return answered
