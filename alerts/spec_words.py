"""What a rule means, in whole sentences, in the active language."""

from django.utils.translation import gettext as _

from alerts.figures import figure, span
from alerts.gates import GATES
from alerts.measures import DOWN, measure
from alerts.spec import Across, Join, NoData, Per, Spec, Term
from collectors.event import Kind as EventKind
from collectors.windows import Read, Reading


def meaning(spec: Spec) -> str:
    """Return when a rule fires, where it looks and when it is over: whole sentences."""
    return " ".join([_fires(spec), *places(spec), *ending(spec)])


def _fires(spec: Spec) -> str:
    given = {"when": condition(spec), "time": span(spec.hold)}
    if spec.hold:
        return _("Fires where, for %(time)s, %(when)s.") % given
    return _("Fires as soon as %(when)s.") % given


def ending(spec: Spec) -> list[str]:
    parts = []
    if spec.keep:
        parts.append(_("It is over once that was false for %(time)s.") % {"time": span(spec.keep)})
    if spec.no_data is NoData.ALERT:
        parts.append(_("A node without samples counts as bad."))
    elif spec.no_data is NoData.OK:
        parts.append(_("A node without samples counts as good."))
    if spec.calm:
        kinds = ", ".join(
            _("%(event)s (%(time)s)") % {"event": EventKind(kind).label, "time": span(seconds)}
            for kind, seconds in spec.calm.items()
        )
        parts.append(_("Nothing new begins after: %(kinds)s.") % {"kinds": kinds})
    if spec.hides:
        labels = ", ".join(spec.hides)
        parts.append(_("While it fires, other alerts of the same %(labels)s are not told.") % {"labels": labels})
    return parts


def condition(spec: Spec) -> str:
    """Return what must be true: one comparison, or a list of them."""
    words = [term_words(term, spec.per) for term in spec.terms]
    if len(words) == 1:
        return words[0]
    listed = "; ".join(words)
    return (_("all of this is true: %(list)s") if spec.join is Join.ALL else _("one of this is true: %(list)s")) % {
        "list": listed
    }


def term_words(term: Term, per: Per = Per.NODE) -> str:
    if term.reading.metric == DOWN.name:
        return _("it does not answer")
    return _("%(what)s is %(bounds)s") % {"what": what(term, per), "bounds": bounds(term)}


def what(term: Term, per: Per) -> str:
    """Return what is compared: a metric as it is read, over which nodes."""
    words = reading_words(term)
    if per in {Per.SHARD, Per.CACHE}:
        words = _("%(what)s (%(across)s)") % {"what": words, "across": Across(term.across).label}
    roles = {"primary": _("%(what)s (primaries only)"), "replica": _("%(what)s (replicas only)")}
    return roles[term.role] % {"what": words} if term.role else words


def reading_words(term: Term) -> str:
    reading = term.reading
    given = {"metric": reading.metric, "time": span(reading.seconds)}
    given["level"] = figure(reading.level, measure(reading.metric).unit)
    texts = {
        Read.LAST: _("%(metric)s"),
        Read.AVG: _("the mean of %(metric)s over %(time)s"),
        Read.MIN: _("the lowest %(metric)s of %(time)s"),
        Read.MAX: _("the highest %(metric)s of %(time)s"),
        Read.SUM: _("the sum of %(metric)s over %(time)s"),
        Read.RATE: _("the rate of %(metric)s over %(time)s"),
        Read.INCREASE: _("the increase of %(metric)s within %(time)s"),
        Read.SHARE: _("the share of the last %(time)s with %(metric)s above %(level)s"),
        Read.FORECAST: _("the time until %(metric)s reaches %(level)s, by its course of %(time)s,"),
        Read.DEVIATION: _("%(metric)s over %(time)s, as a multiple of the same hour a week ago,"),
    }
    return texts[reading.how] % given


def bounds(term: Term) -> str:
    """Return the bounds with their levels: "above 80% (critical: above 90%)"."""
    if term.guard is not None:
        return compared(term, term.guard)
    if term.warning is None:
        return _("%(bound)s (critical)") % {"bound": compared(term, term.critical)}
    if term.critical is None:
        return _("%(bound)s (warning)") % {"bound": compared(term, term.warning)}
    given = {"warning": compared(term, term.warning), "critical": compared(term, term.critical)}
    return _("%(warning)s (warning) or %(critical)s (critical)") % given


def compared(term: Term, bound: float | None) -> str:
    given = {"bound": figure(bound, unit(term))}
    if term.is_above:
        return (_("at least %(bound)s") if term.is_closed else _("above %(bound)s")) % given
    return (_("at most %(bound)s") if term.is_closed else _("below %(bound)s")) % given


def unit(term: Term) -> str:
    """Return the unit of what is compared with the bound."""
    found = read_unit(term.reading)
    return "" if found == "claim" else found


def read_unit(reading: Reading) -> str:
    """Return the unit of what a reading gives: seconds for a forecast, none of the metric's for shares of time."""
    own = {Read.FORECAST: "seconds", Read.SHARE: "ratio", Read.DEVIATION: "×"}
    found = measure(reading.metric).unit
    # What counts per second is an amount once it is added up.
    return own.get(reading.how) or (found.removesuffix("/s") if reading.how is Read.INCREASE else found)


def places(spec: Spec) -> list[str]:
    """Return what is judged by itself, and of which caches and nodes."""
    where = spec.where
    judged = {
        Per.NODE: _("Judged for each node."),
        Per.SHARD: _("Judged for each shard."),
        Per.CACHE: _("Judged for each cache."),
        Per.SPREAD: _("Judged for the spread between the nodes of a cache."),
    }
    labels = ", ".join(f"{key}={value}" for key, value in where.labels.items())
    only = {
        _("Only caches named %(name)s.") % {"name": where.cache}: where.cache != "*",
        _("Only caches with %(labels)s.") % {"labels": labels}: bool(labels),
        _("Only shard %(number)s.") % {"number": where.shard}: where.shard is not None,
        _("Only primaries."): where.role == "primary",
        _("Only replicas."): where.role == "replica",
        _("Only nodes with the address %(address)s.") % {"address": where.node}: where.node != "*",
    }
    gates = [_("Only if %(gate)s.") % {"gate": GATES[name][1]} for name in spec.gates]
    return [judged[Per(spec.per)], *(words for words, counts in only.items() if counts), *gates]
