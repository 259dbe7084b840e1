"""Changes at a time: what is planned, what is due, and the question at its end."""

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from accounts.models import User
from fleet.registration import ConflictError
from switches import changing
from switches.changing import Why
from switches.models import Plan, Switch
from switches.switch import ALL

LATEST = timedelta(days=366)
State = Plan.State


def add(
    switch: Switch, by: User, percent: int, starts_at: datetime, ends_at: datetime | None, why: Why, now: datetime
) -> Plan:
    """Plan a change. Raise ValidationError, by field, for one that cannot be."""
    why = why.check()
    if not 0 <= percent <= ALL:
        raise ValidationError({"percent": _("Give a whole number from 0 to 100.")})
    if starts_at > now + LATEST:
        raise ValidationError({"starts_at": _("Plan at most a year ahead.")})
    check_end(ends_at, max(starts_at, now), now)
    with transaction.atomic():
        plan = Plan.objects.create(
            switch=switch,
            percent=percent,
            starts_at=max(starts_at, now),
            ends_at=ends_at,
            reason=why.reason,
            ticket=why.ticket,
            author=by.username,
            revision=switch.revision,
        )
        changing.audit(by, "switch.plan", switch, percent=percent, at=plan.starts_at.isoformat(), reason=why.reason)
    return plan


def check_end(ends_at: datetime | None, start: datetime, now: datetime) -> None:
    if ends_at is not None and not start < ends_at <= now + LATEST:
        raise ValidationError({"ends_at": _("The end must lie after the start, and within a year.")})


def extend(plan: Plan, by: User, ends_at: datetime, now: datetime) -> None:
    """Answer the question at a plan's end with "not yet". Raise ValidationError, ConflictError."""
    check_end(ends_at, now, now)
    with transaction.atomic():
        if not _move(plan, [State.RUNNING, State.ASKING], State.RUNNING, ends_at=ends_at):
            raise ConflictError(_("The plan is over."))
        changing.audit(by, "switch.extend", plan.switch, until=ends_at.isoformat())


def cancel(plan: Plan, by: User) -> None:
    """Drop a plan, or the question at its end; the switch stays as it is. Raise ConflictError where it is over."""
    with transaction.atomic():
        if not _move(plan, Plan.OPEN, State.CANCELLED):
            raise ConflictError(_("The plan is over."))
        changing.audit(by, "switch.cancel", plan.switch, percent=plan.percent)


def keep(now: datetime) -> None:
    """Do what is due, ask where an end is reached, and drop questions that a change of the switch answered."""
    open_plans = Plan.objects.filter(switch__retired_at=None).select_related("switch").order_by("starts_at", "pk")
    for plan in open_plans.filter(state=State.WAITING, starts_at__lte=now):
        _begin(plan)
    overtaken = Plan.objects.filter(state__in=[State.RUNNING, State.ASKING]).exclude(revision=F("switch__revision"))
    Plan.objects.filter(pk__in=list(overtaken.values_list("pk", flat=True))).update(state=State.DONE)
    for plan in open_plans.filter(state=State.RUNNING, ends_at__lte=now):
        with transaction.atomic():
            if _move(plan, [State.RUNNING], State.ASKING):
                changing.audit(plan.author, "switch.ask", plan.switch, percent=plan.percent)


def _begin(plan: Plan) -> None:
    """Do what was planned. Where the switch is another one by now, the plan is put aside and people decide."""
    try:
        with transaction.atomic():
            if not _move(plan, [State.WAITING], State.RUNNING if plan.ends_at else State.DONE):
                return
            why = Why(plan.reason, plan.ticket)
            if plan.percent:
                changed = changing.turn_on(plan.switch, plan.author, why, plan.revision, plan.percent)
            else:
                changed = changing.turn_off(plan.switch, plan.author, why, plan.revision)
            Plan.objects.filter(pk=plan.pk).update(revision=changed.revision)
    except ValidationError as error:
        with transaction.atomic():
            if _move(plan, [State.WAITING], State.SUSPENDED):
                changing.audit(plan.author, "switch.suspend", plan.switch, reason=error.messages[0])


def _move(plan: Plan, before: list[State] | tuple[State, ...], after: State, **changes: object) -> bool:
    return Plan.objects.filter(pk=plan.pk, state__in=before).update(state=after, **changes) == 1
