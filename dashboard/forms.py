"""The form of a cache."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.fields import StyledField
from collectors.memcached import plugin_settings
from collectors.memcached.plugin import plugin_of
from fleet.labels import label_lines, parse_labels
from fleet.models import Cache, Login, Reach
from fleet.registration import ADDRESS_LIMIT, FIELDS, PASSWORD_LIMIT, SECRET_FIELDS

CODE = {"class": "form-control mono", "spellcheck": "false", "autocomplete": "off"}
BLANK = {"tls_check_hostname": True, "mysql_check_hostname": True}
SECRETS = (*SECRET_FIELDS, plugin_settings.SECRET)
# What stands where a form does not choose.
CHOSEN = {"login": str(Login.PASSWORD), "reach": str(Reach.NODES)}
KEEP = _("Leave empty to keep what is stored.")


def code_area(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={**CODE, "rows": rows})


class SecretArea(forms.Textarea):
    """Takes a long secret and never shows it again, not even when the form comes back with an error."""

    def format_value(self, value: Any) -> str:
        return ""


def secret_area(rows: int) -> SecretArea:
    return SecretArea(attrs={**CODE, "rows": rows})


class LabelsField(forms.CharField):
    """Labels, one key=value a line."""

    widget = forms.Textarea(attrs={**CODE, "rows": 3})

    def prepare_value(self, value: Any) -> Any:
        return label_lines(value) if isinstance(value, dict) else value

    def clean(self, value: Any) -> dict[str, str]:
        return parse_labels(super().clean(value).splitlines())


class CacheForm(forms.Form):
    """What people give to register a cache. Checks that concern the cache itself are in fleet/registration.py."""

    bound_field_class = StyledField

    name = forms.CharField(
        label=_("Name"),
        max_length=63,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
        help_text=_("Lowercase letters, digits, dots and hyphens, such as game-cache."),
    )
    address = forms.CharField(
        label=_("Address"),
        max_length=ADDRESS_LIMIT,
        widget=code_area(2),
        help_text=_(
            "redis://host:6379, with TLS rediss://host:6379. One server of a cluster is enough."
            " Several standalone servers that clients share keys over: one a line."
            " Memcached: memcached://host:11211, or its discovery endpoint as memcached+discovery://host:11211."
        ),
    )
    username = forms.CharField(
        label=_("User"), max_length=200, required=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    password = forms.CharField(
        label=_("Password"),
        max_length=PASSWORD_LIMIT,
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    clear_password = forms.BooleanField(label=_("Forget the stored password"), required=False)
    labels = LabelsField(
        label=_("Labels"), required=False, help_text=_("One key=value per line, such as env=production.")
    )
    poll_interval_seconds = forms.IntegerField(label=_("Poll interval (seconds)"), min_value=1, max_value=120)
    login = forms.ChoiceField(
        label=_("Logs in with"),
        choices=Login.choices,
        required=False,
        help_text=_("Tokens of Google IAM come from the cache's project, or from the account of this machine."),
    )
    reach = forms.ChoiceField(
        label=_("Can its nodes be reached from here?"),
        choices=Reach.choices,
        required=False,
        help_text=_("What cannot be reached is not polled: its charts and rules use Cloud Monitoring."),
    )
    ca_bundle = forms.CharField(label=_("CA bundle (PEM)"), required=False, widget=code_area(3))
    client_certificate = forms.CharField(label=_("Client certificate (PEM)"), required=False, widget=code_area(3))
    client_key = forms.CharField(label=_("Client key (PEM)"), required=False, widget=secret_area(3))
    clear_client_key = forms.BooleanField(label=_("Forget the stored client key"), required=False)
    tls_check_hostname = forms.BooleanField(label=_("Check the host name in the certificate"), required=False)
    plan_memory_bytes = forms.IntegerField(
        label=_("Plan size per node (bytes)"),
        min_value=0,
        required=False,
        help_text=_("Stands in for maxmemory where the server names no limit."),
    )
    plan_maxclients = forms.IntegerField(
        label=_("Connection limit per node"),
        min_value=0,
        required=False,
        help_text=_("Stands in for maxclients where the server does not report it."),
    )
    is_paused = forms.BooleanField(label=_("Paused: do not poll"), required=False)
    mysql_dsn = forms.CharField(
        label=_("Address of MySQL"),
        max_length=ADDRESS_LIMIT,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_(
            "mysqls://user:password@host:3306. Without TLS mysql://: nothing proves then that it is the right server,"
            " and the connection is plain text where MySQL offers no TLS."
        ),
    )
    clear_mysql_dsn = forms.BooleanField(label=_("Forget the stored address of MySQL"), required=False)
    mysql_ca_bundle = forms.CharField(label=_("CA bundle of MySQL (PEM)"), required=False, widget=code_area(3))
    mysql_check_hostname = forms.BooleanField(label=_("Check the host name in MySQL's certificate"), required=False)
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False)

    BASIC = ("name", "address", "username", "password", "clear_password", "login", "labels", "poll_interval_seconds")
    TLS = ("ca_bundle", "client_certificate", "client_key", "clear_client_key", "tls_check_hostname")
    LIMITS = ("reach", "plan_memory_bytes", "plan_maxclients", "is_paused")
    MYSQL = ("mysql_dsn", "clear_mysql_dsn", "mysql_ca_bundle", "mysql_check_hostname")

    def __init__(self, *args: Any, cache: Cache | None = None, **kwargs: Any) -> None:
        self.cache = cache
        super().__init__(*args, **kwargs)
        self.initial = initial_of(cache) if cache else BLANK | {"poll_interval_seconds": settings.POLL_INTERVAL_SECONDS}
        for secret in SECRETS:
            if cache and has_secret(cache, secret):
                self.fields[secret].help_text = KEEP
            else:
                del self.fields[f"clear_{secret}"]

    def given(self) -> dict[str, Any]:
        """Return the fields for fleet.registration; an empty secret keeps what is stored."""
        given = {field: self.cleaned_data[field] for field in (*FIELDS, *plugin_settings.FIELDS)}
        given |= {field: given[field] or standard for field, standard in CHOSEN.items()}
        for secret in SECRETS:
            if self.cleaned_data.get(f"clear_{secret}"):
                given[secret] = ""
            elif not given[secret]:
                del given[secret]
        return given

    def refuse(self, error: ValidationError) -> None:
        """Show what fleet.registration refused beside the fields."""
        self.add_error(None, error)

    def basic(self) -> list[forms.BoundField]:
        return self.part(self.BASIC)

    def tls(self) -> list[forms.BoundField]:
        return self.part(self.TLS)

    def limits(self) -> list[forms.BoundField]:
        return self.part(self.LIMITS)

    def mysql(self) -> list[forms.BoundField]:
        return self.part(self.MYSQL)

    def part(self, names: tuple[str, ...]) -> list[forms.BoundField]:
        return [self[name] for name in names if name in self.fields]

    @property
    def opens_tls(self) -> bool:
        """Whether the TLS part is of interest, so that it must not be folded away."""
        filled = any(self[name].value() for name in ("ca_bundle", "client_certificate"))
        return filled or any(name in self.errors for name in self.TLS)

    @property
    def opens_mysql(self) -> bool:
        """Whether the part about MySQL is of interest."""
        is_known = self.cache is not None and plugin_of(self.cache) is not None
        return is_known or any(name in self.errors for name in self.MYSQL)


class ConnectionForm(CacheForm):
    """The same form where only the connection is tried: that needs no name yet."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = False


def has_secret(cache: Cache, secret: str) -> bool:
    return bool(plugin_of(cache) if secret == plugin_settings.SECRET else getattr(cache, secret))


def initial_of(cache: Cache) -> dict[str, Any]:
    """Return what the form shows of a stored cache: no secrets."""
    shown = {field: getattr(cache, field) for field in FIELDS if field not in SECRET_FIELDS}
    if plugin := plugin_of(cache):
        shown |= {"mysql_ca_bundle": plugin.ca_bundle, "mysql_check_hostname": plugin.check_hostname}
    else:
        shown["mysql_check_hostname"] = True
    return {**shown, "address": "\n".join(cache.address.split(", ")), "revision": cache.revision}


class DeleteForm(forms.Form):
    """Asks for the name, so that nobody removes a history by a slip."""

    bound_field_class = StyledField

    name = forms.CharField(
        label=_("Name of the cache"), widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )

    def __init__(self, *args: Any, cache: Cache, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cache = cache

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name.strip() != self.cache.name:
            raise ValidationError(_("This is not the name of the cache."))
        return name
