"""Run books of switches: where one stands, and the step that a pipeline takes."""

from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from ninja import Router, Schema

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from dashboard.api.answers import problems
from dashboard.api.switch_schemas import SwitchKey
from switches import run_book_steps
from switches.models import RunBook

router = Router(tags=["switches"], auth=callers())


class RunBookAnswer(Schema):
    id: int
    switch: str
    target: str | None
    step: str
    percents: list[int]
    position: int
    bake_seconds: int
    step_at: datetime
    author: str
    reason: str
    ticket: str


@router.get(
    "/{switch_key}/run-book",
    response={200: RunBookAnswer, **problems(404)},
    operation_id="get_run_book",
    summary="Show the run book that is under way",
)
def get_run_book(request: HttpRequest, switch_key: SwitchKey) -> dict[str, Any]:
    return answer(found(switch_key))


@router.post(
    "/{switch_key}/run-book/confirm",
    auth=callers(Role.OPERATOR),
    response={200: RunBookAnswer, **problems(404, 409)},
    operation_id="confirm_run_book",
    summary="Confirm that the configuration is deployed",
)
def confirm_run_book(request: HttpRequest, switch_key: SwitchKey) -> dict[str, Any]:
    """For the end of a deployment: the first instances of the canary are let in."""
    book = found(switch_key)
    run_book_steps.confirm(book, signed_in(request))
    return answer(book)


def found(key: str) -> RunBook:
    book = RunBook.objects.open().select_related("switch", "target").filter(switch__key=key).first()
    if book is None:
        raise Http404
    return book


def answer(book: RunBook) -> dict[str, Any]:
    names = ("id", "step", "percents", "position", "bake_seconds", "step_at", "author", "reason", "ticket")
    target = book.target.name if book.target else None
    return {**{name: getattr(book, name) for name in names}, "switch": book.switch.key, "target": target}
