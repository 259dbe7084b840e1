"""Switches as operators see and change them. What applications read is switches/gate.py."""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Path, Query, Router, Status

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from collectors.series import RangeError
from dashboard.api.answers import problems
from dashboard.api.paging import PageQuery
from dashboard.api.series import moment
from dashboard.api.switch_schemas import (
    ChangePage,
    Decision,
    NewPlan,
    NewSwitch,
    PlanAnswer,
    PlanEnd,
    ProofAnswer,
    ProposalAnswer,
    ReaderAnswer,
    Reasoned,
    Repoint,
    Retire,
    SwitchAnswer,
    SwitchDetail,
    SwitchEdit,
    SwitchGiven,
    SwitchKey,
    SwitchList,
    TurnOff,
    TurnOn,
    is_storable,
)
from fleet.models import Cache
from switches import approving, changing, proof, schedules
from switches.changing import Why
from switches.models import Plan, Proposal, Switch

router = Router(tags=["switches"], auth=callers())
operators = callers(Role.OPERATOR)
LISTED = 50
Changed = {200: SwitchAnswer, **problems(404, 409, 413, 415)}


@router.get("", response={200: SwitchList, **problems()}, operation_id="list_switches", summary="List switches")
def list_switches(request: HttpRequest) -> dict[str, Any]:
    """Retired ones are left out."""
    rows = Switch.objects.in_use().select_related("cache_now", "cache_next")
    return {"switches": [answer(row) for row in rows]}


@router.post(
    "",
    auth=operators,
    response={201: SwitchAnswer, **problems(409, 413, 415)},
    operation_id="add_switch",
    summary="Make a switch",
)
def add_switch(request: HttpRequest, body: NewSwitch) -> Status[dict[str, Any]]:
    """It is on for everybody at first."""
    return Status(201, answer(changing.create(signed_in(request), body.key, given(body), why(body))))


@router.get(
    "/{switch_key}", response={200: SwitchDetail, **problems(404)}, operation_id="get_switch", summary="Show a switch"
)
def get_switch(request: HttpRequest, switch_key: SwitchKey) -> dict[str, Any]:
    """With the newest plans and proposals, whatever came of them."""
    switch = found(switch_key)
    plans, proposals = switch.plans.all()[:LISTED], switch.proposals.all()[:LISTED]
    return {**answer(switch), "plans": list(plans), "proposals": list(proposals)}


@router.patch(
    "/{switch_key}", auth=operators, response=Changed, operation_id="change_switch", summary="Change a switch"
)
def change_switch(request: HttpRequest, switch_key: SwitchKey, body: SwitchEdit) -> dict[str, Any]:
    """What it is, not whether it is on. The cache of a switch that is on is changed by off, repoint, on."""
    return answer(changing.edit(found(switch_key), signed_in(request), given(body), why(body), body.revision))


@router.post(
    "/{switch_key}/off", auth=operators, response=Changed, operation_id="turn_off", summary="Turn a switch off"
)
def turn_off(request: HttpRequest, switch_key: SwitchKey, body: TurnOff) -> dict[str, Any]:
    return answer(changing.turn_off(found(switch_key), signed_in(request), why(body), body.revision))


@router.post(
    "/{switch_key}/on",
    auth=operators,
    response={**Changed, 202: ProposalAnswer},
    operation_id="turn_on",
    summary="Turn a switch on, for some or for all",
)
def turn_on(request: HttpRequest, switch_key: SwitchKey, body: TurnOn) -> Status[Any]:
    """202 where it takes two people: another one approves the proposal."""
    made = approving.turn_on(found(switch_key), signed_in(request), why(body), body.revision, body.percent)
    return Status(202, made) if isinstance(made, Proposal) else Status(200, answer(made))


@router.post(
    "/{switch_key}/repoint",
    auth=operators,
    response=Changed,
    operation_id="repoint_switch",
    summary="Point a switch that is off at another cache",
)
def repoint(request: HttpRequest, switch_key: SwitchKey, body: Repoint) -> dict[str, Any]:
    cache = cache_of("cache", body.cache)
    return answer(changing.repoint(found(switch_key), signed_in(request), why(body), body.revision, cache))


@router.post(
    "/{switch_key}/retire", auth=operators, response=Changed, operation_id="retire_switch", summary="Retire a switch"
)
def retire(request: HttpRequest, switch_key: SwitchKey, body: Retire) -> dict[str, Any]:
    """For good: applications that ask for it hear that there is none, and its key is not used again."""
    return answer(changing.retire(found(switch_key), signed_in(request), why(body), body.revision))


@router.get(
    "/{switch_key}/changes",
    response={200: ChangePage, **problems(404)},
    operation_id="list_switch_changes",
    summary="List the changes of a switch",
)
def list_changes(request: HttpRequest, switch_key: SwitchKey, filters: Query[PageQuery]) -> dict[str, Any]:
    """The newest first."""
    rows = found(switch_key).changes.all()
    return {**filters.told(rows.count()), "changes": list(rows[filters.cut])}


