"""Who we are to Google: the credentials of a project, without the packages of its services."""

import re
from collections.abc import Callable
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from google.auth import compute_engine, default
from google.auth.credentials import Credentials
from google.oauth2 import service_account

from collectors.cloud.models import CloudProject
from collectors.cloud.models import Credentials as Kind
from fleet.certificates import private_key

# The least that signing in to caches takes (IAM authentication of Memorystore); roles decide what it may do.
SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
KEY_LIMIT = 20_000
KEY_FIELDS = ("client_email", "private_key", "private_key_id", "token_uri")
# A key says itself where its signatures are sent: nowhere else than to Google.
TOKEN_URIS = {"https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token"}
EMAIL = re.compile(r"[a-z0-9][a-z0-9.:-]{0,100}@[a-z0-9][a-z0-9.-]{0,80}\.gserviceaccount\.com")


def endpoint_of(project: CloudProject) -> str:
    """Return host:port of the emulator that stands in for Google; "" where it is Google."""
    return project.endpoint or str(settings.GOOGLE_ENDPOINT)


def credentials_of(project: CloudProject) -> Credentials | None:
    """Return what a project is asked with; None where that is an emulator, or the machine's own credentials.

    Raise SecretUnreadableError where the stored key cannot be decrypted.
    """
    if endpoint_of(project) or project.credentials == Kind.ADC:
        return None
    if project.credentials == Kind.WORKLOAD_IDENTITY:
        return _typed(compute_engine.Credentials)(scopes=SCOPES)
    info = orjson.loads(project.key.reveal())
    return _typed(service_account.Credentials.from_service_account_info)(info, scopes=SCOPES)


def machine_credentials() -> Credentials:
    """Return the application default credentials. Raise DefaultCredentialsError where there are none."""
    return _typed(lambda: default(scopes=SCOPES)[0])()


def _typed(maker: Any) -> Callable[..., Credentials]:
    """google.auth says that it is typed, but these makers are not."""
    made: Callable[..., Credentials] = maker
    return made


def check_key(text: str) -> str:
    """Return the e-mail of the account whose key this is. Raise ValidationError that says what it is instead."""
    if len(text) > KEY_LIMIT:
        raise ValidationError(_("The key is longer than %(limit)d characters.") % {"limit": KEY_LIMIT})
    try:
        info = orjson.loads(text)
    except ValueError as error:
        raise ValidationError(
            _("This is not JSON. Paste the whole file that Google gave you, from the first { to the last }.")
        ) from error
    if not isinstance(info, dict):
        raise ValidationError(_("This is JSON, but no key: paste the whole file, which begins with {."))
    _check_kind(info)
    return _check_fields(info)


def _check_kind(info: dict[str, Any]) -> None:
    kind = str(info.get("type"))
    if kind == "authorized_user":
        raise ValidationError(
            _("These are the credentials of a person (gcloud auth). Make a key of a service account instead.")
        )
    if kind in {"external_account", "impersonated_service_account", "external_account_authorized_user"}:
        raise ValidationError(
            _(
                "This is a configuration, not a key. Keep it in a file on the server, name the file in"
                " GOOGLE_APPLICATION_CREDENTIALS and choose application default credentials."
            )
        )
    if kind != "service_account":
        raise ValidationError(_("This is no key of a service account: its field “type” must say service_account."))


def _check_fields(info: dict[str, Any]) -> str:
    missing = [name for name in KEY_FIELDS if not isinstance(info.get(name), str) or not info[name]]
    if missing:
        raise ValidationError(_("The key is not complete: %(names)s is missing.") % {"names": ", ".join(missing)})
    if info["token_uri"] not in TOKEN_URIS or info.get("universe_domain", "googleapis.com") != "googleapis.com":
        raise ValidationError(_("The key names a server that is not Google's (token_uri, universe_domain)."))
    if not EMAIL.fullmatch(info["client_email"]):
        raise ValidationError(_("The key's client_email is no address of a service account."))
    if not isinstance(private_key(info["private_key"]), RSAPrivateKey):
        # Google makes no others, and signing with one fails at every call.
        raise ValidationError(_("No private key can be read here; paste the PEM text with its BEGIN and END lines."))
    return str(info["client_email"])
