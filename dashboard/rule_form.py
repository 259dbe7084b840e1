"""The form of a rule: the same words as its YAML, field by field; what cannot be read is said at its field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from alerts.gates import GATES
from alerts.rule import Rule
from alerts.spec import Across, Join, NoData, Per, Spec
from alerts.spec_form import SIGNS, TERM_LIMIT, SpecError, read_spec
from collectors.windows import Read

# Conditions that a form has place for, though a rule as YAML may have more.
TERMS = 4
# Names that an address brings along.
TEXT_LIMIT = 100
READ_WORDS = {
    Read.LAST: _("newest value"),
    Read.AVG: _("mean"),
    Read.MIN: _("lowest"),
    Read.MAX: _("highest"),
    Read.SUM: _("sum"),
    Read.RATE: _("rate"),
    Read.INCREASE: _("increase"),
    Read.SHARE: _("share of time above a level"),
    Read.FORECAST: _("time until a level"),
    Read.DEVIATION: _("multiple of last week"),
}
SIGN_WORDS = {">": _("above"), ">=": _("at least"), "<": _("below"), "<=": _("at most")}
PLAIN = ("title", "area", "judged", "keep_firing", "no_data", "message", "why", "check", "runbook")
WHERE = ("cache", "shard", "role", "node")
# What a rule is called comes before its conditions, as people write it.
NAMING = ("rule", "title", "area")


def text(label: Any, **given: Any) -> forms.CharField:
    return forms.CharField(label=label, required=False, max_length=10_000, **given)


def lines(label: Any, hint: Any) -> forms.CharField:
    area = forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "class": "form-control mono"})
    return text(label, help_text=hint, widget=area)


def choice(label: Any, choices: list[tuple[str, Any]], **given: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=choices, required=False, **given)


ROLES: list[tuple[str, Any]] = [
    ("", _("both roles")),
    ("primary", _("primaries only")),
    ("replica", _("replicas only")),
]


TYPED = ("metric", "over", "level", "warning", "critical", "value")


class TermForm(forms.Form):
    """One condition."""

    bound_field_class = StyledField
    # As people count them.
    number = 1

    metric = text(_("Metric"), widget=forms.TextInput(attrs={"list": "metrics", "autocomplete": "off"}))
    read = choice(_("Read as"), [(str(one), words) for one, words in READ_WORDS.items()])
    over = text(_("Over"), help_text=_("The time that it looks back, such as 5m. The newest value needs none."))
    level = text(_("Level"), help_text=_("Only for the share of time above a level, and for the time until one."))
    # "is" is no name in Python.
    sign = choice(_("Comparison"), [(sign, SIGN_WORDS[sign]) for sign in SIGNS])
    warning = text(_("Warning bound"), help_text=_("Such as 0.8 or 80%, 1.5 GiB, 200 ms."))
    critical = text(_("Critical bound"), help_text=_("Either bound may be empty."))
    value = text(
        _("Bound that only allows the others"),
        help_text=_("Instead of the other two: unless it is passed, the rule is not true."),
    )
    across = choice(_("Of several nodes"), list(Across.choices), help_text=_("Where shards or caches are judged."))
    role = choice(_("Role"), ROLES)

    def given(self) -> dict[str, Any]:
        found = {name: self.data.get(self.add_prefix(name), "").strip() for name in self.fields}
        found["is"] = found.pop("sign")
        return {name: value for name, value in found.items() if value}

    @property
    def is_blank(self) -> bool:
        """Return whether nobody wrote anything in it; what is chosen from a list is always chosen."""
        return all(self[name].value() in (None, "") for name in TYPED)


class RuleForm(forms.Form):
    """All but the conditions."""

    bound_field_class = StyledField

    rule = text(_("Name"), help_text=_("Small letters, digits and hyphens. It stays."))
    title = text(_("Title"), help_text=_("What people read in messages."))
    area = text(_("Area"), help_text=_("The heading that it stands under: memory, cpu, or one of yours."))
    join = choice(_("Conditions"), [("all", _("all must be true")), ("any", _("one must be true"))])
    judged = choice(_("Judged for"), list(Per.choices), help_text=_("Each of them has an alert of its own."))
    cache = text(_("Caches named"), help_text=_("game-* or empty for all"))
    labels_of_caches = lines(_("Caches with the labels"), _("One a line: env=production"))
    shard = text(_("Shard"), help_text=_("Its number; empty for all"))
    role = choice(_("Role"), ROLES)
    node = text(_("Nodes with the address"), help_text=_("10.0.0.* or empty for all"))
    # "for" is no name in Python.
    hold = text(_("For"), help_text=_("How long it must be true: 5m"))
    keep_firing = text(_("Keep firing"), help_text=_("How long it must be false again: 5m"))
    no_data = choice(
        _("Without samples"),
        list(NoData.choices),
        help_text=_("What it makes of a node that answers no more. Whether nodes answer has a rule of its own."),
    )
    labels = lines(_("Labels of its alerts"), _("One a line: team=game"))
    gates = forms.MultipleChoiceField(
        label=_("Only if"),
        choices=[(name, words) for name, (_gate, words) in GATES.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    calm = lines(_("Nothing new after"), _("A kind of event and a time, one a line: restart=5m"))
    hides = text(_("Stands for alerts with the same"), help_text=_("Labels with commas between them: cache, node"))
    message = text(
        _("Message"),
        help_text=_("{value}, {bound}, {cache}, {node} and labels are filled in, in all texts and in the run book."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    why = text(_("Why it matters"), widget=forms.Textarea(attrs={"rows": 2}))
    check = text(_("First check"), widget=forms.Textarea(attrs={"rows": 2}))
    runbook = text(_("Run book"), help_text=_("An address, or what to do."))


def pairs(given: str) -> dict[str, str]:
    found = (line.partition("=") for line in given.splitlines() if line.strip())
    return {name.strip(): value.strip() for name, _sign, value in found}


def as_lines(given: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}={value}" for name, value in given.items())


class RulePage:
    """The forms of one rule, filled from what is stored or from what somebody typed."""

    def __init__(self, data: Any = None, rule: Rule | None = None, begun: Mapping[str, Any] | None = None) -> None:
        self.rule = rule
        stored: Mapping[str, Any] = rule.text if rule else begun or {}
        self.form = RuleForm(data, initial=initial_of(stored))
        first = terms_of(mapping(stored.get("when")))
        posted = [] if data is None else [index for index in range(TERM_LIMIT) if f"t{index}-metric" in data]
        places = [
            TermForm(data, prefix=f"t{index}", initial=term_initial(first[index]) if index < len(first) else {})
            for index in range(max(TERMS, len(first), max(posted, default=0) + 1))
        ]
        # Those that say something, one at least; the rest is folded up.
        self.terms = [place for place in places if not place.is_blank] or places[:1]
        self.spare = [place for place in places if place not in self.terms]
        for number, place in enumerate((*self.terms, *self.spare), start=1):
            place.number = number

    @classmethod
    def begun(cls, metric: str, cache: str) -> RulePage:
        """Return the forms of a new rule, on a metric of a cache where one is named."""
        return cls(begun={"when": {"metric": metric[:TEXT_LIMIT]}, "where": {"cache": cache[:TEXT_LIMIT]}})

    @property
    def naming(self) -> list[forms.BoundField]:
        """Return the fields of what the rule is called; its name stays as it is once it has one."""
        return [self.form[name] for name in NAMING if name != "rule" or self.rule is None]

    @property
    def rest(self) -> list[forms.BoundField]:
        return [field for field in self.form if field.name not in NAMING]

    def text(self) -> dict[str, Any]:
        """Return what was typed, as YAML would hold it."""
        data = {name: self.form.data.get(name, "").strip() for name in self.form.fields if name != "gates"}
        given: dict[str, Any] = {name: data[name] for name in ("rule", *PLAIN) if data.get(name)}
        if data["hold"]:
            given["for"] = data["hold"]
        if self.rule:
            given["rule"] = self.rule.key
        given["when"] = {data["join"] or Join.ALL.value: [term.given() for term in self.terms]}
        where = {name: data[name] for name in WHERE if data[name]}
        if data["labels_of_caches"]:
            where["labels"] = pairs(data["labels_of_caches"])
        more: dict[str, Any] = {"where": where, "labels": pairs(data["labels"]), "calm": pairs(data["calm"])}
        more["hides"] = [name.strip() for name in data["hides"].split(",") if name.strip()]
        more["gates"] = [name for name in self.form.data.getlist("gates") if name]  # type: ignore[attr-defined]
        return given | {name: value for name, value in more.items() if value}

    def spec(self) -> Spec:
        """Return the rule that was typed. Raise SpecError."""
        return read_spec(self.text())

    def refuse(self, error: SpecError) -> None:
        """Show what cannot be read at its field."""
        self.form.is_valid()
        for term in self.terms:
            term.is_valid()
        for place, words in error.errors.items():
            form, name, _number = self._field(place)
            form.add_error(name, words)

    def named(self, error: SpecError) -> list[tuple[str, str]]:
        """Return what cannot be read, each with the words of the form for its place."""
        return [(self._words(place), words) for place, words in error.errors.items()]

    def _words(self, place: str) -> str:
        form, name, number = self._field(place)
        field = str(form.fields[name].label) if name else ""
        condition = str(_("Condition %(number)s") % {"number": number}) if number else ""
        return ", ".join(filter(None, (condition, field)))

    def _field(self, place: str) -> tuple[forms.Form, str | None, int]:
        """Return the form and field of a place in a rule, and which condition it is; no field, or 0, for none."""
        parts = place.split(".")
        form: forms.Form = self.form
        name, number = {"for": "hold", "where.labels": "labels_of_caches"}.get(place, parts[-1]), 0
        if parts[0] == "when" and len(parts) > 1 and parts[1].isdigit() and int(parts[1]) <= len(self.terms):
            number = int(parts[1])
            form, name = self.terms[number - 1], {"is": "sign"}.get(parts[-1], parts[-1])
        return form, name if name in form.fields else None, number


def mapping(stored: Any) -> Mapping[str, Any]:
    """Return what is stored where it is a mapping: the text of a broken rule may hold anything."""
    return stored if isinstance(stored, Mapping) else {}


def listed(stored: Any) -> list[Any]:
    return stored if isinstance(stored, list) else []


def terms_of(when: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    for join in Join:
        if isinstance(when.get(join.value), list):
            return [term for term in when[join.value] if isinstance(term, Mapping)]
    return [when] if when else []


def term_initial(term: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(term)
    return {**found, "sign": found.get("is", ">")}


def initial_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    where, when = mapping(stored.get("where")), mapping(stored.get("when"))
    return {
        **{name: stored.get(name, "") for name in ("rule", *PLAIN, "gates")},
        **{name: where.get(name, "") for name in WHERE},
        "hold": stored.get("for", ""),
        "join": "any" if "any" in when else "all",
        "judged": stored.get("judged", Per.NODE.value),
        "no_data": stored.get("no_data", NoData.KEEP.value),
        "labels_of_caches": as_lines(mapping(where.get("labels"))),
        "labels": as_lines(mapping(stored.get("labels"))),
        "calm": as_lines(mapping(stored.get("calm"))),
        "hides": ", ".join(map(str, listed(stored.get("hides")))),
    }
