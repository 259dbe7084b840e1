"""Adding and changing rules and their exceptions, with the audit: what pages, API and commands do."""

from collections.abc import Mapping
from typing import Any

import yaml
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import AuditEntry, User
from alerts.rule import Override, Rule
from alerts.spec import Spec
from alerts.spec_form import SpecError, read_spec, written
from alerts.text import storable
from fleet.locking import locked
from fleet.registration import ConflictError

YAML_LIMIT = 100_000
# Of a rule and of its conditions.
ORDER = (
    *("rule", "title", "area", "when", "metric", "read", "over", "level", "is", "warning", "critical", "value"),
    *("across", "role", "judged", "where", "for", "keep_firing", "no_data", "labels", "gates", "calm", "hides"),
    *("message", "why", "check", "runbook"),
)


def from_yaml(text: str) -> Spec:
    """Return the rule of a YAML text. Raise SpecError."""
    return read_spec(storable(load_yaml(text)))


def load_yaml(text: str) -> Any:
    """Return what a YAML text holds. Raise SpecError for what is none, or would grow when it is read."""
    if len(text) > YAML_LIMIT:
        raise SpecError({"yaml": _("The text is too long.")})
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise SpecError({"yaml": _("References (*name) are not allowed.")})
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise SpecError({"yaml": _("This is not YAML: %(error)s") % {"error": str(error)[:200]}}) from error


def as_yaml(text: Mapping[str, Any]) -> str:
    """Return a rule as a person would write it; the database keeps no order of names."""
    return yaml.safe_dump(_in_order(text), sort_keys=False, allow_unicode=True, width=100)


def _in_order(value: Any) -> Any:
    if isinstance(value, Mapping):
        names = sorted(value, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), str(name)))
        return {name: _in_order(value[name]) for name in names}
    return [_in_order(item) for item in value] if isinstance(value, list) else value


def add(by: User | None, spec: Spec, origin: Rule.Origin = Rule.Origin.PERSON) -> Rule:
    """Keep a new rule. Raise SpecError where its name is taken."""
    try:
        with transaction.atomic():
            made = Rule.of(spec, origin=origin)
            made.save(force_insert=True)
            AuditEntry.record(by, "rule.add", made.key)
    except IntegrityError as error:
        raise SpecError({"rule": _("There is a rule of this name already.")}) from error
    return made


def change(by: User | None, rule: Rule, spec: Spec, revision: int | None = None) -> Rule:
    """Change what a rule says. Raise ConflictError where somebody changed it meanwhile."""
    if spec.key != rule.key:
        raise SpecError({"rule": _("A rule keeps its name: incidents and silences know it by that.")})
    with transaction.atomic():
        row = locked(rule)
        if revision is not None and row.revision != revision:
            raise ConflictError(_("Somebody changed this rule meanwhile. Look at it again."))
        row.text, row.edited_at = written(spec), timezone.now()
        row.failed_at, row.failed_words = None, ""
        row.revision += 1
        row.save()
        AuditEntry.record(by, "rule.change", row.key)
    return row


def switch(by: User | None, rule: Rule, is_enabled: bool) -> bool:
    """Switch a rule on or off; return False where it is so already."""
    with transaction.atomic():
        rows = Rule.objects.filter(pk=rule.pk, is_enabled=not is_enabled)
        if not rows.update(is_enabled=is_enabled, edited_at=timezone.now(), revision=F("revision") + 1):
            return False
        AuditEntry.record(by, "rule.enable" if is_enabled else "rule.disable", rule.key)
    return True


def delete(by: User | None, rule: Rule) -> None:
    """Delete a rule; its alerts end with that reason. Raise ValidationError for one of the default pack."""
    if rule.origin == Rule.Origin.PACK:
        raise ValidationError(_("Rules of the default pack come back at the next start: switch it off instead."))
    with transaction.atomic():
        locked(rule).delete()
        AuditEntry.record(by, "rule.delete", rule.key)


def add_override(by: User, rule: Rule, override: Override) -> Override:
    """Make an exception. Raise ValidationError where it changes nothing, or leaves a rule that cannot be judged."""
    if not override.bounds and override.hold is None and override.keep is None and override.is_enabled is None:
        raise ValidationError(_("Say what is different there: a bound, a time, or that the rule is off."))
    try:
        read_spec(written(override.applied(rule.spec)))
    except SpecError as error:
        raise ValidationError(next(iter(error.errors.values()))) from error
    with transaction.atomic():
        override.rule = locked(rule)
        override.save()
        AuditEntry.record(by, "override.add", rule.key)
    return override


def delete_override(by: User, override: Override) -> None:
    with transaction.atomic():
        locked(override).delete()
        AuditEntry.record(by, "override.delete", override.rule.key)
