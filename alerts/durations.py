"""Times as people write them: 90s, 5m, 1h."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

DURATION = re.compile(r"(\d{1,9})\s*([smhd]?)")
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
LONGEST = 30 * 86_400


def seconds_of(text: str) -> int:
    """Return the whole seconds that a text means. Raise ValueError, in words for people, where it is no such time."""
    found = DURATION.fullmatch(text)
    seconds = int(found[1]) * SECONDS[found[2]] if found else LONGEST + 1
    if seconds > LONGEST:
        raise ValueError(_("This must be a time of at most 30 days, such as 90s, 5m or 1h."))
    return seconds


def in_words(seconds: int) -> str:
    """Return a time as `seconds_of` reads it, "" for none."""
    if not seconds:
        return ""
    unit = next(unit for unit in "dhms" if seconds % SECONDS[unit] == 0)
    return f"{seconds // SECONDS[unit]}{unit}"


class DurationField(forms.CharField):
    """A time in whole seconds; empty is 0, or None where that is the field's empty value."""

    def __init__(self, **given: Any) -> None:
        super().__init__(max_length=20, **given)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if text in self.empty_values:
            return None if self.empty_value is None else 0
        try:
            return seconds_of(text)
        except ValueError as error:
            raise ValidationError(str(error)) from error

    def prepare_value(self, value: Any) -> Any:
        return in_words(value) if isinstance(value, int) else value
