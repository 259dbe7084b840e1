"""Run books of switches: begun, stepped forward and back, and left, as on their page."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from ninja import Path, Query, Router, Schema, Status
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from dashboard.api.answers import problems
from dashboard.api.schemas import Strict, Whole
from dashboard.api.switch_schemas import CacheName, Reasoned, SwitchKey
from dashboard.api.switches import cache_of, why
from dashboard.api.switches import found as switch_of
from dashboard.preflight_words import row
from dashboard.run_book_page import entry_words
from fleet.registration import ConflictError
from switches import run_book_steps
from switches.models import RunBook
from switches.run_book import BAKE_SECONDS, LEAST_BAKE, MOST_BAKE, STEPS
from switches.run_book_steps import STEPS_LIMIT

router = Router(tags=["switches"], auth=callers())
operators = callers(Role.OPERATOR)
RECORD_SHOWN = 200
Percent = Annotated[int, Field(ge=1, le=100), Whole]
Act = Annotated[
    Literal["check", "off", "repoint", "confirm", "advance", "undo", "stop"],
    Path(description="check looks at the target again; undo takes the last step back; stop leaves the run book."),
]
Place = Annotated[
    str,
    Query(max_length=60, description="Where you saw it: refuse the step (409) where it moved on."),
]


class NewRunBook(Reasoned):
    target: CacheName | None = Field(
        None, description="Where it shall point; left out: a switch that is off is turned on again where it points now."
    )
    percents: list[Percent] = Field(
        list(STEPS), min_length=1, max_length=STEPS_LIMIT, description="Of the canary: they rise, the last is 100."
    )
    bake_seconds: Annotated[int, Field(ge=LEAST_BAKE, le=MOST_BAKE), Whole] = BAKE_SECONDS


class PreflightFinding(Strict):
    check: str
    verdict: str = Field(description="ok, warning, failed or unknown.")
    sentence: str


class EntryAnswer(Schema):
    at: datetime
    by: str
    what: str
    sentence: str


class RunBookAnswer(Schema):
    id: int
    switch: str
    target: str | None
    step: str = Field(description="check, drain, deploy, canary; done, stopped or overtaken when it is over.")
    at: str = Field(description="Where exactly it is: name it with a step, so that nothing is done twice.")
    percents: list[int]
    position: int = Field(description="Which of the percentages a canary is at, from 0.")
    bake_seconds: int
    step_at: datetime
    checked_at: datetime | None
    findings: list[PreflightFinding] = Field(description="What the last look at the target found.")
    record: list[EntryAnswer] = Field(description="What was done, the newest first.")
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
    "/{switch_key}/run-book",
    auth=operators,
    response={201: RunBookAnswer, **problems(404, 409, 413, 415)},
    operation_id="begin_run_book",
    summary="Begin a run book: off, re-point, on",
)
def begin_run_book(request: HttpRequest, switch_key: SwitchKey, body: NewRunBook) -> Status[dict[str, Any]]:
    """Nothing is turned off by it yet: first comes the look at the target."""
    switch, target = switch_of(switch_key), cache_of("target", body.target)
    book = run_book_steps.begin(switch, signed_in(request), target, why(body), body.bake_seconds, body.percents)
    return Status(201, answer(book))


@router.post(
    "/{switch_key}/run-book/{act}",
    auth=operators,
    response={200: RunBookAnswer, **problems(404, 409)},
    operation_id="step_run_book",
    summary="Take a step of the run book, forward or back",
)
def step_run_book(request: HttpRequest, switch_key: SwitchKey, act: Act, at: Place | None = None) -> dict[str, Any]:
    """`confirm` is for the end of a deployment: the first instances of the canary are let in."""
    book = found(switch_key)
    if at not in {None, book.at}:
        raise ConflictError(_("The run book is no longer at this step. Look at it again."))
    run_book_steps.ACTS[act](book, signed_in(request))
    return answer(book)


def found(key: str) -> RunBook:
    book = RunBook.objects.open().select_related("switch", "target").filter(switch__key=key).first()
    if book is None:
        raise Http404
    return book


def answer(book: RunBook) -> dict[str, Any]:
    own = {"switch", "target", "findings", "record"}
    findings = [(one["check"], row(one)) for one in book.findings]
    return {
        **{name: getattr(book, name) for name in RunBookAnswer.model_fields if name not in own},
        "switch": book.switch.key,
        "target": book.target.name if book.target else None,
        "findings": [{"check": check, "verdict": told.verdict, "sentence": told.sentence} for check, told in findings],
        "record": [
            {"at": entry.at, "by": entry.by, "what": entry.what, "sentence": str(entry_words(entry))}
            for entry in book.entries.all()[:RECORD_SHOWN]
        ],
    }
