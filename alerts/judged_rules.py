"""Which rules could be judged, where, and when: what tells a healthy rule from a dead one."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson
from django.db import connection
from django.db.models import Min, Q

from alerts.alert import EvaluationMark
from alerts.rule import Rule

COUNT = """
    UPDATE alerts_evaluationmark m SET instances = given.counts::jsonb, counted_at = %s
    FROM unnest(%s::bigint[], %s::text[]) AS given (cache_id, counts) WHERE m.cache_id = given.cache_id
"""
# A rule that is judged at every poll is written down this often.
EVERY = timedelta(minutes=1)
# Counts of caches that nobody judges any more (paused, unreachable) are not current.
CURRENT = timedelta(minutes=10)


def note(rules: Sequence[Rule], cache_ids: Collection[int], counts: Mapping[int, Counter[int]], at: datetime) -> None:
    """Write down what was judged at a tick, at most once a minute for each rule and cache."""
    matched = {rule_id for counted in counts.values() for rule_id in counted}
    stale = [rule.pk for rule in rules if rule.pk in matched and is_stale(rule.matched_at, at)]
    if stale:
        # Whoever holds one of these rows is writing the same; to wait for each other could be for ever.
        free = Rule.objects.filter(pk__in=stale).select_for_update(skip_locked=True)
        Rule.objects.filter(pk__in=[rule.pk for rule in free]).update(matched_at=at)
    due = Q(counted_at=None) | Q(counted_at__lte=at - EVERY) | Q(counted_at__gt=at)
    marks = list(EvaluationMark.objects.filter(due, cache__in=cache_ids).values_list("cache_id", flat=True))
    if marks:
        texts = [orjson.dumps(counts.get(cache_id, {}), option=orjson.OPT_NON_STR_KEYS).decode() for cache_id in marks]
        with connection.cursor() as cursor:
            cursor.execute(COUNT, [at, marks, texts])


def is_stale(noted_at: datetime | None, at: datetime) -> bool:
    return noted_at is None or noted_at <= at - EVERY or noted_at > at


@dataclass(frozen=True, slots=True)
class Judged:
    """What is judged now: how many targets, by rule and over how many caches; since when, None for not yet."""

    by_rule: Mapping[int, int]
    caches: int
    since: datetime | None

    @property
    def instances(self) -> int:
        return sum(self.by_rule.values())


def current(now: datetime) -> Judged:
    by_rule: Counter[int] = Counter()
    marks = EvaluationMark.objects.filter(counted_at__gt=now - CURRENT).values_list("instances", flat=True)
    for instances in marks:
        by_rule.update({int(rule_id): count for rule_id, count in instances.items()})
    since = Rule.objects.filter(matched_at__isnull=False).aggregate(first=Min("created_at"))["first"]
    return Judged(by_rule, len(marks), since)
