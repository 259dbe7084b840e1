"""Adding and changing caches: the one road that the form, the API and the command take."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext as _

from fleet.addresses import AddressError, Protocol, parse_addresses
from fleet.certificates import certificates, check_pair, private_key
from fleet.engines import Engine
from fleet.labels import check_labels
from fleet.models import Cache
from fleet.secrets import Secret, SecretUnreadableError

FIELDS = (
    "name",
    "address",
    "username",
    "password",
    "ca_bundle",
    "client_certificate",
    "client_key",
    "tls_check_hostname",
    "login",
    "reach",
    "labels",
    "poll_interval_seconds",
    "plan_memory_bytes",
    "plan_maxclients",
    "is_paused",
)
SECRET_FIELDS = ("password", "client_key")
# Addresses of our own pages and operations.
RESERVED_NAMES = {"new", "test"}
ADDRESS_LIMIT = 4000
SEED_LIMIT = 100
HOST_LIMIT = 253
# Names and IPv4 addresses, or IPv6 addresses with their zone.
HOST = re.compile(r"[A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?")
PASSWORD_LIMIT = 4000


class ConflictError(ValidationError):
    """The change is sound, but another cache or another person was first."""


def drafted(cache: Cache, given: Mapping[str, Any]) -> Cache:
    """Return a copy of the cache with the given fields set, not saved.

    Credentials in the address move to their own fields. Raise ValidationError with a sentence per field.
    """
    refuse_unstorable(given)
    before, cache = cache, copy(cache)
    for field in FIELDS:
        value = given.get(field, getattr(cache, field))
        setattr(cache, field, Secret.of(value) if field in SECRET_FIELDS and isinstance(value, str) else value)
    errors = dict(refusals(cache, given))
    if "address" not in errors and sends_secret_elsewhere(before, cache):
        errors["password"] = [_("The address names another server: give the password again, or clear it.")]
    try:
        cache.clean_fields(exclude=[*errors, "engine", "topology"])
    except ValidationError as error:
        errors.update(error.error_dict)
    if errors:
        raise ValidationError(errors)
    return cache


def register(given: Mapping[str, Any]) -> Cache:
    """Add a cache. Raise ValidationError as drafted does, ConflictError where the name is taken."""
    cache = drafted(Cache(), given)
    with name_conflict(cache.name), transaction.atomic():
        cache.save(force_insert=True)
    return cache


def change(cache: Cache, given: Mapping[str, Any], revision: int) -> Cache:
    """Save the given fields of a cache that was read at `revision`; return it as it is now.

    Raise ConflictError where somebody saved it since then, or the new name is taken.
    """
    engine, cache = cache.engine, drafted(cache, given)
    fields = FIELDS if cache.engine == engine else (*FIELDS, "engine")
    values = {field: getattr(cache, field) for field in fields}
    with name_conflict(cache.name), transaction.atomic():
        won = Cache.objects.filter(pk=cache.pk, revision=revision).update(**values, revision=F("revision") + 1)
    if not won:
        message = _(
            "Somebody else changed or deleted this cache in the meantime. Load it again and repeat your change."
        )
        raise ConflictError({NON_FIELD_ERRORS: [message]})
    cache.revision = revision + 1
    return cache


@contextmanager
def name_conflict(name: str) -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        message = _("A cache named “%(name)s” exists already; choose another name.") % {"name": name}
        raise ConflictError({"name": [message]}) from error


def refuse_unstorable(given: Mapping[str, Any]) -> None:
    """Raise ValidationError for text that PostgreSQL cannot keep: NUL bytes and halves of surrogate pairs."""
    for field, value in given.items():
        texts = [*value, *value.values()] if isinstance(value, dict) else [value]
        if any(isinstance(text, str) and ("\0" in text or not encodable(text)) for text in texts):
            raise ValidationError({field: [_("The text holds characters that cannot be stored.")]})


def encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refusals(cache: Cache, given: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Check what the model's own validators cannot; yield a field and its sentences."""
    for field, check in (
        ("name", lambda: check_name(cache)),
        ("address", lambda: settle_address(cache, given)),
        ("labels", lambda: check_labels(cache.labels)),
        ("password", lambda: check_password(cache)),
        ("ca_bundle", lambda: cache.ca_bundle and certificates(cache.ca_bundle)),
        ("client_certificate", lambda: cache.client_certificate and certificates(cache.client_certificate)),
        ("client_key", lambda: check_client_key(cache)),
    ):
        try:
            check()
        except AddressError as error:
            yield field, [str(error)]
        except ValidationError as error:
            yield field, error.error_list
        except SecretUnreadableError:
            yield field, [_("The stored value cannot be read with today's encryption keys; give it again.")]


