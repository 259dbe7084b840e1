"""Turning on what needs two people: one proposes, another one agrees."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from fleet.registration import ConflictError
from switches import changing
from switches.changing import Why
from switches.models import Proposal, Switch


def turn_on(switch: Switch, by: User, why: Why, revision: int, percent: int) -> Switch | Proposal:
    """Turn on at once where one person may, else propose it. Raise ValidationError, ConflictError."""
    if not switch.needs_two_people or switch.can_use:
        return changing.turn_on(switch, by, why, revision, percent)
    why = why.check()
    if switch.revision != revision:
        raise ConflictError(_("Somebody changed this switch in the meantime. Load it again and repeat your change."))
    with transaction.atomic():
        Proposal.objects.waiting().filter(switch=switch).update(state=Proposal.State.STALE, decided_at=timezone.now())
        made = Proposal.objects.create(
            switch=switch,
            percent=percent,
            reason=why.reason,
            ticket=why.ticket,
            author=by.username,
            revision=revision,
        )
        AuditEntry.record(by, "switch.propose", switch.key, percent=percent, reason=why.reason)
    return made


def approve(proposal: Proposal, by: User) -> Switch:
    """Do what another person proposed. Raise ValidationError for one's own, ConflictError where it is overtaken."""
    if by.username == proposal.author:
        raise ValidationError(_("You proposed this yourself: another person must agree."))
    why = Why(proposal.reason, proposal.ticket)
    with transaction.atomic():
        if not proposal.decide(Proposal.State.APPROVED, by.username, timezone.now()):
            raise ConflictError(_("Somebody decided on it already."))
        return changing.turn_on(
            proposal.switch, proposal.author, why, proposal.revision, proposal.percent, approved_by=by.username
        )


def decline(proposal: Proposal, by: User) -> None:
    """Refuse what was proposed, or withdraw one's own. Raise ConflictError where it is decided."""
    with transaction.atomic():
        if not proposal.decide(Proposal.State.DECLINED, by.username, timezone.now()):
            raise ConflictError(_("Somebody decided on it already."))
        AuditEntry.record(by, "switch.decline", proposal.switch.key, percent=proposal.percent)
