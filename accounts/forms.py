"""Forms of people: signing in, the own account, and the list of users."""

from datetime import datetime, timedelta

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.password_validation import validate_password
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import people
from accounts.fields import StyledField
from accounts.middleware import zones
from accounts.models import Role, User

USERNAME_LIMIT = 150
TOKEN_DAYS = (("", _("never")), ("30", _("after 30 days")), ("90", _("after 90 days")), ("365", _("after a year")))


class SignInForm(AuthenticationForm):
    bound_field_class = StyledField

    def clean_username(self) -> str:
        """Refuse what no user can be named: Django limits only the input, and django-axes would store it."""
        username: str = self.cleaned_data["username"]
        if len(username) > USERNAME_LIMIT:
            raise self.get_invalid_login_error()
        return username


class OwnPasswordForm(PasswordChangeForm):
    bound_field_class = StyledField

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        # It is one of several forms on its page.
        del self.fields["old_password"].widget.attrs["autofocus"]


class TimeZoneForm(forms.Form):
    bound_field_class = StyledField

    time_zone = forms.ChoiceField(label=_("Time zone"), required=False)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        names = sorted(zones())
        self.fields["time_zone"].choices = [("", _("same as the browser")), *zip(names, names, strict=True)]  # type: ignore[attr-defined]


class TokenForm(forms.Form):
    bound_field_class = StyledField

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("What will use the token, such as “CI”."))
    days = forms.ChoiceField(label=_("Expires"), choices=TOKEN_DAYS, required=False)

    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days else None


class PasswordForm(forms.Form):
    """A new password for somebody else."""

    bound_field_class = StyledField

    password = forms.CharField(
        label=_("New password"),
        strip=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: object, person: User, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.person = person

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password, self.person)
        return password


class NewUserForm(forms.ModelForm):  # type: ignore[type-arg]
    bound_field_class = StyledField

    password = forms.CharField(
        label=_("Password"),
        strip=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("At least 10 characters. The person can change it on the account page."),
    )

    class Meta:
        model = User
        fields = ("username", "role")
        labels = {"username": _("User name"), "role": _("Role")}
        help_texts = {"username": ""}
        widgets = {"username": forms.TextInput(attrs={"autocomplete": "off"})}

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        people.check_name(username)
        return username

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if "password" in cleaned:
            try:
                validate_password(str(cleaned["password"]), User(username=str(cleaned.get("username", ""))))
            except forms.ValidationError as error:
                self.add_error("password", error)
        return cleaned


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)
