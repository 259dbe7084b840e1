"""Rules as people write them, in YAML or JSON, and back: what cannot be read is named with its place."""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from django.utils.translation import gettext as _

from alerts.amounts import amount_of, expected
from alerts.durations import in_words, seconds_of
from alerts.gates import GATES
from alerts.measures import DOWN, is_counted, is_service, is_whole, measure
from alerts.spec import Across, Join, NoData, Per, Spec, Term, Where
from alerts.spec_words import read_unit
from collectors.event import Kind as EventKind
from collectors.metrics.lookup import UnknownMetricError
from collectors.windows import Read, Reading

KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")
# A plain last value may be so old before it counts as missing; counts are kept by the minute.
LAST_SECONDS, COUNTED_SECONDS = 60, 180
# The newest point of the service, which comes up to five minutes late by itself (collectors/cloud/windows.py).
SERVICE_SECONDS = 300
TEXTS = ("title", "area", "message", "why", "check", "runbook")
TEXT_LIMIT, TERM_LIMIT, LABELS_LIMIT, SHARD_LIMIT = 10_000, 10, 5, 2**31 - 1
NUMBER_LIMIT = 1e18
TOP = {"rule", *TEXTS, "when", "judged", "where", "for", "keep_firing", "no_data", "labels", "gates", "calm", "hides"}
TERM = {"metric", "read", "over", "level", "is", "warning", "critical", "value", "across", "role"}
WHERE = {"labels", "cache", "shard", "role", "node"}
SIGNS = {">": (True, False), ">=": (True, True), "<": (False, False), "<=": (False, True)}
ROLES = ("", "primary", "replica")


class SpecError(ValueError):
    """A rule that cannot be read; `errors` hold sentences by the place in the rule."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{place}: {words}" for place, words in errors.items()))
        self.errors = dict(errors)


def read_spec(given: object) -> Spec:
    """Return the rule of a mapping as people write it. Raise SpecError naming all that cannot be read."""
    reader = Reader(given, TOP, "")
    terms, join = _conditions(reader)
    texts = {name: reader.text(name) for name in TEXTS}
    texts["title"] = texts["title"] or reader.text("rule")
    per = Per(reader.choice("judged", Per.values, Per.NODE))
    _check_places(reader, terms, per)
    spec = Spec(
        key=reader.key("rule"),
        **texts,
        terms=terms,
        join=join,
        per=per,
        where=_where(reader),
        hold=reader.seconds("for"),
        keep=reader.seconds("keep_firing"),
        no_data=NoData(reader.choice("no_data", NoData.values, NoData.KEEP)),
        labels=reader.words("labels"),
        gates=tuple(reader.names("gates", sorted(GATES))),
        calm=reader.spans("calm", EventKind.values),
        hides=reader.label_names("hides"),
    )
    if reader.errors:
        raise SpecError(reader.errors)
    return spec


def _conditions(reader: "Reader") -> tuple[tuple[Term, ...], Join]:
    given = reader.given.get("when")
    if isinstance(given, Mapping) and len(given) == 1 and next(iter(given)) in set(Join):
        join = Join(next(iter(given)))
        parts = given[join.value]
    else:
        join, parts = Join.ALL, [given]
    if not isinstance(parts, Sequence) or isinstance(parts, str) or not 1 <= len(parts) <= TERM_LIMIT:
        reader.errors["when"] = _("Give 1 to %(limit)d conditions under “all” or “any”.") % {"limit": TERM_LIMIT}
        return (), join
    terms = tuple(_term(Reader(part, TERM, f"when.{index}", reader.errors)) for index, part in enumerate(parts, 1))
    if not reader.errors and all(term.guard is not None for term in terms):
        reader.errors["when"] = _("One condition must have a “warning” or a “critical” bound.")
    return terms, join


def _term(reader: "Reader") -> Term:
    how = Read(reader.choice("read", list(Read), Read.LAST))
    metric = _metric(reader)
    if is_whole(metric) and how is not Read.LAST:
        reader.wrong("read", _("Of a figure of the whole cache only the newest value is known."))
    is_above, is_closed = SIGNS[reader.choice("is", list(SIGNS), ">")]
    given, unit = len(reader.errors), _unit(metric, how)
    bounds = {name: reader.number(name, unit) for name in ("warning", "critical", "value")}
    if len(reader.errors) == given:
        _check_bounds(reader, bounds, is_above)
    level = reader.number("level", _unit(metric, Read.LAST))
    if level is None and how in {Read.SHARE, Read.FORECAST}:
        reader.wrong("level", _("“%(read)s” needs a level.") % {"read": how})
    return Term(
        Reading(metric, how, _window(reader, how, metric), level or 0.0),
        is_above,
        is_closed,
        bounds["warning"],
        bounds["critical"],
        bounds["value"],
        Across(reader.choice("across", Across.values, Across.MAX)),
        reader.choice("role", list(ROLES), ""),
    )


def _metric(reader: "Reader") -> str:
    name = reader.text("metric")
    if not name:
        reader.wrong("metric", _("Name a metric, such as memory_used_ratio."))
        return name
    try:
        measure(name)
    except UnknownMetricError as error:
        reader.wrong("metric", str(error))
    return name


def _unit(metric: str, how: Read) -> str:
    """Return the unit of what a reading gives; "" where there is no such metric, which is said of its name."""
    try:
        return read_unit(Reading(metric, how))
    except UnknownMetricError:
        return ""


def _window(reader: "Reader", how: Read, metric: str) -> int:
    seconds = reader.seconds("over")
    if how is Read.LAST or metric == DOWN.name:
        return seconds or default_seconds(metric)
    if not seconds:
        reader.wrong("over", _("“%(read)s” needs a time, such as 5m.") % {"read": how})
    return seconds


def default_seconds(metric: str) -> int:
    """Return how old a plain last value may be where the rule does not say."""
    return SERVICE_SECONDS if is_service(metric) else COUNTED_SECONDS if is_counted(metric) else LAST_SECONDS


def _check_places(reader: "Reader", terms: Sequence[Term], per: Per) -> None:
    """Figures of the service are no node's: only over a whole cache do both make one verdict."""
    if any(is_whole(term.reading.metric) for term in terms) and per is not Per.CACHE:
        reader.wrong("judged", _("Figures of key scans and switches are those of a whole cache: judge it by cache."))
        return
    told = {is_service(term.reading.metric) for term in terms}
    if True in told and (per is Per.SHARD or (False in told and per is Per.NODE)):
        reader.wrong(
            "judged",
            _("Figures of the service are not told by shard, and beside figures of nodes by cache only."),
        )


