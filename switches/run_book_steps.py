"""The steps of run books, forward and back.

Each step is one transaction: the run book moves by a conditional UPDATE, the switch changes with it, and what was
done is written down. A worker that is killed leaves either all of it or nothing.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from accounts.models import User
from fleet.models import Cache
from fleet.registration import ConflictError
from switches import changing, preflight
from switches.changing import Why
from switches.models import RunBook, RunBookEntry, Switch, SwitchChange
from switches.run_book import LEAST_BAKE, MOST_BAKE, STEPS
from switches.switch import ALL

Step = RunBook.Step
What = RunBookEntry.What
# Who did it where nobody did.
NAME = "run book"
STEPS_LIMIT = 20


def begin(
    switch: Switch, by: User, target: Cache | None, why: Why, bake_seconds: int, percents: Sequence[int] = STEPS
) -> RunBook:
    """Begin with a look at the target; without one, with the way back into use. Raise ValidationError."""
    why, now = why.check(), timezone.now()
    _check(switch, target, percents, bake_seconds)
    book = RunBook(
        switch=switch,
        target=target,
        reason=why.reason,
        ticket=why.ticket,
        author=by.username,
        percents=list(percents),
        bake_seconds=bake_seconds,
        step=Step.CHECK if target else Step.DEPLOY,
        step_at=now,
        revision=switch.revision,
    )
    try:
        with transaction.atomic():
            book.save(force_insert=True)
            _note(book, by, What.BEGUN, now)
            changing.audit(by, "switch.run-book", switch, target=target.name if target else "", reason=why.reason)
    except IntegrityError as error:
        raise ConflictError(_("A run book of this switch is under way already.")) from error
    return book


def _check(switch: Switch, target: Cache | None, percents: Sequence[int], bake_seconds: int) -> None:
    if not 1 <= len(percents) <= STEPS_LIMIT or list(percents) != sorted(set(percents)) or percents[-1] != ALL:
        raise ValidationError({"percents": _("Give percentages that rise, the last of them 100.")})
    if percents[0] < 1:
        raise ValidationError({"percents": _("Give whole numbers from 1 to 100.")})
    if not LEAST_BAKE <= bake_seconds <= MOST_BAKE:
        raise ValidationError({"bake_seconds": _("Give a time from 10 seconds to a day.")})
    if switch.retired_at:
        raise ConflictError(_("The switch is retired."))
    if target and target == switch.cache_now:
        raise ValidationError({"target": _("The switch points at this cache already.")})
    if target is None and switch.can_use:
        raise ValidationError({"target": _("The switch is on: name the cache that it shall point at.")})
    if target is None and switch.cache_now is None:
        raise ValidationError({"target": _("The switch points at no cache that could be watched: turn it on by hand.")})


def check(book: RunBook, by: User) -> None:
    """Look at the target, and keep what was found."""
    if book.target is None:
        raise ValidationError(_("The target was removed: leave this run book."))
    findings = [finding.as_json() for finding in preflight.look(book.switch, book.target)]
    now = timezone.now()
    with transaction.atomic():
        _move(book, [Step.CHECK], Step.CHECK, findings=findings, checked_at=now)
        _note(book, by, What.CHECKED, now, failed=sum(one["verdict"] == "failed" for one in findings))


def turn_off(book: RunBook, by: User) -> None:
    """Leave the cache of now. Raise ValidationError where nobody looked at the target, or it cannot be used."""
    if book.checked_at is None:
        raise ValidationError(_("Look at the target before you leave the cache of now."))
    if any(one["verdict"] == "failed" for one in book.findings):
        raise ValidationError(_("The target cannot be used as it is: see what failed, mend it, and look again."))
    with transaction.atomic():
        _move(book, [Step.CHECK], Step.DRAIN)
        if book.switch.can_use:
            _follow(book, changing.turn_off(book.switch, by, _why(book), book.revision))
        _note(book, by, What.OFF, book.step_at)


def repoint(book: RunBook, by: User) -> None:
    """Point the switch at the target. That all have stopped is for the person to judge, who sees the proof."""
    if book.target is None:
        raise ValidationError(_("The target was removed: leave this run book."))
    with transaction.atomic():
        _move(book, [Step.DRAIN], Step.DEPLOY)
        _follow(book, changing.repoint(book.switch, by, _why(book), book.revision, book.target))
        _note(book, by, What.REPOINTED, book.step_at)


def confirm(book: RunBook, by: User) -> None:
    """Say that applications have the configuration of the target: the first of them are let in.

    Where turning on needs two people, another person than the author must say it.
    """
    agreed = by.username if by.username != book.author else ""
    if book.switch.needs_two_people and not agreed:
        raise ValidationError(_("Turning this switch on needs two people: let another person confirm."))
    with transaction.atomic():
        _move(book, [Step.DEPLOY], Step.CANARY, position=0)
        _stamp(book)
        _note(book, by, What.CONFIRMED, book.step_at)
        _let_in(book, book.author, agreed)


def advance(book: RunBook, by: User | str = NAME) -> None:
    """Let in the next percentage; after the last one the run book is done. Raise ConflictError where it moved on."""
    with transaction.atomic():
        if book.next_percent is None:
            _move(book, [Step.CANARY], Step.DONE)
            _note(book, by, What.DONE, book.step_at)
        else:
            _move(book, [Step.CANARY], Step.CANARY, position=book.position + 1)
            _let_in(book, by)


def _let_in(book: RunBook, by: User | str, agreed: str = "") -> None:
    _follow(book, changing.turn_on(book.switch, by, _why(book), book.revision, book.percent, approved_by=agreed))
    _note(book, by, What.PERCENT, book.step_at, percent=book.percent)


def undo(book: RunBook, by: User) -> None:
    """Take the last step back. Raise ValidationError, ConflictError."""
    with transaction.atomic():
        if book.step == Step.CANARY and book.position:
            _move(book, [Step.CANARY], Step.CANARY, position=book.position - 1)
            _follow(book, changing.turn_on(book.switch, by, _why(book), book.revision, book.percent))
        elif book.step == Step.CANARY:
            _move(book, [Step.CANARY], Step.DEPLOY, canary_at=None)
            _follow(book, changing.turn_off(book.switch, by, _why(book), book.revision))
        elif book.step == Step.DEPLOY and book.target:
            _move(book, [Step.DEPLOY], Step.DRAIN)
            _follow(book, changing.repoint(book.switch, by, _why(book), book.revision, book.switch.cache_next))
        elif book.step == Step.DRAIN:
            _move(book, [Step.DRAIN], Step.CHECK)
            agreed = by.username if by.username != book.author else ""
            _follow(book, changing.turn_on(book.switch, by, _why(book), book.revision, ALL, approved_by=agreed))
        else:
            raise ValidationError(_("There is no step to take back."))
        _note(book, by, What.BACK, book.step_at)


def roll_back(book: RunBook, words: str) -> None:
    """Turn a canary off by itself and say why; people decide whether it is tried again."""
    with transaction.atomic():
        _move(book, [Step.CANARY], Step.DEPLOY, position=0, canary_at=None)
        with translation.override(settings.LANGUAGE_CODE):
            why = Why((_("rolled back: %(why)s") % {"why": words})[:500], book.ticket)
        _follow(book, changing.turn_off(book.switch, NAME, why, book.revision))
        _note(book, NAME, What.ROLLED_BACK, book.step_at, why=words)


def stop(book: RunBook, by: User) -> None:
    """Leave the run book; the switch stays as it is."""
    with transaction.atomic():
        _move(book, RunBook.OPEN, Step.STOPPED)
        _note(book, by, What.STOPPED, book.step_at)


def catch_up() -> None:
    """Settle the run books whose switch somebody changed without them."""
    for book in RunBook.objects.overtaken().select_related("switch"):
        later = list(book.switch.changes.filter(revision__gt=book.revision))
        if all(change.kind == SwitchChange.Kind.EDITED and not _moves(change) for change in later):
            # A new owner or note changes nothing of what it does.
            RunBook.objects.filter(pk=book.pk, revision=book.revision).update(revision=book.switch.revision)
        else:
            overtake(book)


def _moves(change: SwitchChange) -> bool:
    """Return whether an edit pointed the switch elsewhere."""
    return bool(change.before["cache_now"] != change.after["cache_now"])


def overtake(book: RunBook) -> None:
    """End a run book: what it would do next is no longer what people want."""
    last = book.switch.changes.first()
    with transaction.atomic():
        _move(book, RunBook.OPEN, Step.OVERTAKEN)
        _note(book, last.by if last else NAME, What.OVERTAKEN, book.step_at)


def _move(book: RunBook, before: Sequence[Step], after: Step, **changes: Any) -> None:
    """Move the run book on from where we know it to be. Raise ConflictError where somebody was first."""
    now = timezone.now()
    same = RunBook.objects.filter(pk=book.pk, step=book.step, position=book.position, revision=book.revision)
    if book.step not in before or not same.update(step=after, step_at=now, **changes):
        raise ConflictError(_("The run book is no longer at this step. Look at the page again."))
    for name, value in {"step": after, "step_at": now, **changes}.items():
        setattr(book, name, value)


def _follow(book: RunBook, changed: Switch) -> None:
    RunBook.objects.filter(pk=book.pk).update(revision=changed.revision)
    book.revision, book.switch = changed.revision, changed


def _stamp(book: RunBook) -> None:
    """Begin the watch of a canary."""
    now = book.step_at
    RunBook.objects.filter(pk=book.pk).update(canary_at=now, looked_at=now, seen_at=now)
    book.canary_at = book.looked_at = book.seen_at = now


def _why(book: RunBook) -> Why:
    return Why(book.reason, book.ticket)


def _note(book: RunBook, by: User | str, what: RunBookEntry.What, at: datetime, **data: Any) -> None:
    name = by.username if isinstance(by, User) else by
    RunBookEntry.objects.create(run_book=book, at=at, by=name, what=what, data=data)


# The steps that people take, by the names that pages and the API give them.
ACTS: dict[str, Callable[[RunBook, User], None]] = {
    "check": check,
    "off": turn_off,
    "repoint": repoint,
    "confirm": confirm,
    "advance": advance,
    "undo": undo,
    "stop": stop,
}
