"""Changing switches: the one road that pages, the API, plans and guards take.

Each change is one transaction: the switch at its next revision, the record of it, the audit, the marker on charts.
Readers hear of it when it is committed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from fleet.models import Cache
from fleet.registration import ConflictError, refuse_unstorable
from switches import admission, markers
from switches.models import Proposal, Switch, SwitchChange
from switches.switch import ALL

Kind = SwitchChange.Kind
REASON_LIMIT, TICKET_LIMIT = 500, 200
FIELDS = (
    "label",
    "cache_now",
    "cache_next",
    "fallback",
    "ttl_seconds",
    "owner",
    "note",
    "needs_two_people",
    "floor_per_second",
)


@dataclass(frozen=True, slots=True)
class Why:
    """The reason that a person gave for a change, and the ticket that it belongs to."""

    reason: str
    ticket: str = ""

    def check(self) -> "Why":
        """Return it without blanks around. Raise ValidationError where it cannot be kept."""
        reason, ticket = self.reason.strip(), self.ticket.strip()
        refuse_unstorable({"reason": reason, "ticket": ticket})
        if not 1 <= len(reason) <= REASON_LIMIT:
            words = _("Say why, in 1 to %(limit)d characters: others will ask.") % {"limit": REASON_LIMIT}
            raise ValidationError({"reason": words})
        if len(ticket) > TICKET_LIMIT:
            raise ValidationError({"ticket": _("Give at most %(limit)d characters.") % {"limit": TICKET_LIMIT}})
        return Why(reason, ticket)


def create(by: User | str, key: str, given: Mapping[str, Any], why: Why) -> Switch:
    """Make a switch, on for everybody. Raise ValidationError, ConflictError where the key is taken."""
    why, now = why.check(), timezone.now()
    switch = Switch(key=key, changed_at=now, stepped_at=now, created_at=now)
    _set(switch, given)
    try:
        with transaction.atomic():
            switch.save(force_insert=True)
            _record(switch, Kind.CREATED, {}, by, why)
    except IntegrityError as error:
        words = _("A switch “%(key)s” exists already, perhaps a retired one; choose another key.") % {"key": key}
        raise ConflictError({"key": [words]}) from error
    return switch


def edit(switch: Switch, by: User, given: Mapping[str, Any], why: Why, revision: int) -> Switch:
    """Change what a switch is, not whether it is on. Raise ValidationError, ConflictError."""
    lifts = switch.needs_two_people and given.get("needs_two_people") is False
    if lifts and not by.is_admin:
        words = _("Only an administrator may take this protection away.")
        raise ValidationError({"needs_two_people": words})
    with transaction.atomic():
        row = _locked(switch, revision)
        before = row.as_recorded()
        if row.can_use and _cache_of(given, row) != row.cache_now_id:
            words = _("Turn the switch off before you point it at another cache.")
            raise ValidationError({"cache_now": words})
        _set(row, given)
        return _save(row, Kind.EDITED, before, by, why)


def turn_off(switch: Switch, by: User | str, why: Why, revision: int | None = None) -> Switch:
    """Take the cache out of service for everybody. Raise ConflictError where it is off, or was changed."""
    with transaction.atomic():
        row = _locked(switch, revision)
        if not row.can_use:
            raise ConflictError(_("The switch is off already."))
        return _step(row, 0, Kind.OFF, by, why)


def turn_on(
    switch: Switch, by: User | str, why: Why, revision: int | None, percent: int = ALL, approved_by: str = ""
) -> Switch:
    """Let so many percent of the instances use the cache; a canary may go up and down.

    Raise ValidationError, ConflictError where the switch was changed meanwhile. Where turning on needs two people,
    switches/approving.py is the road.
    """
    if not 1 <= percent <= ALL:
        raise ValidationError({"percent": _("Give a whole number from 1 to 100.")})
    with transaction.atomic():
        row = _locked(switch, revision)
        if row.percent == percent:
            raise ConflictError(_("The switch is at %(percent)d %% already.") % {"percent": percent})
        if row.needs_two_people and not row.can_use and not approved_by:
            raise ValidationError(_("Turning this switch on needs two people: propose it, and let another one agree."))
        return _step(row, percent, Kind.ON if percent == ALL else Kind.STEP, by, why, approved_by)


def repoint(switch: Switch, by: User | str, why: Why, revision: int | None, cache: Cache | None = None) -> Switch:
    """Point an off switch at another cache, else at its next one; the old one becomes the next, for the way back.

    Raise ValidationError while the switch is on or where there is no other cache.
    """
    with transaction.atomic():
        row = _locked(switch, revision)
        target = cache or row.cache_next
        if row.can_use:
            raise ValidationError(_("Turn the switch off before you point it at another cache."))
        if target is None or target == row.cache_now:
            raise ValidationError({"cache": _("Name the cache that it shall point at: another one than now.")})
        before = row.as_recorded()
        markers.mark(row, Kind.REPOINTED, _name(by), why.reason, timezone.now())
        row.cache_now, row.cache_next = target, row.cache_now
        row.is_repointing = True
        return _save(row, Kind.REPOINTED, before, by, why)


def retire(switch: Switch, by: User, why: Why, revision: int) -> Switch:
    """Take a switch out of use for good; applications that ask for it hear that there is none."""
    with transaction.atomic():
        row = _locked(switch, revision)
        before = row.as_recorded()
        row.retired_at = timezone.now()
        return _save(row, Kind.RETIRED, before, by, why)


def _locked(switch: Switch, revision: int | None) -> Switch:
    """Return the row as it is now, locked. Raise ConflictError where it is no longer at the revision."""
    row = Switch.objects.select_for_update(of=("self",)).select_related("cache_now", "cache_next").get(pk=switch.pk)
    if row.retired_at is not None:
        raise ConflictError(_("The switch is retired."))
    if revision is not None and row.revision != revision:
        last = row.changes.first()
        words = _("%(by)s changed this switch in the meantime. Load it again and repeat your change.")
        raise ConflictError({NON_FIELD_ERRORS: [words % {"by": last.by if last else "?"}]})
    return row


def _step(row: Switch, percent: int, kind: Kind, by: User | str, why: Why, approved_by: str = "") -> Switch:
    before, lowers = row.as_recorded(), percent < row.percent
    row.percent, row.is_repointing, row.stepped_at = percent, False, timezone.now()
    if lowers or before["percent"] == 0:
        admission.lower(row, row.stepped_at)
    admission.admit(row, row.stepped_at)
    return _save(row, kind, before, by, why, approved_by)


def _save(
    row: Switch, kind: Kind, before: Mapping[str, Any], by: User | str, why: Why, approved_by: str = ""
) -> Switch:
    why = why.check()
    row.revision += 1
    row.changed_at = timezone.now()
    row.save()
    Proposal.objects.waiting().filter(switch=row).update(state=Proposal.State.STALE, decided_at=row.changed_at)
    _record(row, kind, before, by, why, approved_by)
    return row


def _record(
    row: Switch, kind: Kind, before: Mapping[str, Any], by: User | str, why: Why, approved_by: str = ""
) -> None:
    SwitchChange.objects.create(
        switch=row,
        revision=row.revision,
        at=row.changed_at,
        by=_name(by),
        approved_by=approved_by,
        kind=kind,
        before=before,
        after=row.as_recorded(),
        reason=why.reason,
        ticket=why.ticket,
    )
    audit(
        by,
        f"switch.{kind}",
        row,
        percent=row.percent,
        reason=why.reason,
        **({"ticket": why.ticket} if why.ticket else {}),
    )
    markers.mark(row, kind, _name(by), why.reason, row.changed_at)


def audit(by: User | str, action: str, switch: Switch, **detail: object) -> None:
    """Write down who did it: a user, or the name that a plan or a guard acts for."""
    user = by if isinstance(by, User) else None
    AuditEntry.objects.create(user=user, username=_name(by), action=action, target=switch.key, detail=detail)


def _name(by: User | str) -> str:
    return by.username if isinstance(by, User) else by


def _cache_of(given: Mapping[str, Any], row: Switch) -> int | None:
    cache = given.get("cache_now", row.cache_now)
    return cache.pk if cache else None


def _set(switch: Switch, given: Mapping[str, Any]) -> None:
    refuse_unstorable({name: value for name, value in given.items() if isinstance(value, str)})
    for name in FIELDS:
        if name in given:
            setattr(switch, name, given[name])
    switch.clean_fields(exclude=["cache_now", "cache_next"])
    if switch.cache_next and switch.cache_next == switch.cache_now:
        raise ValidationError({"cache_next": _("Name another cache than the one that it points at now.")})
