"""How the API answers: JSON by orjson, errors as one sentence, large answers compressed."""

import zlib
from typing import Any

import orjson
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from ninja.errors import HttpError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from dashboard.api.schemas import Problem

# Below this size compressing costs more than it saves.
COMPRESS_FROM_BYTES = 1_000
GZIP_WINDOW = 31


class OrjsonRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return orjson.dumps(data, default=str)


class StrictParser(Parser):
    """Reads JSON bodies and queries; refuses NUL bytes, which PostgreSQL cannot keep, before anybody meets them."""

    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise HttpError(415, "Send the body as JSON, with Content-Type: application/json.")
        try:
            body = orjson.loads(request.body)
        except orjson.JSONDecodeError as error:
            raise HttpError(400, f"The body is not valid JSON: {error}.") from error
        if not isinstance(body, dict):
            raise HttpError(400, "The body must be a JSON object.")
        refuse_nul(body)
        return body

    def parse_querydict(self, data: Any, list_fields: list[str], request: HttpRequest) -> dict[str, Any]:
        values = super().parse_querydict(data, list_fields, request)
        refuse_nul(values)
        return values


def refuse_nul(value: Any) -> None:
    if isinstance(value, dict):
        refuse_nul([*value, *value.values()])
    elif isinstance(value, list):
        for item in value:
            refuse_nul(item)
    elif isinstance(value, str) and "\0" in value:
        raise HttpError(400, "The request holds a NUL character, which cannot be stored.")


def problems(*statuses: int) -> dict[int, Any]:
    """Return the documentation of the errors that an operation answers: 400, 401, 403 and those given."""
    return dict.fromkeys((400, 401, 403, *statuses), Problem)


def refusal(error: ValidationError) -> dict[str, str]:
    """Return the first sentence of a validation error, and the field that it is about."""
    if not hasattr(error, "error_dict"):
        return {"error": error.messages[0]}
    field, sentences = next(iter(error.message_dict.items()))
    return {"error": sentences[0]} if field == NON_FIELD_ERRORS else {"error": sentences[0], "field": field}


def compressed_json(request: HttpRequest, data: Any) -> HttpResponse:
    """Answer data as JSON, compressed at the cheapest level where the client takes gzip."""
    content = orjson.dumps(data)
    response = HttpResponse(content_type="application/json")
    patch_vary_headers(response, ["Accept-Encoding"])
    if len(content) >= COMPRESS_FROM_BYTES and "gzip" in request.headers.get("Accept-Encoding", ""):
        packer = zlib.compressobj(1, zlib.DEFLATED, GZIP_WINDOW)
        content = packer.compress(content) + packer.flush()
        response["Content-Encoding"] = "gzip"
    response.content = content
    return response
