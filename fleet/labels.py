"""Labels as people write them: one key=value a line."""

import re
from collections.abc import Iterable, Mapping

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

KEY = re.compile(r"[a-z0-9_.-]{1,63}")
VALUE_LIMIT = 200
LABEL_LIMIT = 30


def parse_labels(lines: Iterable[str]) -> dict[str, str]:
    """Return the labels of lines such as `env=production`; blank lines do not count.

    Raise ValidationError for a line without `=`, a repeated key, or what check_labels refuses.
    """
    labels: dict[str, str] = {}
    for line in filter(None, (line.strip() for line in lines)):
        key, found, value = line.partition("=")
        if not found:
            raise ValidationError(_("The label “%(label)s” has no value; write key=value.") % {"label": line[:80]})
        if key.strip() in labels:
            raise ValidationError(_("The label “%(key)s” is given twice.") % {"key": key.strip()[:80]})
        labels[key.strip()] = value.strip()
    check_labels(labels)
    return labels


def check_labels(labels: Mapping[str, str]) -> None:
    """Raise ValidationError for too many labels, a bad key, or a value that is long or not printable."""
    if len(labels) > LABEL_LIMIT:
        raise ValidationError(_("Give at most %(limit)d labels.") % {"limit": LABEL_LIMIT})
    for key, value in labels.items():
        if not KEY.fullmatch(key):
            raise ValidationError(
                _("The label name “%(key)s” must have 1 to 63 small letters, digits, dots, hyphens or underscores.")
                % {"key": key[:80]}
            )
        if not value or len(value) > VALUE_LIMIT or not value.isprintable():
            raise ValidationError(
                _("The value of the label “%(key)s” must have 1 to %(limit)d printable characters.")
                % {"key": key, "limit": VALUE_LIMIT}
            )


def label_lines(labels: Mapping[str, str]) -> str:
    """Return the labels as parse_labels reads them."""
    return "\n".join(f"{key}={value}" for key, value in sorted(labels.items()))
