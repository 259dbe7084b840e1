"""The form of a channel: what all have in common, and what its kind wants to know."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from alerts.channel_changes import stored_settings
from alerts.channels import kind_of
from alerts.models import Channel

KEEP = _("Leave empty to keep what is stored.")


class ChannelForm(forms.Form):
    """Name and fall-back; the fields of the kind are added to it."""

    bound_field_class = StyledField

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("Such as on-call of the game team."))
    fallback = forms.ModelChoiceField(
        Channel.objects.none(),
        label=_("Fall-back"),
        required=False,
        empty_label=_("none"),
        help_text=_("Gets the messages that this channel cannot get out."),
    )
    language = forms.ChoiceField(
        choices=settings.LANGUAGES,
        initial=settings.LANGUAGE_CODE,
        label=_("Language"),
        required=False,
        help_text=_("Of messages, and of what the rules of the default pack advise."),
    )
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, kind: str, channel: Channel | None = None, **kwargs: Any) -> None:
        self.kind, self.stored = kind_of(kind), channel
        super().__init__(*args, **kwargs)
        others = Channel.objects.exclude(pk=channel.pk) if channel else Channel.objects.all()
        self.fields["fallback"].queryset = others  # type: ignore[attr-defined]
        self.fields.update(self.kind.form().fields)
        self.order_fields(["name", *self.kind.form.base_fields, "fallback", "language", "revision"])
        self._hide_secrets()

    def _hide_secrets(self) -> None:
        """Never show a secret again, nor ask for one that is stored."""
        before = stored_settings(self.stored) if self.stored else {}
        if self.stored:
            shown = {name: value for name, value in before.items() if name not in self.kind.secrets}
            about = {name: getattr(self.stored, name) for name in ("name", "fallback", "language", "revision")}
            self.initial = {**shown, **about}
        for name in self.kind.secrets:
            field = self.fields[name]
            field.widget = forms.PasswordInput(attrs={"autocomplete": "off"})
            if before.get(name):
                field.required, field.help_text = False, KEEP

    def given(self) -> dict[str, Any]:
        """Return the settings of the kind as they were typed."""
        return {name: self.data.get(name, "") for name in self.kind.form.base_fields}

    def refuse(self, error: ValidationError) -> None:
        self.add_error(None, error)
