"""Error answers: JSON below /api/, pages elsewhere."""

import logging
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views import defaults

from collectors.failures import printable

API_PREFIX = "/api/"
SENTENCE_LIMIT = 1_000
# A PostgreSQL that restarts is back within seconds.
RETRY_AFTER = 5
AWAY = (OperationalError, InterfaceError)

logger = logging.getLogger(__name__)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path_info.startswith(API_PREFIX):
        return json_error(_("The request cannot be read."), 400)
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path_info.startswith(API_PREFIX):
        return json_error(_("You may not do this."), 403)
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path_info.startswith(API_PREFIX):
        return json_error(_("There is nothing at this address; /api/v1/openapi.json lists what there is."), 404)
    return defaults.page_not_found(request, exception)


def wrong_method(request: HttpRequest, allowed: str) -> HttpResponse:
    """Say which methods an address takes: to people as a page, to programs as a line."""
    sentence = _("This address takes %(methods)s only.") % {"methods": allowed}
    if "text/html" in request.headers.get("Accept", ""):
        answer = render(request, "405.html", {"sentence": sentence, "takes_forms": allowed == "POST"}, status=405)
    else:
        answer = HttpResponse(f"{sentence}\n", status=405, content_type="text/plain; charset=utf-8")
    answer["Allow"] = allowed
    return answer


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer what a view raised; Django calls this while the exception is handled."""
    cause = sys.exc_info()[1]
    if isinstance(cause, AWAY):
        logger.warning("The database did not answer %s: %s", request.path, printable(str(cause), SENTENCE_LIMIT))
        return database_away(request)
    if request.path_info.startswith(API_PREFIX):
        return json_error("Shardwatch made an error; the log of the web process says why.", 500)
    return defaults.server_error(request)


def database_away(request: HttpRequest) -> HttpResponse:
    """Say that the database is away: 503, and when to ask again."""
    if request.path_info.startswith(API_PREFIX):
        answer: HttpResponse = json_error(_("The database does not answer; ask again in a few seconds."), 503)
    else:
        answer = render(request, "503.html", status=503)
    answer["Retry-After"] = str(RETRY_AFTER)
    return answer


def json_error(sentence: str, status: int) -> JsonResponse:
    return JsonResponse(harmless({"error": sentence}), status=status)


def harmless(problem: dict[str, str]) -> dict[str, str]:
    """Return an error without what could drive a terminal: it may repeat what a caller or a server sent."""
    return {name: printable(words, SENTENCE_LIMIT) for name, words in problem.items()}
