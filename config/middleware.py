"""Refusals that concern every request."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase

from config.errors import bad_request, wrong_method


class NulMiddleware:
    """Refuses NUL characters in addresses, queries and cookies: PostgreSQL answers them with an error."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "%00" in request.META.get("QUERY_STRING", "") or "\0" in request.path_info + "".join(
            request.COOKIES.values()
        ):
            return bad_request(request, BadRequest())
        return self.get_response(request)


class MethodMiddleware:
    """Gives the refusal of a method, which Django leaves empty, its words."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        return wrong_method(request, response["Allow"]) if isinstance(response, HttpResponseNotAllowed) else response
