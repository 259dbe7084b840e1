"""Changing the tree of routes, with the audit: what the pages and the API do."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from alerts import hours, matchers
from alerts.matchers import MatcherError
from alerts.models import Channel
from alerts.route import Route, Step, Tree
from alerts.text import storable
from fleet.locking import locked

HOURS = ("weekdays", "starts", "ends", "zone")
TIMES = ("wait_seconds", "interval_seconds", "repeat_seconds")
FIELDS = ("name", "position", "matchers", "group_by", *TIMES, "goes_on", *HOURS)
LABELS_LIMIT, DEPTH_LIMIT, ROUTES_LIMIT = 10, 8, 500
# A route that told of news more often, or never again, would be a mistake.
SHORTEST_REPEAT, LONGEST_SECONDS = 60, 30 * 86_400
# Whoever waits longer for company is told too late.
LONGEST_WAIT = 600
FURTHEST = timedelta(days=731)
SHORTEST_STEP, LONGEST_STEP, STEPS_LIMIT = 60, 7 * 86_400, 10


def add(by: User, parent: Route, given: Mapping[str, Any], channels: Iterable[Channel]) -> Route:
    """Add a branch below another. Raise ValidationError, by field."""
    made = Route(parent=parent)
    if Route.objects.count() >= ROUTES_LIMIT or depth(parent) >= DEPTH_LIMIT:
        raise ValidationError(_("The tree is large enough: join routes before you add more."))
    with transaction.atomic():
        _locked(parent)
        _save(made, given, channels)
        AuditEntry.record(by, "route.add", made.name)
    return made


def change(by: User, route: Route, given: Mapping[str, Any], channels: Iterable[Channel] | None) -> Route:
    """Change a route; fields and channels that are not given stay. Raise ValidationError, by field."""
    with transaction.atomic():
        _locked(route)
        _save(route, given, channels)
        AuditEntry.record(by, "route.change", route.name)
    return route


def delete(by: User, route: Route) -> None:
    """Remove a branch with all below it. Raise ValidationError for the root."""
    if route.parent_id is None:
        raise ValidationError(_("The first route takes what no other takes: it stays."))
    with transaction.atomic():
        _locked(route).delete()
        AuditEntry.record(by, "route.delete", route.name)


def add_step(by: User, route: Route, after_seconds: int, channels: Sequence[Channel]) -> Step:
    """Add a step for when nobody acknowledges. Raise ValidationError, by field."""
    if not SHORTEST_STEP <= after_seconds <= LONGEST_STEP:
        raise ValidationError({"after_seconds": _("Give a time between a minute and 7 days.")})
    if not channels:
        raise ValidationError({"step_channels": _("Choose one channel at least.")})
    if route.steps.count() >= STEPS_LIMIT:
        raise ValidationError({"after_seconds": _("Give at most %(limit)d steps.") % {"limit": STEPS_LIMIT}})
    with transaction.atomic():
        made = Step.objects.create(route=_locked(route), after_seconds=after_seconds)
        made.channels.set(channels)
        AuditEntry.record(by, "route.add-step", route.name)
    return made


def delete_step(by: User, step: Step) -> None:
    with transaction.atomic():
        locked(step).delete()
        AuditEntry.record(by, "route.delete-step", step.route.name)


def _locked(route: Route) -> Route:
    """Lock a route, and the whole tree before it: nothing is added below a branch that is on its way out."""
    list(Route.objects.filter(parent=None).select_for_update(no_key=True))
    return locked(route)


def fill(route: Route, given: Mapping[str, Any]) -> Route:
    """Return the route with the fields that are given, not kept yet. Raise ValidationError, by field."""
    for name in FIELDS:
        if name in given:
            setattr(route, name, storable(given[name]))
    check(route)
    return route


def _save(route: Route, given: Mapping[str, Any], channels: Iterable[Channel] | None) -> None:
    fill(route, given).save()
    if channels is not None:
        route.channels.set(channels)


def check(route: Route) -> None:
    route.name = route.name.strip()
    if not 1 <= len(route.name) <= 100:
        raise ValidationError({"name": _("Give a name of 1 to %(limit)d characters.") % {"limit": 100}})
    try:
        route.matchers = [str(matcher) for matcher in matchers.typed(route.matchers)]
    except MatcherError as error:
        raise ValidationError({"matchers": str(error)}) from error
    if route.parent_id is None and route.matchers:
        raise ValidationError({"matchers": _("The first route takes everything: it has no matchers.")})
    if route.parent_id is not None and not route.matchers:
        raise ValidationError({"matchers": _("Give one matcher at least, such as cache=game-*.")})
    if len(route.group_by) > LABELS_LIMIT or not all(name and len(name) <= 63 for name in route.group_by):
        raise ValidationError({"group_by": _("Give at most %(limit)d labels.") % {"limit": LABELS_LIMIT}})
    check_times(route)
    if route.weekdays:
        hours.check(route)
    if route.weekdays and route.parent_id is None:
        raise ValidationError({"weekdays": _("The first route takes everything, at any hour.")})


def check_times(route: Route) -> None:
    if not SHORTEST_REPEAT <= route.repeat_seconds <= LONGEST_SECONDS:
        raise ValidationError({"repeat_seconds": _("Give a time between a minute and 30 days.")})
    if not 0 <= route.wait_seconds <= LONGEST_WAIT:
        raise ValidationError({"wait_seconds": _("Give a time of at most 10 minutes.")})
    if not 0 <= route.interval_seconds <= LONGEST_SECONDS:
        raise ValidationError({"interval_seconds": _("Give a time of at most 30 days.")})


def depth(route: Route) -> int:
    found, here = 1, route
    while here.parent is not None:
        here, found = here.parent, found + 1
    return found


def labels_of(lines: Sequence[str]) -> dict[str, str]:
    """Return the labels of lines such as cache=game. Raise ValidationError where one cannot be read."""
    pairs = [line.partition("=") for line in lines if line.strip()]
    if not all(name.strip() and sign for name, sign, _value in pairs):
        raise ValidationError({"labels": _("Write one label a line, such as cache=game-cache.")})
    return {name.strip(): value.strip() for name, _sign, value in pairs}


def moment_of(at: datetime | None, now: datetime) -> datetime:
    """Return when an alert is thought to fire, now where nothing is given. Raise ValidationError where it is far."""
    if at is not None and abs(at - now) > FURTHEST:
        raise ValidationError({"at": _("Give a time within two years.")})
    return at or now


def branches() -> list[tuple[int, Route]]:
    """Return all routes as they are looked at, each with its depth."""
    tree = Tree.load()

    def below(parent_id: int | None, level: int) -> Iterable[tuple[int, Route]]:
        for route in tree.children.get(parent_id, ()):
            yield level, route
            yield from below(route.pk, level + 1)

    return list(below(None, 0))
