"""The bounds of rules that a cache's charts show: from where on somebody is told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from alerts import scene
from alerts.gates import GATES
from alerts.incident_chart import SAME_UNIT
from alerts.judging import Target, counting
from alerts.rule import Override, Rule
from alerts.spec import Across, Per, Spec, Term
from alerts.spec_form import SpecError
from dashboard.charts import Bound, Chart
from dashboard.watched import Watched, WatchedNode

# Over a shard or a cache, these compare one node's value; sums and means have no line of their own.
OF_ONE_NODE = frozenset({Across.MAX, Across.MIN})


def bounded(charts: Iterable[Chart], watched: Watched) -> list[Chart]:
    """Return the charts with the bounds of the rules that judge what they show, in two queries."""
    found = list(_bounds(watched))
    return [replace(chart, bounds=tuple(one for one in found if one.metric in chart.of_nodes)) for chart in charts]


def _bounds(watched: Watched) -> Iterator[Bound]:
    target = Target("", _scene(watched))
    overrides: dict[int, list[Override]] = defaultdict(list)
    # One of a single node would be drawn over the lines of all.
    for override in Override.objects.filter(node=None):
        overrides[override.rule_id].append(override)
    for rule in Rule.objects.enabled():
        spec = _applying(rule, overrides[rule.pk], target)
        if spec and _is_drawn(spec):
            yield from _of_term(rule, spec.terms[spec.leading()])


def _scene(watched: Watched) -> scene.Watched:
    """Return the cache as rules see it, from what the page has read."""
    cache = watched.cache
    return scene.Watched(
        cache.pk,
        cache.name,
        cache.labels,
        cache.topology,
        cache.poll_interval_seconds,
        [_seen(one) for one in watched.nodes],
        {one.node.pk: one.facts.get("maxmemory_policy", "") for one in watched.nodes},
        is_remote=watched.is_remote,
        service=watched.service,
        engine=cache.engine,
    )


def _seen(one: WatchedNode) -> scene.WatchedNode:
    node, shard = one.node, one.node.shard
    return scene.WatchedNode(node.pk, node.address, node.role, node.shard_id, shard.number if shard else None)


def _applying(rule: Rule, overrides: Sequence[Override], target: Target) -> Spec | None:
    """Return the rule as it counts for the cache, None where it does not, or cannot be read any more."""
    try:
        spec = rule.spec
    except SpecError:
        return None
    cache = target.cache
    if not spec.where.fits_cache(cache.name, cache.labels) or not all(GATES[name][0](cache) for name in spec.gates):
        return None
    return counting(spec, overrides, target)


def _is_drawn(spec: Spec) -> bool:
    """Return whether the bound is an amount of what a node's line shows."""
    term = spec.terms[spec.leading()]
    is_of_nodes = spec.per is Per.NODE or (spec.per is not Per.SPREAD and term.across in OF_ONE_NODE)
    return is_of_nodes and term.guard is None and term.reading.how in SAME_UNIT


def _of_term(rule: Rule, term: Term) -> Iterator[Bound]:
    words = {"warning": _("%(rule)s (warning)"), "critical": _("%(rule)s (critical)")}
    for level, value in (("warning", term.warning), ("critical", term.critical)):
        if value is not None:
            label = words[level] % {"rule": rule.title}
            yield Bound(term.reading.metric, value, level, label, rule.key, term.is_above)
