"""A caller of the API that checks each answer against what the API says of itself."""

from functools import cache
from typing import Any

import jsonschema_rs
from django.http import HttpResponse
from django.test import Client

from accounts.tests.cast import bearer_of
from config.api import api

ROOT = "/api/v1"


@cache
def schema() -> dict[str, Any]:
    return dict(api.get_openapi_schema())


def call(role: str, method: str, path: str, body: Any = None, **extra: Any) -> Any:
    """Call as a user of the role ("" for nobody); return the answer, checked against the documentation."""
    headers = {**(bearer_of(role) if role else {}), **extra.pop("headers", {})}
    given = {"data": body, "content_type": "application/json"} if body is not None else {}
    answer = getattr(Client(), method)(f"{ROOT}{path}", headers=headers, **{**given, **extra})
    check_documented(method, path.split("?")[0], answer)
    return answer


def check_documented(method: str, path: str, answer: HttpResponse) -> None:
    operation = operation_of(f"{ROOT}{path}")[method]
    documented = operation["responses"].get(answer.status_code)
    assert documented is not None, f"{method} {path} answered {answer.status_code}, which is not documented"
    if "content" not in documented:
        assert answer.content == b""
        return
    assert answer["Content-Type"].split(";")[0] == "application/json"
    if "Content-Encoding" not in answer:
        shape = {**documented["content"]["application/json"]["schema"], "components": schema()["components"]}
        jsonschema_rs.validate(shape, answer.json())  # type: ignore[attr-defined]


def operation_of(path: str) -> dict[str, Any]:
    """Return the operations at a path, the plain one before those with parameters."""
    parts = path.split("/")
    known = {tuple(template.split("/")): found for template, found in schema()["paths"].items()}
    fits = [
        template
        for template in known
        if len(template) == len(parts)
        and all(given == wanted or wanted.startswith("{") for given, wanted in zip(parts, template, strict=True))
    ]
    operations: dict[str, Any] = known[min(fits, key=lambda template: sum(part.startswith("{") for part in template))]
    return operations