def _check_bounds(reader: "Reader", bounds: Mapping[str, float | None], is_above: bool) -> None:
    warning, critical, value = bounds["warning"], bounds["critical"], bounds["value"]
    if value is None and warning is None and critical is None:
        reader.wrong("", _("Give a “warning” or “critical” bound, or a “value” that only allows the others."))
    elif value is not None and (warning is not None or critical is not None):
        reader.wrong("value", _("“value” stands alone, without “warning” and “critical”."))
    elif warning is not None and critical is not None and (critical < warning if is_above else critical > warning):
        reader.wrong("critical", _("The critical bound must be further out than the warning one."))


def _where(reader: "Reader") -> Where:
    given = reader.given.get("where", {})
    if not given:
        return Where()
    part = Reader(given, WHERE, "where", reader.errors)
    shard = part.number("shard")
    if shard is not None and not (shard.is_integer() and 0 <= shard <= SHARD_LIMIT):
        part.wrong("shard", _("This must be a number."))
        shard = None
    return Where(
        part.words("labels"),
        part.text("cache") or "*",
        int(shard) if shard is not None else None,
        part.choice("role", list(ROLES), ""),
        part.text("node") or "*",
    )


class Reader:
    """Takes fields out of a mapping and collects what is wrong with them."""

    def __init__(self, given: object, allowed: set[str], place: str, errors: dict[str, str] | None = None) -> None:
        self.place, self.errors = place, {} if errors is None else errors
        self.given: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        if not isinstance(given, Mapping):
            self.wrong("", _("This must be a mapping of names to values."))
        for name in sorted(str(name) for name in self.given if name not in allowed)[:5]:
            self.wrong(
                name[:40], _("There is no such field. Known: %(names)s.") % {"names": ", ".join(sorted(allowed))}
            )

    def wrong(self, name: str, words: str) -> None:
        self.errors.setdefault(".".join(filter(None, (self.place, name))) or "rule", words)

    def text(self, name: str) -> str:
        value = self.given.get(name, "")
        if value is None:
            return ""
        if not isinstance(value, str | int | float) or len(str(value)) > TEXT_LIMIT or "\x00" in str(value):
            self.wrong(name, _("This must be a text of at most %(limit)d characters.") % {"limit": TEXT_LIMIT})
            return ""
        return str(value)

    def key(self, name: str) -> str:
        value = self.text(name)
        if not KEY.fullmatch(value):
            self.wrong(name, _("Use 1 to 63 small letters, digits and hyphens, beginning with a letter or digit."))
        return value

    def choice(self, name: str, allowed: Sequence[str], default: str) -> str:
        value = self.text(name) or default
        if value in allowed:
            return value
        self.wrong(name, _("This must be one of: %(names)s.") % {"names": ", ".join(filter(None, allowed))})
        return default

    def number(self, name: str, unit: str = "") -> float | None:
        """Return a number in this unit, None where none is given."""
        value = self.given.get(name)
        if value is None or value == "":
            return None
        number = math.nan
        with suppress(ValueError, OverflowError):
            if isinstance(value, str):
                number = amount_of(value, unit)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                number = float(value)
        # A database gives larger ones back as integers that no answer can hold.
        if not abs(number) <= NUMBER_LIMIT:
            self.wrong(name, expected(unit))
            return None
        return number

    def seconds(self, name: str) -> int:
        return self._seconds(name, self.given.get(name))

    def _seconds(self, name: str, value: object) -> int:
        try:
            return seconds_of(str(value if value is not None else 0).strip())
        except ValueError as error:
            self.wrong(name, str(error))
            return 0

    def words(self, name: str) -> dict[str, str]:
        value = self.given.get(name) or {}
        if not isinstance(value, Mapping) or not all(isinstance(one, str | int | float) for one in value.values()):
            self.wrong(name, _("This must be a mapping of names to texts."))
            return {}
        return {str(key)[:200]: str(one)[:200] for key, one in list(value.items())[:30]}

    def names(self, name: str, allowed: Sequence[str]) -> list[str]:
        value = self.given.get(name) or []
        if not isinstance(value, Sequence) or isinstance(value, str) or any(one not in allowed for one in value):
            self.wrong(name, _("This must be a list of: %(names)s.") % {"names": ", ".join(allowed)})
            return []
        return list(value)

    def label_names(self, name: str) -> tuple[str, ...]:
        value = self.given.get(name) or []
        if (
            not isinstance(value, Sequence)
            or len(value) > LABELS_LIMIT
            or not all(isinstance(one, str) and LABEL.fullmatch(one) for one in value)
        ):
            self.wrong(name, _("This must be a list of names of labels, such as cache and node."))
            return ()
        return tuple(dict.fromkeys(value))

    def spans(self, name: str, allowed: Sequence[str]) -> dict[str, int]:
        value = self.given.get(name) or {}
        if not isinstance(value, Mapping) or any(kind not in allowed for kind in value):
            self.wrong(name, _("This must give times for some of: %(names)s.") % {"names": ", ".join(allowed)})
            return {}
        return {str(kind): self._seconds(name, seconds) for kind, seconds in value.items()}


