"""Times as people write them in forms: 90s, 5m, 1h."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from alerts.spec_form import DURATION, LONGEST, SECONDS, in_words


class DurationField(forms.CharField):
    """A time in whole seconds; empty is 0, or None where that is the field's empty value."""

    def __init__(self, **given: Any) -> None:
        super().__init__(max_length=20, **given)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if text in self.empty_values:
            return None if self.empty_value is None else 0
        found = DURATION.fullmatch(text)
        seconds = int(found[1]) * SECONDS[found[2]] if found else LONGEST + 1
        if seconds > LONGEST:
            raise ValidationError(_("This must be a time of at most 30 days, such as 90s, 5m or 1h."))
        return seconds

    def prepare_value(self, value: Any) -> Any:
        return in_words(value) if isinstance(value, int) else value