@router.get(
    "/{switch_key}/proof",
    response={200: ProofAnswer, **problems(404)},
    operation_id="get_switch_proof",
    summary="Show whether a switch took effect",
)
def get_proof(request: HttpRequest, switch_key: SwitchKey) -> dict[str, Any]:
    switch = found(switch_key)
    told = proof.of(switch, timezone.now())
    counted = told.traffic
    same = ("state", "is_safe_to_repoint", "floor_per_second", "is_quiet", "connections", "looked_at", "look_failure")
    return {
        **{name: getattr(told, name) for name in (*same, "hits_per_second")},
        "key": switch.key,
        "missing": [str(missing.label) for missing in told.missing],
        "readers": [{name: getattr(reader, name) for name in ReaderAnswer.model_fields} for reader in told.readers],
        "commands_per_second": counted.remaining if counted else [],
        "own_per_second": counted.own if counted else None,
        "replication_per_second": counted.replication if counted else None,
    }


@router.post(
    "/{switch_key}/plans",
    auth=operators,
    response={201: PlanAnswer, **problems(404, 409, 413, 415)},
    operation_id="plan_switch",
    summary="Plan a change of a switch",
)
def add_plan(request: HttpRequest, switch_key: SwitchKey, body: NewPlan) -> Status[Plan]:
    """Off until a time, then people are asked. A switch that is changed meanwhile suspends the plan."""
    now = timezone.now()
    starts_at = time_of("starts_at", body.starts_at) or now
    ends_at = time_of("ends_at", body.ends_at)
    switch = found(switch_key)
    return Status(201, schedules.add(switch, signed_in(request), body.percent, starts_at, ends_at, why(body), now))


@router.post(
    "/{switch_key}/plans/{plan_id}/cancel",
    auth=operators,
    response={200: PlanAnswer, **problems(404, 409)},
    operation_id="cancel_switch_plan",
    summary="Cancel a planned change",
)
def cancel_plan(request: HttpRequest, switch_key: SwitchKey, plan_id: Path[int]) -> Plan:
    plan = plan_of(switch_key, plan_id)
    schedules.cancel(plan, signed_in(request))
    plan.refresh_from_db()
    return plan


@router.post(
    "/{switch_key}/plans/{plan_id}/extend",
    auth=operators,
    response={200: PlanAnswer, **problems(404, 409, 413, 415)},
    operation_id="extend_switch_plan",
    summary="Put off the end of a plan",
)
def extend_plan(request: HttpRequest, switch_key: SwitchKey, plan_id: Path[int], body: PlanEnd) -> Plan:
    plan, ends_at = plan_of(switch_key, plan_id), time_of("ends_at", body.ends_at)
    assert ends_at is not None
    schedules.extend(plan, signed_in(request), ends_at, timezone.now())
    plan.refresh_from_db()
    return plan


@router.post(
    "/{switch_key}/proposals/{proposal_id}",
    auth=operators,
    response=Changed,
    operation_id="decide_switch_proposal",
    summary="Agree to what another person proposed, or decline it",
)
def decide(request: HttpRequest, switch_key: SwitchKey, proposal_id: Path[int], body: Decision) -> dict[str, Any]:
    """One's own can only be declined."""
    proposal = proposal_of(switch_key, proposal_id)
    if body.agrees:
        return answer(approving.approve(proposal, signed_in(request)))
    approving.decline(proposal, signed_in(request))
    return answer(found(switch_key))


def answer(switch: Switch) -> dict[str, Any]:
    now = timezone.now()
    own = {"cache_now", "cache_next", "is_overdue", "is_unused"}
    return {
        **{name: getattr(switch, name) for name in SwitchAnswer.model_fields if name not in own},
        "cache_now": switch.cache_now.name if switch.cache_now else None,
        "cache_next": switch.cache_next.name if switch.cache_next else None,
        "is_overdue": switch.is_overdue(now),
        "is_unused": switch.is_unused(now),
    }


def found(key: str) -> Switch:
    return get_object_or_404(Switch.objects.select_related("cache_now", "cache_next"), key=key)


def plan_of(key: str, plan_id: int) -> Plan:
    if not is_storable(plan_id):
        raise Http404
    return get_object_or_404(Plan.objects.select_related("switch"), pk=plan_id, switch__key=key)


def proposal_of(key: str, proposal_id: int) -> Proposal:
    if not is_storable(proposal_id):
        raise Http404
    return get_object_or_404(Proposal.objects.select_related("switch"), pk=proposal_id, switch__key=key)


def why(body: Reasoned) -> Why:
    return Why(body.reason, body.ticket)


def given(body: SwitchGiven) -> dict[str, Any]:
    """Return the fields that the caller named; null takes a cache away, and elsewhere keeps what is there."""
    named = body.model_dump(exclude_unset=True, exclude={"key", "reason", "ticket", "revision"})
    caches: dict[str, Any] = {
        name: cache_of(name, named.pop(name)) for name in ("cache_now", "cache_next") if name in named
    }
    return {**{name: value for name, value in named.items() if value is not None}, **caches}


def cache_of(field: str, name: str | None) -> Cache | None:
    cache = Cache.objects.filter(name=name).first() if name else None
    if name and cache is None:
        raise ValidationError({field: _("There is no cache with this name.")})
    return cache


def time_of(field: str, text: str | None) -> datetime | None:
    try:
        return moment(text) if text else None
    except RangeError as error:
        raise ValidationError({field: str(error)}) from error
