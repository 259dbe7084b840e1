"""Watching switches by what alerts and polls say: canaries go up or are rolled back, and rules may turn one off.

Nothing here ever turns a switch on that is off.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.functions import Concat
from django.utils.translation import gettext as _

from alerts import incidents, scene, story
from alerts.alert import Alert, EvaluationMark
from alerts.decision import Decision
from alerts.languages import in_every_language, in_site_language
from alerts.message import Message, Severity
from alerts.models import Channel, Incident, Reason
from alerts.route import Tree
from fleet.models import Cache, Node
from switches import auto_off, changing, run_book_steps
from switches.changing import Why
from switches.models import AutoOff, RunBook, Switch

logger = logging.getLogger(__name__)
# A reason in the active language, whenever it is asked for.
Words: TypeAlias = Callable[[], str]
# Data of a canary may be missing for so long, at least.
PATIENCE_POLLS, LEAST_PATIENCE = 3, timedelta(seconds=30)
# A guard that did not look for so long knows nothing of the time between.
AWAY = timedelta(seconds=60)
TURNED_OFF, ROLLED_BACK, FORGOTTEN = "switch-auto-off:", "switch-rolled-back:", "switch-forgotten:"


def watch(now: datetime) -> None:
    """Look at all canaries, at what may be turned off, and at what was forgotten."""
    run_book_steps.catch_up()
    for pk in RunBook.objects.filter(step=RunBook.Step.CANARY).values_list("pk", flat=True):
        _tried(pk, now)
    for pk in AutoOff.objects.armed().values_list("pk", flat=True):
        turn_off_by_rule(pk, now)
    tell_forgotten(now)
    close_answered(now)


def _tried(pk: int, now: datetime) -> None:
    """Look at one canary; whoever moves it at the same moment wins."""
    try:
        watch_canary(pk, now)
    except ValidationError as error:
        logger.warning("Run book %s: %s", pk, error.messages[0])


def watch_canary(pk: int, now: datetime) -> None:
    """Roll one canary back, or let in more of it, or wait."""
    with transaction.atomic():
        rows = RunBook.objects.select_for_update(of=("self",), skip_locked=True).select_related("switch__cache_now")
        book = rows.filter(pk=pk, step=RunBook.Step.CANARY).first()
        if book is None:
            return
        cache, was_away = book.switch.cache_now, now - (book.looked_at or now) > AWAY
        gap = _gap(cache, now)
        if was_away:
            # Nobody watched: this percentage is baked again, and missing data have their patience.
            book.step_at = now
        book.looked_at = now
        if not gap or was_away:
            book.seen_at = now
        book.save(update_fields=["looked_at", "seen_at", "step_at"])
        if why := (_alarm(cache, book) or _missing(cache, book, gap, now)) if cache else gap:
            run_book_steps.roll_back(book, in_site_language(why))
            _open(ROLLED_BACK, book.switch, _rolled_back(book.switch, why, now))
        elif not gap and now >= book.baked_at and not _is_pending(cache, book):
            run_book_steps.advance(book)


def _active(cache: Cache | None, book: RunBook) -> list[Alert]:
    """Return what is active at a cache and was not silenced: critical alerts, and all that came with the canary."""
    since = book.canary_at or book.step_at
    rows = Alert.objects.active().filter(cache=cache).exclude(kept_back=Decision.What.SILENCED)
    return list(rows.filter(Q(severity="critical") | Q(began_at__gte=since)).select_related("rule").order_by("pk"))


def _alarm(cache: Cache, book: RunBook) -> Words | None:
    firing = next((alert for alert in _active(cache, book) if alert.is_firing), None)
    if firing is None:
        return None

    def why() -> str:
        given = {"title": story.rule_title(firing), "place": story.place(firing) or cache.name}
        return _("the alert “%(title)s” of %(place)s fires") % given

    return why


def _is_pending(cache: Cache | None, book: RunBook) -> bool:
    return any(alert.state == Alert.State.PENDING for alert in _active(cache, book))


def _gap(cache: Cache | None, now: datetime) -> Words | None:
    """Return what is missing of a cache's data at this moment; None where all is there."""
    if cache is None:
        return lambda: _("the switch points at no cache")
    if cache.is_paused:
        return lambda: _("the cache is paused")
    nodes = [node for watched in scene.load([cache.pk], now, 0) for node in watched.nodes]
    primaries = [node for node in nodes if node.role == Node.Role.PRIMARY]
    if not primaries:
        return lambda: _("no primary is known")
    fresh = now - _patience(cache)
    late = next((node for node in primaries if not (node.answered_at and node.answered_at > fresh)), None)
    down = next((node for node in primaries if node.failing_since), None)
    if node := down or late:
        address = node.address
        return lambda: _("%(node)s does not answer") % {"node": address}
    if not EvaluationMark.objects.filter(cache=cache, judged_at__gt=fresh).exists():
        return lambda: _("nobody judges its rules")
    return None