def written(spec: Spec) -> dict[str, Any]:
    """Return a rule as read_spec reads it, without what has its default."""
    when = [_written_term(term) for term in spec.terms]
    where = {
        "labels": dict(spec.where.labels),
        "cache": "" if spec.where.cache == "*" else spec.where.cache,
        "shard": spec.where.shard,
        "role": spec.where.role,
        "node": "" if spec.where.node == "*" else spec.where.node,
    }
    fields: dict[str, Any] = {
        "rule": spec.key,
        "title": spec.title,
        "area": spec.area,
        "when": {spec.join.value: when},
        "judged": "" if spec.per is Per.NODE else spec.per.value,
        "where": _filled(where),
        "for": in_words(spec.hold),
        "keep_firing": in_words(spec.keep),
        "no_data": "" if spec.no_data is NoData.KEEP else spec.no_data.value,
        "labels": dict(spec.labels),
        "gates": list(spec.gates),
        "calm": {kind: in_words(seconds) for kind, seconds in spec.calm.items()},
        "hides": list(spec.hides),
        **{name: getattr(spec, name) for name in TEXTS if name not in {"title", "area"}},
    }
    return _filled(fields)


def _written_term(term: Term) -> dict[str, Any]:
    reading = term.reading
    sign = next(sign for sign, claims in SIGNS.items() if claims == (term.is_above, term.is_closed))
    needs_level = reading.how in {Read.SHARE, Read.FORECAST}
    has_default = reading.how is Read.LAST and reading.seconds == default_seconds(reading.metric)
    return _filled(
        {
            "metric": reading.metric,
            "read": "" if reading.how is Read.LAST else reading.how.value,
            "over": "" if has_default else in_words(reading.seconds),
            "level": _plain(reading.level) if needs_level else None,
            "is": sign,
            "warning": _plain(term.warning),
            "critical": _plain(term.critical),
            "value": _plain(term.guard),
            "across": "" if term.across is Across.MAX else term.across.value,
            "role": term.role,
        }
    )


def _plain(number: float | None) -> float | None:
    """Return a whole number without its decimals."""
    return int(number) if number is not None and number == int(number) else number


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value not in ("", {}, [])}
