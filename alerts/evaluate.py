"""Judging rules: verdicts at a tick against what was known, and everything that changes in one transaction.

A cache is judged by whoever holds the lock of its mark, and never at a tick older than the last: samples
that come late are stored, but they begin and end nothing.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from alerts import database_clock, flap, judged_rules, judging, measures, rule_errors, scene, telling
from alerts.alert import FIRING_STATES, SEVERITIES, Alert, Transition, moment, state_of, stepped, stored
from alerts.change import Change, transition
from alerts.judging import Verdict
from alerts.message import Severity
from alerts.reason import Reason
from alerts.rule import Override, Rule
from alerts.scene import Watched
from collectors.cursors import raw_cursor
from switches import standing

logger = logging.getLogger(__name__)
ADD_MARKS = """
    INSERT INTO alerts_evaluationmark (cache_id, tick_at, judged_at, instances)
    SELECT id, 'epoch', statement_timestamp(), '{}' FROM fleet_cache c
    WHERE id = ANY(%s::bigint[]) AND NOT EXISTS (SELECT FROM alerts_evaluationmark m WHERE m.cache_id = c.id)
    ON CONFLICT DO NOTHING
"""
# A mark that lies ahead was made before the clock was set back: it counts no more.
MOVE_MARKS = """
    WITH locked AS (
        SELECT cache_id, tick_at FROM alerts_evaluationmark
        WHERE cache_id = ANY(%(caches)s::bigint[]) ORDER BY cache_id FOR UPDATE
    )
    UPDATE alerts_evaluationmark m SET tick_at = %(at)s, judged_at = statement_timestamp() FROM locked
    WHERE m.cache_id = locked.cache_id AND (locked.tick_at <= %(at)s OR locked.tick_at > %(ahead)s)
    RETURNING m.cache_id
