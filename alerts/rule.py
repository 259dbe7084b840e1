"""Rules as they are kept, and what a person changed of them for some caches."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from alerts.spec import Spec, Term
from alerts.spec_form import read_spec, written
from fleet.models import Cache, Node

# Rules are judged at every poll and hardly ever change: each process reads a text once.
_read: dict[int, tuple[Any, Spec]] = {}


class RuleQuerySet(models.QuerySet["Rule"]):
    def enabled(self) -> Self:
        return self.filter(is_enabled=True)


class Rule(models.Model):
    """One rule; its text is kept as people write it, so that files and forms speak of the same thing."""

    class Origin(models.TextChoices):
        PACK = "pack", _("default pack")
        PERSON = "person", _("made here")
        FILE = "file", _("from a file")

    key = models.CharField(_("key"), max_length=63, unique=True)
    text = models.JSONField()
    origin = models.CharField(max_length=6, choices=Origin.choices, default=Origin.PERSON)
    is_enabled = models.BooleanField(_("on"), default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    edited_at = models.DateTimeField(default=timezone.now)
    # Optimistic lock for edits: two people must not overwrite each other.
    revision = models.PositiveIntegerField(default=1, editable=False)
    # When any target had a value that could be judged. A rule that never had one is dead, not healthy.
    matched_at = models.DateTimeField(null=True, blank=True, editable=False)
    failed_at = models.DateTimeField(null=True, blank=True, editable=False)
    failed_words = models.CharField(max_length=200, blank=True, editable=False)

    objects = RuleQuerySet.as_manager()

    class Meta:
        ordering = ("key",)
        verbose_name = _("rule")

    def __str__(self) -> str:
        return self.key

    @classmethod
    def of(cls, spec: Spec, **fields: Any) -> Self:
        return cls(key=spec.key, text=written(spec), **fields)

    @cached_property
    def spec(self) -> Spec:
        """Return what the rule says. Raise SpecError where a stored text cannot be read any more."""
        text, spec = _read.get(self.pk, (None, None))
        if spec is None or text != self.text:
            spec = read_spec(self.text)
            _read[self.pk] = (self.text, spec)
        return spec

    @property
    def plain_title(self) -> str:
        """Return the title as the rule has it, also of one that cannot be read; "" where it has none."""
        given = self.text.get("title") if isinstance(self.text, Mapping) else ""
        return str(given or "")

    @property
    def title(self) -> str:
        """Return the title in the active language where it is one of ours, the key where it has none."""
        return gettext(self.plain_title) if self.plain_title else self.key


class Override(models.Model):
    """Other bounds or times of a rule for some caches: of all that fit, the narrowest counts."""

    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="overrides")
    labels = models.JSONField(default=dict, blank=True)
    cache = models.ForeignKey(Cache, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    node = models.ForeignKey(Node, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    # By position of the term, from 0: {"0": {"warning": 0.7, "critical": null}}.
    bounds = models.JSONField(default=dict, blank=True)
    hold = models.PositiveIntegerField(null=True, blank=True)
    keep = models.PositiveIntegerField(null=True, blank=True)
    is_enabled = models.BooleanField(null=True, blank=True)
    note = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=~Q(cache=None, node=None, labels={}), name="override_names_its_place"),
        )

    def __str__(self) -> str:
        return f"{self.rule} for {self.node or self.cache or self.labels}"

    @property
    def width(self) -> int:
        """Return how wide it reaches: 0 one node, 1 one cache, 2 a set of labels."""
        return 0 if self.node_id else 1 if self.cache_id else 2

    def fits(self, cache_id: int, labels: Mapping[str, str], node_id: int | None) -> bool:
        if self.node_id:
            return self.node_id == node_id
        if self.cache_id:
            return self.cache_id == cache_id
        return all(labels.get(key) == value for key, value in self.labels.items())

    def applied(self, spec: Spec) -> Spec:
        """Return the rule with what this override changes."""
        terms = tuple(self._term(term, self.bounds.get(str(index), {})) for index, term in enumerate(spec.terms))
        hold = spec.hold if self.hold is None else self.hold
        return replace(spec, terms=terms, hold=hold, keep=spec.keep if self.keep is None else self.keep)

    @staticmethod
    def _term(term: Term, bounds: Mapping[str, float | None]) -> Term:
        return replace(
            term,
            warning=bounds.get("warning", term.warning),
            critical=bounds.get("critical", term.critical),
            guard=bounds.get("guard", term.guard),
        )
