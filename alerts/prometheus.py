"""Rules as Prometheus' own, over the series of /metrics/fleet; what it cannot say is told with the reason."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Any

from django.utils.translation import gettext as _

from alerts.alert import SEVERITIES
from alerts.gates import GATES
from alerts.measures import DOWN
from alerts.prometheus_series import InexpressibleError, number, read
from alerts.spec import CRITICAL, WARNING, Across, Join, Level, NoData, Per, Spec, Term, Where
from collectors.windows import Read

LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
BY = {Per.NODE: "cache, instance", Per.SHARD: "cache, shard", Per.CACHE: "cache", Per.SPREAD: "cache"}


@dataclass(frozen=True, slots=True)
class Exported:
    """One rule as Prometheus' rules, one a level; `notes` say where it behaves differently."""

    spec: Spec
    rules: Sequence[dict[str, Any]]
    notes: Sequence[str] = field(default=())


def exported(spec: Spec) -> Exported:
    """Return a rule as Prometheus has it. Raise InexpressibleError."""
    if spec.where.labels:
        raise InexpressibleError(_("/metrics/fleet does not carry the labels of caches."))
    levels = {level: _condition(spec, level) for level in (WARNING, CRITICAL)}
    rules = [_rule(spec, level, expression) for level, expression in levels.items() if expression]
    return Exported(spec, rules, list(_notes(spec)))


def _rule(spec: Spec, level: Level, expression: str) -> dict[str, Any]:
    times = {"for": spec.hold, "keep_firing_for": spec.keep}
    return {
        "alert": spec.key,
        "expr": expression,
        **{name: f"{seconds}s" for name, seconds in times.items() if seconds},
        "labels": {name: untemplated(text) for name, text in labels(spec, level).items()},
        "annotations": {name: untemplated(text) for name, text in annotations(spec).items()},
    }


def labels(spec: Spec, level: Level) -> dict[str, str]:
    if odd := next((name for name in spec.labels if not LABEL.fullmatch(name)), None):
        raise InexpressibleError(_("“%(name)s” can be no label there.") % {"name": odd})
    return {**spec.labels, "severity": SEVERITIES[level]}


def annotations(spec: Spec) -> dict[str, str]:
    texts = {
        "summary": spec.title,
        "description": "\n".join(text for text in (spec.message, spec.why, spec.check) if text),
        "runbook_url": spec.runbook,
    }
    return {name: text for name, text in texts.items() if text}


def untemplated(text: str) -> str:
    """Return a text that Prometheus' templates leave as it is."""
    return text.replace("{{", '{{"{{"}}')


def _notes(spec: Spec) -> Iterable[str]:
    if spec.calm:
        yield _("it is not held back after events (calm)")
    if spec.no_data is not NoData.KEEP:
        yield _("missing samples are not counted (no_data)")
    metrics = {term.reading.metric for term in spec.terms}
    if DOWN.name in metrics:
        yield _("redis_up is 0 from the first failed poll on")
    if "connections_used_ratio" in metrics:
        yield _("links of the cluster bus are left out")
    if any(term.reading.how is Read.INCREASE for term in spec.terms):
        yield _("increase() extrapolates to the ends of its window")


def _condition(spec: Spec, level: Level) -> str:
    """Return the expression that is true from a level on; "" where the rule cannot reach that level."""
    terms = [_compared(spec, term, level) for term in spec.terms]
    if (spec.join is Join.ALL and not all(terms)) or not any(terms):
        return ""
    if level == WARNING and all(term.warning is None for term in spec.terms):
        return ""
    known = [term for term in terms if term]
    word = f" and on ({BY[spec.per]}) " if spec.join is Join.ALL else " or "
    return _gated(spec.gates, known[0] if len(known) == 1 else word.join(f"({term})" for term in known))


def _compared(spec: Spec, term: Term, level: Level) -> str:
    bound = term.guard if term.guard is not None else term.critical if level == CRITICAL else _mildest(term)
    if bound is None:
        return ""
    sign = (">" if term.is_above else "<") + ("=" if term.is_closed else "")
    return f"{_over_nodes(spec, term)} {sign} {number(bound)}"


def _mildest(term: Term) -> float | None:
    return term.warning if term.warning is not None else term.critical


def _over_nodes(spec: Spec, term: Term) -> str:
    """Return what is compared: one node's number, or what the nodes of a shard or cache come to."""
    each, by = read(term.reading, _selector(spec.where, term.role)), BY[spec.per]
    if spec.per is Per.NODE:
        return each
    if spec.per is Per.SPREAD:
        return f"(max by ({by}) ({each}) - min by ({by}) ({each}) and count by ({by}) ({each}) > 1)"
    return f"{Across(term.across).value} by ({by}) ({each})"


def _selector(where: Where, role: str) -> str:
    if role and where.role and role != where.role:
        raise InexpressibleError(_("It asks for both roles at once."))
    shard = "" if where.shard is None else str(where.shard)
    exact = [f"{name}={quoted(text)}" for name, text in (("role", role or where.role), ("shard", shard)) if text]
    globs = (("cache", where.cache), ("instance", where.node))
    return ", ".join([*exact, *(_matched(name, glob) for name, glob in globs if glob != "*")])


def _matched(name: str, glob: str) -> str:
    if not re.search(r"[*?\[]", glob):
        return f"{name}={quoted(glob)}"
    # Python's own ends of a pattern; Prometheus anchors by itself.
    pattern = translate(glob).removeprefix("(?s:").removesuffix(r")\Z")
    return f"{name}=~{quoted(pattern)}"


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# By gate: how what is judged is kept or dropped. Gates are claims about whole caches.
COUNT = "count by (cache) "
ALL_EVICT = (
    f'({COUNT}(redis_instance_info{{maxmemory_policy=~"allkeys-.*"}})'
    f' == {COUNT}(redis_instance_info{{maxmemory_policy!=""}}))'
)
GATED = {
    "cluster": f'and on (cache) {COUNT}(redis_instance_info{{redis_mode="cluster"}})',
    "not-cluster": f'unless on (cache) {COUNT}(redis_instance_info{{redis_mode="cluster"}})',
    "replicated": f'and on (cache) {COUNT}(redis_up{{role="replica"}})',
    "several-shards": f'and on (cache) ({COUNT}(count by (cache, shard) (redis_up{{role="primary"}})) > 1)',
    "keeps": f"unless on (cache) {ALL_EVICT}",
    "evicts": f"and on (cache) {ALL_EVICT}",
}


def _gated(gates: Sequence[str], expression: str) -> str:
    if untold := next((name for name in gates if name not in GATED), None):
        raise InexpressibleError(_("/metrics/fleet does not tell whether %(gate)s.") % {"gate": GATES[untold][1]})
    return " ".join([f"({expression})" if gates else expression, *(GATED[name] for name in gates)])