def sends_secret_elsewhere(before: Cache, after: Cache) -> bool:
    """Whether a stored password would go to a server that whoever stored it never named, or go there in the clear.

    Whoever may change an address could otherwise read the password at a server of their own.
    """
    if not before.password or after.password.stored != before.password.stored:
        return False
    known = {(seed.host, seed.port) for seed in before.seeds()}
    was_encrypted = before.seeds()[0].tls
    return any((seed.host, seed.port) not in known or seed.tls < was_encrypted for seed in after.seeds())


def check_name(cache: Cache) -> None:
    if cache.name in RESERVED_NAMES:
        raise ValidationError(_("Shardwatch uses this name itself; choose another one."))


def settle_address(cache: Cache, given: Mapping[str, Any]) -> None:
    """Put the address into its stored form, which holds no credentials."""
    if len(cache.address) > ADDRESS_LIMIT:
        raise ValidationError(_("The address is longer than %(limit)d characters.") % {"limit": ADDRESS_LIMIT})
    seeds, credentials = parse_addresses(cache.address)
    if len(seeds) > SEED_LIMIT:
        raise ValidationError(_("Name at most %(limit)d servers.") % {"limit": SEED_LIMIT})
    if not all(is_host(seed.host) for seed in seeds):
        raise ValidationError(_("The address names a host that no server can have; check the spelling."))
    if not seeds[0].tls and (cache.ca_bundle or cache.client_certificate):
        raise ValidationError(
            _(
                "Certificates are only used with TLS: begin the address with rediss:// or memcacheds://,"
                " or leave them out."
            )
        )
    cache.address = ", ".join(seed.text for seed in seeds)
    settle_engine(cache, seeds[0].protocol)
    if credentials.password and given.get("password", credentials.password) not in {"", credentials.password}:
        raise ValidationError(_("The address and the password field name different passwords; give one of them."))
    if credentials.username:
        cache.username = credentials.username
    if credentials.password:
        cache.password = Secret.of(credentials.password)


def settle_engine(cache: Cache, protocol: Protocol) -> None:
    """Take from the address what is certain: which engine it cannot be. The first poll tells the rest."""
    if protocol is not Protocol.REDIS:
        cache.engine = Engine.MEMCACHED
    elif cache.engine == Engine.MEMCACHED:
        cache.engine = Engine.UNKNOWN


def is_host(name: str) -> bool:
    """Return whether a resolver would take the name: labels of 1 to 63 characters, 253 in all."""
    try:
        ascii_name = name.encode("idna").decode()
    except UnicodeError:
        return False
    return len(ascii_name) <= HOST_LIMIT and bool(HOST.fullmatch(ascii_name))


def check_password(cache: Cache) -> None:
    if len(cache.password.reveal()) > PASSWORD_LIMIT:
        raise ValidationError(_("The password is longer than %(limit)d characters.") % {"limit": PASSWORD_LIMIT})


def check_client_key(cache: Cache) -> None:
    if bool(cache.client_certificate) != bool(cache.client_key):
        raise ValidationError(_("A client certificate and its key belong together: give both or neither."))
    if cache.client_key:
        private_key(cache.client_key.reveal())
        check_pair(cache.client_certificate, cache.client_key.reveal())
