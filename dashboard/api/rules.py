"""Rules, as people write them in YAML and JSON."""

from datetime import datetime
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Path, Router, Schema, Status
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from alerts import judged_rules, rule_changes, spec_words
from alerts.rule import Rule
from alerts.spec import Spec
from alerts.spec_form import SpecError, read_spec
from alerts.text import storable
from dashboard import rule_trial
from dashboard.api.answers import problems
from dashboard.api.schemas import Strict, Whole

router = Router(tags=["rules"], auth=callers())
operators = callers(Role.OPERATOR)
Key = Annotated[str, Path(max_length=63, pattern=r"^[a-z0-9][a-z0-9-]*$", description="The rule's name.")]
Text = Annotated[dict[str, Any], Field(max_length=50, description="docs/alerts.md says what it may hold.")]


class NewRule(Strict):
    text: Text


class RuleChange(Strict):
    text: Text | None = None
    is_enabled: bool | None = None
    revision: Annotated[int, Field(ge=1, le=2**31 - 1), Whole] | None = Field(
        None, description="Refuse the change (409) where the rule is no longer at this revision."
    )


class RuleAnswer(Schema):
    rule: str
    text: dict[str, Any]
    meaning: str = Field(description="The rule in one sentence; empty where it cannot be read.")
    broken: str = Field(description="Why it cannot be read; empty where it can.")
    origin: str = Field(description="pack, person or file.")
    is_enabled: bool
    revision: int
    instances: int = Field(description="How many targets it judges now.")
    matched_at: datetime | None = Field(description="When it last had a value to judge; null for a dead rule.")


class TrialOrder(Strict):
    text: Text
    days: Annotated[int, Field(ge=1, le=30), Whole] = 30


class EpisodeAnswer(Schema):
    cache: str
    place: str
    severity: str
    began_at: datetime
    fired_at: datetime
    ended_at: datetime | None = Field(description="Null where it went on until the end.")
    value: float | None
    bound: float | None
    flapped: bool


class RuleTrialAnswer(Schema):
    start: datetime
    end: datetime
    step_seconds: int = Field(description="What lasted shorter is not seen exactly.")
    nodes: int = Field(description="Nodes that were tried.")
    of_nodes: int = Field(description="Nodes that the rule would look at; more than those tried where they are many.")
    targets: int
    unknown_share: float | None = Field(
        description="Share of the time without a verdict; null where nothing is judged."
    )
    known_seconds: int = Field(description="Of how much of the time anything is known.")
    pending_only: int = Field(description="How often an alert waited and did not fire.")
    fired: int
    flaps: int
    pages: int = Field(description="Incidents that would have been opened.")
    pages_a_week: float | None = Field(
        description="Over the time of which anything is known; null where that is less than a day."
    )
    episodes: list[EpisodeAnswer] = Field(description="The newest hundred that fired.")


class Trials(Schema):
    before: RuleTrialAnswer | None = Field(
        description="The rule as it is kept; null where there is none, or it is the same."
    )
    after: RuleTrialAnswer


class RuleList(Schema):
    rules: list[RuleAnswer]


@router.get("", response={200: RuleList, **problems()}, operation_id="list_rules", summary="List rules")
def list_rules(request: HttpRequest) -> dict[str, Any]:
    judged = judged_rules.current(timezone.now()).by_rule
    return {"rules": [rule_answer(rule, judged.get(rule.pk, 0)) for rule in Rule.objects.all()]}


@router.post(
    "",
    auth=operators,
    response={201: RuleAnswer, **problems(413, 415)},
    operation_id="add_rule",
    summary="Add a rule",
)
def add_rule(request: HttpRequest, body: NewRule) -> Status[dict[str, Any]]:
    spec = spec_of(body.text)
    try:
        return Status(201, rule_answer(rule_changes.add(signed_in(request), spec), 0))
    except SpecError as error:
        raise as_refusal(error) from error


@router.post(
    "/try",
    auth=operators,
    response={200: Trials, **problems(413, 415)},
    operation_id="try_rule",
    summary="Show what a rule would have done in the last days",
)
def try_rule(request: HttpRequest, body: TrialOrder) -> dict[str, Any]:
    """Judged on what is stored; nothing is kept or sent. `before` is the rule of this name as it is kept."""
    spec = spec_of(body.text)
    kept = Rule.objects.filter(key=spec.key).first()
    *before, after = rule_trial.columns(spec, kept, timezone.now(), body.days)
    return {
        "before": rule_trial.answer(before[0].trial) if before else None,
        "after": rule_trial.answer(after.trial),
    }


@router.get("/{key}", response={200: RuleAnswer, **problems(404)}, operation_id="get_rule", summary="Show one rule")
def get_rule(request: HttpRequest, key: Key) -> dict[str, Any]:
    rule = get_object_or_404(Rule, key=key)
    return rule_answer(rule, judged_rules.current(timezone.now()).by_rule.get(rule.pk, 0))


@router.patch(
    "/{key}",
    auth=operators,
    response={200: RuleAnswer, **problems(404, 409, 413, 415)},
    operation_id="change_rule",
    summary="Change a rule, or switch it on or off",
)
def change_rule(request: HttpRequest, key: Key, body: RuleChange) -> dict[str, Any]:
    rule, by = get_object_or_404(Rule, key=key), signed_in(request)
    try:
        if body.text is not None:
            rule = rule_changes.change(by, rule, spec_of(body.text), body.revision)
    except SpecError as error:
        raise as_refusal(error) from error
    if body.is_enabled is not None:
        rule_changes.switch(by, rule, body.is_enabled)
    return get_rule(request, key)


@router.delete(
    "/{key}",
    auth=operators,
    response={204: None, **problems(404)},
    operation_id="delete_rule",
    summary="Delete a rule",
)
def delete_rule(request: HttpRequest, key: Key) -> Status[None]:
    """Its alerts end with that reason. Rules of the default pack can only be switched off."""
    rule_changes.delete(signed_in(request), get_object_or_404(Rule, key=key))
    return Status(204, None)


def spec_of(text: dict[str, Any]) -> Spec:
    try:
        return read_spec(storable(text))
    except SpecError as error:
        raise as_refusal(error) from error


def as_refusal(error: SpecError) -> ValidationError:
    return ValidationError({place: [words] for place, words in error.errors.items()})


def rule_answer(rule: Rule, instances: int) -> dict[str, Any]:
    same = ("text", "origin", "is_enabled", "revision", "matched_at")
    meaning, broken = "", ""
    try:
        meaning = spec_words.meaning(rule.spec)
    except SpecError as error:
        broken = str(error)
    known = {name: getattr(rule, name) for name in same}
    return known | {"rule": rule.key, "meaning": meaning, "broken": broken, "instances": instances}
