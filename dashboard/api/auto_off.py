"""Which rules may turn a switch off by themselves."""

from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Router, Schema
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from alerts.models import Rule
from dashboard.api.answers import problems
from dashboard.api.schemas import NO_NUL, Strict, Whole
from dashboard.api.switch_schemas import SwitchKey
from dashboard.api.switches import found
from switches import allowing
from switches.models import AutoOff, Switch

router = Router(tags=["switches"], auth=callers())
RuleKey = Annotated[str, Field(min_length=1, max_length=63, pattern=NO_NUL)]


class AutoOffGiven(Strict):
    rules: list[RuleKey] = Field(
        max_length=allowing.RULES_LIMIT, description="Keys of rules that are on; none takes the leave away."
    )
    cooldown_seconds: Annotated[int, Field(ge=60, le=604_800), Whole] = 3_600
    limit_per_day: Annotated[int, Field(ge=1, le=100), Whole] = 2


class AutoOffAnswer(Schema):
    rules: list[str]
    cooldown_seconds: int
    limit_per_day: int
    rests_until: str | None = Field(description="It does nothing before: it cools down, or did enough for a day.")


@router.get(
    "/{switch_key}/auto-off",
    response={200: AutoOffAnswer, **problems(404)},
    operation_id="get_auto_off",
    summary="Show which rules may turn a switch off",
)
def get_auto_off(request: HttpRequest, switch_key: SwitchKey) -> dict[str, Any]:
    return answer(found(switch_key))


@router.put(
    "/{switch_key}/auto-off",
    auth=callers(Role.OPERATOR),
    response={200: AutoOffAnswer, **problems(404, 413, 415)},
    operation_id="set_auto_off",
    summary="Say which rules may turn a switch off",
)
def set_auto_off(request: HttpRequest, switch_key: SwitchKey, body: AutoOffGiven) -> dict[str, Any]:
    """It is turned off while one of them fires as critical, and people are told. Nothing turns it on by itself."""
    switch = found(switch_key)
    check_rules(body.rules)
    allowing.allow(switch, signed_in(request), body.rules, body.cooldown_seconds, body.limit_per_day)
    return answer(switch)


def check_rules(keys: list[str]) -> None:
    known = set(Rule.objects.enabled().filter(key__in=keys).values_list("key", flat=True))
    if unknown := sorted(set(keys) - known):
        raise ValidationError({"rules": _("There is no rule %(key)s that is on.") % {"key": unknown[0]}})


def answer(switch: Switch) -> dict[str, Any]:
    kept = AutoOff.objects.filter(switch=switch).first() or AutoOff(switch=switch)
    until = kept.rests_until(timezone.now())
    same = {name: getattr(kept, name) for name in ("rules", "cooldown_seconds", "limit_per_day")}
    return {**same, "rests_until": until.isoformat() if until else None}
