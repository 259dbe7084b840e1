"""What counts where an exception of a rule holds, value by value, and where each of them comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from alerts.figures import figure, span
from alerts.rule import Override
from alerts.spec import Spec, Term
from alerts.spec_words import read_unit

BOUNDS = ("warning", "critical", "guard")


@dataclass(frozen=True, slots=True)
class Counting:
    """One value as it counts at a place; `source` says who set it."""

    label: str
    value: str
    source: str


def place(override: Override) -> str:
    """Return where an exception holds, in words."""
    named = override.node.address if override.node else override.cache.name if override.cache else ""
    return named or ", ".join(f"{key}={value}" for key, value in override.labels.items())


def counting(spec: Spec, override: Override, others: Sequence[Override]) -> list[Counting]:
    """Return what counts where an exception holds; wider exceptions give what it leaves open, the rule the rest."""
    return list(_values(spec, [*wider(override, others), override]))


def wider(override: Override, others: Sequence[Override]) -> list[Override]:
    """Return the exceptions that hold at the same place, too, and count less; those that count least first."""
    cache = override.node.cache if override.node else override.cache
    labels = cache.labels if cache else override.labels
    fitting = [
        other for other in others if other.width > override.width and other.fits(cache.pk if cache else 0, labels, None)
    ]
    return sorted(fitting, key=lambda one: (-one.width, one.pk))


def _values(spec: Spec, layers: Sequence[Override]) -> Iterator[Counting]:
    for index, term in enumerate(spec.terms):
        for name in BOUNDS:
            told = [(one, one.bounds[str(index)][name]) for one in layers if name in one.bounds.get(str(index), {})]
            yield from _value(_label(name, index, spec), getattr(term, name), told, layers, term)
    for label, own, field in ((_("for"), spec.hold, "hold"), (_("keep firing"), spec.keep, "keep")):
        told = [(one, getattr(one, field)) for one in layers if getattr(one, field) is not None]
        yield from _value(label, own, told, layers)


def _value(
    label: str,
    own: float | None,
    told: Sequence[tuple[Override, Any]],
    layers: Sequence[Override],
    term: Term | None = None,
) -> Iterator[Counting]:
    value, source = (told[-1][1], told[-1][0]) if told else (own, None)
    if value is None and source is None:
        return
    yield Counting(label, _words(value, term), _source(source, layers[-1]))


def _words(value: float | None, term: Term | None) -> str:
    """Return a bound in its unit, or without a term a time."""
    if value is None or (term is None and not value):
        return _("none")
    return figure(value, read_unit(term.reading)) if term else span(value)


def _label(name: str, index: int, spec: Spec) -> str:
    word = {"warning": _("warning bound"), "critical": _("critical bound"), "guard": _("bound")}[name]
    return (
        word if len(spec.terms) == 1 else _("%(bound)s of condition %(number)d") % {"bound": word, "number": index + 1}
    )


def _source(source: Override | None, here: Override) -> str:
    if source is None:
        return _("from the rule")
    return (
        _("from this exception") if source == here else _("from the exception for %(place)s") % {"place": place(source)}
    )
