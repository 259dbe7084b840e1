"""Giving rules the leave to turn a switch off, and taking it away."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from switches import changing
from switches.models import AutoOff, Switch

RULES_LIMIT = 50


def allow(switch: Switch, by: User, rules: Sequence[str], cooldown_seconds: int, limit_per_day: int) -> None:
    """Let these rules turn a switch off; none takes the leave away. Raise ValidationError."""
    if len(rules) > RULES_LIMIT:
        raise ValidationError({"rules": _("Name %(limit)d rules at most.") % {"limit": RULES_LIMIT}})
    kept = AutoOff(
        switch=switch, rules=sorted(set(rules)), cooldown_seconds=cooldown_seconds, limit_per_day=limit_per_day
    )
    kept.clean_fields()
    with transaction.atomic():
        AutoOff.objects.filter(switch=switch).delete()
        if rules:
            kept.save(force_insert=True)
        told = {"cooldown_seconds": cooldown_seconds, "limit_per_day": limit_per_day}
        changing.audit(by, "switch.auto-off", switch, rules=", ".join(kept.rules), **told)