"""


# A transaction with more changes would keep the first page waiting for the last incident.
CHANGES_AT_ONCE = 400


class TooManyError(Exception):
    """So much changes at a tick that it is written in parts, each of them some caches."""

    def __init__(self, parts: list[list[int]]) -> None:
        super().__init__(len(parts))
        self.parts = parts


@dataclass(slots=True)
class Outcome:
    """What came of one evaluation: changes in their order, and what could be judged."""

    changes: list[Change] = field(default_factory=list)
    instances: int = 0
    # By cache, how many targets each rule could judge.
    counts: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, other: "Outcome") -> None:
        self.changes += other.changes
        self.instances += other.instances
        self.counts |= other.counts

    def count(self, rule_id: int, cache_id: int, instances: int, known: int) -> None:
        self.instances += instances
        if known:
            self.counts[cache_id][rule_id] += known

    @property
    def matched(self) -> set[int]:
        return {rule_id for counted in self.counts.values() for rule_id in counted}


def evaluate(cache_ids: Collection[int], tick: int) -> Outcome:
    """Judge all rules on some caches as they stood at a tick, and write down what changed.

    Where very much changes it is written cache by cache, those that are critical first: nobody is paged before a
    transaction is over.
    """
    try:
        with transaction.atomic():
            return _evaluate(cache_ids, tick)
    except TooManyError as error:
        parts = error.parts
    whole = Outcome()
    for part in parts:
        whole.add(evaluate(part, tick))
    return whole


def _evaluate(cache_ids: Collection[int], tick: int) -> Outcome:
    ready = _lock(cache_ids, tick)
    if not ready:
        return Outcome()
    rules = list(Rule.objects.enabled())
    sound = [rule for rule in rules if _is_sound(rule)]
    rule_errors.note(rules, {rule.id for rule in sound}, moment(tick))
    outcome = _judge(rules, sound, _overrides(), ready, tick)
    telling.tell(outcome.changes, moment(tick))
    judged_rules.note(rules, ready, outcome.counts, moment(tick))
    return outcome


def _lock(cache_ids: Collection[int], tick: int) -> list[int]:
    """Lock the marks of the caches and return those that may be judged at this tick, marks moved on."""
    at = moment(tick)
    now = database_clock.now()
    skew = timedelta(seconds=settings.ALERT_SKEW_SECONDS)
    if abs(now - at) > skew:
        logger.warning("A tick is %d s off the database's clock: nothing is judged by it.", (at - now).total_seconds())
        return []
    with raw_cursor() as fast:
        fast.execute(ADD_MARKS, [list(cache_ids)], prepare=True)
        fast.execute(MOVE_MARKS, {"caches": list(cache_ids), "at": at, "ahead": now + skew}, prepare=True)
        return sorted(row[0] for row in fast.fetchall())


def _overrides() -> dict[int, list[Override]]:
    found: dict[int, list[Override]] = defaultdict(list)
    for override in Override.objects.select_related("node", "cache"):
        found[override.rule_id].append(override)
    return found


def _judge(
    rules: Sequence[Rule],
    sound: Sequence[Rule],
    overrides: dict[int, list[Override]],
    cache_ids: Collection[int],
    tick: int,
) -> Outcome:
    at = moment(tick)
    longest_calm = max((seconds for rule in sound for seconds in rule.spec.calm.values()), default=0)
    caches = scene.load(cache_ids, at, longest_calm)
    wanted = {reading for rule in sound for reading in rule.spec.readings()}
    down = measures.down(caches, at)
    found = measures.read(caches, at, wanted, down)
    silent = measures.silent(caches, at, down)
    book = Book(caches, tick, known_alerts(caches, at), standing.switched_off(cache_ids))
    outcome = Outcome()
    for rule in sound:
        changed = overrides.get(rule.id, ())
        for cache, nodes in judging.looked_at(rule.spec, caches):
            is_busy = changed or (rule.id, cache.id) in book.busy
            known = None if is_busy else judging.known_where_calm(rule.spec, nodes, found, silent)
            if known is None:
                verdicts = list(judging.of_cache(rule.spec, changed, cache, nodes, found, silent))
                outcome.count(rule.id, cache.id, *book.enter_all(rule, verdicts))
            else:
                outcome.count(rule.id, cache.id, len(nodes), known)
    book.close_missing(known={rule.pk for rule in rules}, sound={rule.pk for rule in sound})
    if len(book.changes) > CHANGES_AT_ONCE and len(book.caches) > 1:
        raise TooManyError(in_parts(book.changes, book.caches))
    book.save()
    outcome.changes = book.changes
    return outcome


def in_parts(changes: Iterable[Change], cache_ids: Collection[int]) -> list[list[int]]:
    """Return the caches in at least two parts of about CHANGES_AT_ONCE changes, those with critical ones first."""
    count, critical = Counter[int](), set[int]()
    for change in changes:
        cache_id = change.alert.cache_id or 0
        count[cache_id] += 1
        if change.begins and change.alert.severity == Severity.CRITICAL:
            critical.add(cache_id)
    parts: list[list[int]] = [[]]
    held = 0
    for cache_id in sorted(cache_ids, key=lambda one: (one not in critical, not count[one], one)):
        if parts[-1] and held + count[cache_id] > CHANGES_AT_ONCE:
            parts.append([])
            held = 0
        parts[-1].append(cache_id)
        held += count[cache_id]
    return parts


def _is_sound(rule: Rule) -> bool:
    why = rule_errors.words(rule)
    if why and not rule.failed_at:
        logger.error("The rule %s cannot be read: %s", rule.key, why)
    return not why


def known_alerts(caches: Iterable[Watched], at: datetime) -> Iterable[Alert]:
    """Return the alerts of these caches that are not over, or were a short time ago, locked."""
    lately = at - timedelta(seconds=flap.LONGEST_WINDOW)
    rows = Alert.objects.filter(~Q(state=Alert.State.RESOLVED) | Q(resolved_at__gt=lately))
    return rows.filter(cache__in=[cache.id for cache in caches]).select_for_update()


class Book:
    """The alerts of some caches, and what one tick changes of them; only `save` needs a database."""

    def __init__(
        self, caches: Iterable[Watched], tick: int, known: Iterable[Alert], switched_off: Collection[int] = ()
    ) -> None:
        self.caches = {cache.id: cache for cache in caches}
        self.tick, self.at = tick, moment(tick)
        self.switched_off = switched_off
        known = list(known)
        # Those of deleted rules have only their target left, and several may share one.
        self.orphans = [alert for alert in known if alert.rule_id is None and alert.state != Alert.State.RESOLVED]
        found = {(alert.rule_id, alert.target): alert for alert in known if alert.rule_id is not None}
        self.active = {key: alert for key, alert in found.items() if alert.state != Alert.State.RESOLVED}
        # Rules and caches of alerts that calm values end, too.
        self.busy = {(alert.rule_id, alert.cache_id) for alert in self.active.values()}
        self.firings = {key: alert.firings for key, alert in found.items()}
        self.seen: set[tuple[int | None, str]] = set()
        self.changes: list[Change] = []
        self._changed: list[Alert] = []

    def enter_all(self, rule: Rule, verdicts: Sequence[Verdict]) -> tuple[int, int]:
        """Enter verdicts; return how many they are, and how many with a value."""
        for verdict in verdicts:
            self.enter(rule, verdict)
        return len(verdicts), sum(verdict.is_known for verdict in verdicts)

    def enter(self, rule: Rule, verdict: Verdict) -> None:
        """Let a verdict move the clocks of its alert; most verdicts find no alert and make none."""
        # Not `pk`, which Django looks up in the model each time.
        key = (rule.id, verdict.target.key)
        alert = self.active.get(key)
        if alert is None and not verdict.level:
            return
        self.seen.add(key)
        # After a restart or failover nothing new begins for a while; what fires goes on, and ends.
        may_begin = verdict.target.cache.is_calm(verdict.spec.calm, self.at)
        if alert:
            alert.rule = rule
            self._move(alert, verdict, may_begin, is_new=False)
        elif may_begin:
            self._move(self._new(rule, verdict), verdict, may_begin, is_new=True)

    def _new(self, rule: Rule, verdict: Verdict) -> Alert:
        target = verdict.target
        return Alert(
            rule=rule,
            rule_key=rule.key,
            target=target.key,
            cache_id=target.cache.id,
            cache_name=target.cache.name,
            shard_id=target.shard_id,
            node_id=target.node.id if target.node else None,
            node_address=target.address,
            labels={**verdict.spec.labels, **target.labels},
            state="",
            firings=self.firings.get((rule.pk, target.key), []),
            began_at=self.at if verdict.since is None else moment(min(verdict.since, self.tick)),
            judged_at=self.at,
        )

    def _move(self, alert: Alert, verdict: Verdict, may_begin: bool, is_new: bool) -> None:
        level, spec = verdict.level, verdict.spec
        keep = flap.calm(spec) if alert.state == Alert.State.FLAPPING else spec.keep
        before = alert.clocks
        warning, critical = stepped(before, level, self.tick, spec.hold, keep, may_begin, verdict.since)
        was = (alert.state, alert.severity, alert.reason)
        state, reached = state_of(warning, critical)
        alert.warning_clock, alert.critical_clock = stored(warning), stored(critical)
        if state == Alert.State.FIRING != state_of(*before)[0]:
            alert.firings = flap.recent(alert.firings, self.tick, spec)
        alert.state, alert.judged_at = self._shown(alert, state), self.at
        alert.severity = SEVERITIES.get(reached, alert.severity)
        alert.reason = verdict.reason if level or level is None else Reason.THRESHOLD
        is_out = alert.cache_id in self.switched_off and not spec.is_about_switches
        if state != Alert.State.RESOLVED and is_out:
            alert.reason = Reason.SWITCHED_OFF
        # The value that broke the bound stays while the alert recovers: beside it a healthy one would mislead.
        if is_new or (level and verdict.value is not None):
            alert.value, alert.bound, alert.cause = verdict.value, verdict.bound, verdict.cause
        if alert.is_firing and was[0] not in FIRING_STATES:
            alert.fired_at = self.at
        if state == Alert.State.RESOLVED:
            alert.resolved_at = self.at
        self._note(alert, was, verdict)

    @staticmethod
    def _shown(alert: Alert, state: Alert.State) -> Alert.State:
        """Return the state that people see: what fires too often flaps until it is calm."""
        flaps = alert.state == Alert.State.FLAPPING or len(alert.firings) >= flap.TIMES
        return Alert.State.FLAPPING if flaps and state in FIRING_STATES else state

    def _note(self, alert: Alert, was: tuple[str, str, str], verdict: Verdict | None) -> None:
        self._changed.append(alert)
        if was != (alert.state, alert.severity, alert.reason):
            self.changes.append(Change(alert, was[0], was[1], verdict))

    def close_missing(self, known: set[int], sound: set[int]) -> None:
        """End alerts whose node left or whose rule no longer looks there, saying so; keep those of broken rules."""
        for alert in self.orphans:
            self.close(alert, Reason.RULE_DELETED)
        for key, alert in self.active.items():
            if key in self.seen:
                continue
            if alert.rule_id in known and alert.rule_id not in sound:
                self.keep(alert)
                continue
            if alert.rule_id in known and alert.target[:1] in {"n", "p"} and not self._is_present(alert):
                self.close(alert, Reason.NODE_LEFT)
            else:
                self.close(alert, Reason.RULE_CHANGED)

    def keep(self, alert: Alert) -> None:
        """Leave an alert as it is whose rule cannot be judged, and say so."""
        if alert.reason != Reason.EVALUATION_ERROR:
            was = (alert.state, alert.severity, alert.reason)
            alert.reason = Reason.EVALUATION_ERROR
            self._note(alert, was, None)

    def _is_present(self, alert: Alert) -> bool:
        cache = self.caches.get(alert.cache_id or 0)
        about = f"-{alert.target[1:]}" if alert.target[:1] == "p" else alert.target[1:]
        return cache is not None and any(str(node.id) == about for node in (*cache.nodes, *cache.places))

    def close(self, alert: Alert, reason: Reason) -> None:
        was = (alert.state, alert.severity, alert.reason)
        alert.state, alert.reason, alert.resolved_at = Alert.State.RESOLVED, reason, self.at
        alert.warning_clock = alert.critical_clock = []
        self._note(alert, was, None)

    def save(self) -> None:
        """Write the alerts and their transitions. One that never fired and is over leaves nothing behind."""
        silent = [a for a in self._changed if a.state == Alert.State.RESOLVED and not a.fired_at and not a.firings]
        Alert.objects.filter(pk__in=[alert.pk for alert in silent if alert.pk]).delete()
        gone = {id(alert) for alert in silent}
        kept = [alert for alert in self._changed if id(alert) not in gone]
        # The rows of new ones are whole when they are inserted.
        Alert.objects.bulk_update([alert for alert in kept if alert.pk], UPDATED)
        self._revive([alert for alert in kept if alert.pk is None])
        self.changes = [change for change in self.changes if id(change.alert) not in gone]
        Transition.objects.bulk_create([transition(change, self.at) for change in self.changes])

    def _revive(self, new: Sequence[Alert]) -> None:
        """Insert new alerts; a target that had an alert before keeps its row for the new episode."""
        if new:
            Alert.objects.bulk_create(
                new, update_conflicts=True, unique_fields=["rule", "target"], update_fields=[*UPDATED, *RENEWED]
            )


UPDATED = (
    "state",
    "severity",
    "reason",
    "value",
    "bound",
    "cause",
    "warning_clock",
    "critical_clock",
    "firings",
    "fired_at",
    "resolved_at",
    "judged_at",
)
RENEWED = ("began_at", "labels", "node_address", "cache_name", "rule_key", "told_at", "kept_back", "behind")
