"""Fields of channels' forms."""

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.translation import gettext as _

ADDRESS_LIMIT = 2_000


class HeaderField(forms.CharField):
    """What goes into a header: nothing can be sent with line breaks in it."""

    def __init__(self, **given: Any) -> None:
        super().__init__(max_length=2_000, validators=[RegexValidator(r"\A[ -~]*\Z")], **given)


class AddressField(forms.CharField):
    """The address of a service, with http or https. What its host resolves to is checked at each message."""

    def __init__(self, **given: Any) -> None:
        super().__init__(max_length=ADDRESS_LIMIT, **given)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if text:
            check_address(text)
        return text


def check_address(text: str) -> None:
    """Raise ValidationError for what no message can be sent to."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ValidationError(_("This is no address.")) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise ValidationError(_("Give an address that begins with https:// (or http://)."))
    if parts.username is not None or parts.password is not None:
        raise ValidationError(_("Leave user and password out of the address."))
    if any(c.isspace() or not c.isprintable() for c in text):
        raise ValidationError(_("The address has blanks or control characters in it."))