def _missing(cache: Cache, book: RunBook, gap: Words | None, now: datetime) -> Words | None:
    """Return what has been missing for too long, or is known to be gone; None where there is nothing."""
    is_known = any(
        node.role == Node.Role.PRIMARY and node.is_down(now, cache.poll_interval_seconds)
        for watched in scene.load([cache.pk], now, 0)
        for node in watched.nodes
    )
    is_late = now - (book.seen_at or now) > _patience(cache)
    return gap if is_known or is_late else None


def _patience(cache: Cache) -> timedelta:
    return max(LEAST_PATIENCE, timedelta(seconds=PATIENCE_POLLS * cache.poll_interval_seconds))


def turn_off_by_rule(pk: int, now: datetime) -> None:
    """Turn a switch off where one of its rules fires as critical, unless it did so a short time ago, or often."""
    leave = AutoOff.objects.select_related("switch__cache_now").get(pk=pk)
    switch = leave.switch
    # What fired when people turned it on, they knew of.
    rows = Alert.objects.filter(
        cache=switch.cache_now_id,
        rule_key__in=leave.rules,
        state=Alert.State.FIRING,
        severity="critical",
        fired_at__gt=switch.stepped_at,
    )
    alert = rows.exclude(kept_back=Decision.What.SILENCED).select_related("rule").order_by("fired_at").first()
    if alert is None or leave.rests_until(now):
        return

    def why() -> str:
        return _("“%(title)s” is critical") % {"title": story.rule_title(alert)}

    try:
        with transaction.atomic():
            changed = changing.turn_off(switch, auto_off.NAME, Why(in_site_language(why)[:500]), switch.revision)
            _open(TURNED_OFF, changed, _turned_off(changed, why, now))
    except ValidationError as error:
        logger.warning("Switch %s was not turned off by a rule: %s", switch.key, error.messages[0])


@in_every_language
def _turned_off(switch: Switch, why: Words, now: datetime) -> Message:
    title = _("Switch %(switch)s was turned off by a rule: %(why)s") % {"switch": switch.key, "why": why()}
    text = _("No application uses the cache now. Find out why, and turn the switch on by hand.")
    return _message(switch, Severity.CRITICAL, title, text, now)


@in_every_language
def _rolled_back(switch: Switch, why: Words, now: datetime) -> Message:
    """Tell people: the alerts of the cache are told to nobody from now on, as nobody uses it."""
    title = _("The canary of switch %(switch)s was rolled back: %(why)s") % {"switch": switch.key, "why": why()}
    text = _("No application uses the cache now. Find out why; then the run book goes on, or leads back.")
    return _message(switch, Severity.CRITICAL, title, text, now)


@in_every_language
def _forgotten(switch: Switch, now: datetime) -> Message:
    title = _("Switch %(switch)s has been off for a week") % {"switch": switch.key}
    text = _("Turn it on, or retire it; while it is off, alerts of its cache are told to nobody.")
    return _message(switch, Severity.WARNING, title, text, now)


@in_every_language
def _answered(incident: Incident, key: str, now: datetime) -> Message:
    text = _("People have turned the switch %(switch)s on again, or retired it.") % {"switch": key}
    return Message(incident.heading, Severity(incident.severity), now, text, incident.cache_name)


def _message(switch: Switch, severity: Severity, title: str, text: str, now: datetime) -> Message:
    cache = switch.cache_now
    name = cache.name if cache else ""
    labels = {**(cache.labels if cache else {}), "cache": name, "switch": switch.key, "severity": str(severity)}
    return Message(title, severity, now, text, name or "shardwatch", labels=labels)


def tell_forgotten(now: datetime) -> None:
    """Tell once of each switch that has been off for a week, even where people closed what was told."""
    told = Incident.objects.filter(
        subject=Concat(Value(FORGOTTEN), OuterRef("key")), opened_at__gt=OuterRef("stepped_at")
    )
    for switch in Switch.objects.overdue(now).exclude(Exists(told)).select_related("cache_now"):
        _open(FORGOTTEN, switch, _forgotten(switch, now))


def _open(kind: str, switch: Switch, message: Message) -> None:
    cache, at = switch.cache_now, message.at
    channels = Channel.objects.filter(pk__in=Tree.load().way(message.labels, at).channel_ids)
    told = {"told_at": at, "told_severity": str(message.severity)}
    fields = {"cache": cache, "cache_name": cache.name if cache else "", **told}
    incidents.open_incident(kind + switch.key, Reason.SWITCHED_OFF, message, channels, **fields)


def close_answered(now: datetime) -> None:
    """End what was told of switches that people have turned on again, or retired."""
    kinds = Q(subject__regex=f"^({TURNED_OFF}|{ROLLED_BACK}|{FORGOTTEN})")
    for incident in Incident.objects.open().filter(kinds, reason=Reason.SWITCHED_OFF):
        key = incident.subject.partition(":")[2]
        if not Switch.objects.off().filter(key=key).exists():
            incidents.close_incident(incident, Reason.RECOVERED, _answered(incident, key, now))
