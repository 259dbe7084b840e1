"""How to reach the MySQL behind a Memcached: checked, stored and tried, for the form, the API and the command."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.memcached.models import MysqlPlugin
from collectors.memcached.plugin import Dsn, PluginError, plugin_of, read
from collectors.probe import StepResult
from collectors.steps import Step
from fleet.certificates import certificates
from fleet.models import Cache
from fleet.registration import ADDRESS_LIMIT, refuse_unstorable
from fleet.secrets import Secret, SecretUnreadableError

FIELDS = ("mysql_dsn", "mysql_ca_bundle", "mysql_check_hostname")
SECRET = FIELDS[0]


def drafted(cache: Cache, given: Mapping[str, Any]) -> MysqlPlugin | None:
    """Return the plugin of a cache with the given fields set, not saved; None where there is no address of a MySQL.

    An empty address forgets the stored one. Raise ValidationError with a sentence per field.
    """
    refuse_unstorable({field: given[field] for field in FIELDS if field in given})
    known = plugin_of(cache)
    plugin = copy(known) if known else MysqlPlugin()
    if SECRET in given or not known:
        plugin.dsn = Secret.of(given.get(SECRET, "").strip())
    plugin.ca_bundle = given.get("mysql_ca_bundle", plugin.ca_bundle)
    plugin.check_hostname = given.get("mysql_check_hostname", plugin.check_hostname)
    if not cache.abilities.slabs and not given.get(SECRET):
        return None
    if errors := dict(refusals(cache, plugin)):
        raise ValidationError(errors)
    return plugin if plugin.dsn else None


def refusals(cache: Cache, plugin: MysqlPlugin) -> Iterator[tuple[str, list[Any]]]:
    """Settle whether TLS is asked for; yield a field and its sentences."""
    try:
        dsn = plugin.dsn.reveal()
        plugin.is_encrypted = bool(dsn) and Dsn.of(dsn).tls
        if dsn and not cache.abilities.slabs:
            yield SECRET, [_("Only a Memcached can be MySQL's plugin: begin the cache's address with memcached://.")]
        if len(dsn) > ADDRESS_LIMIT:
            yield SECRET, [_("The address is longer than %(limit)d characters.") % {"limit": ADDRESS_LIMIT}]
    except PluginError as error:
        yield SECRET, [str(error)]
    except SecretUnreadableError:
        yield SECRET, [_("The stored value cannot be read with today's encryption keys; give it again.")]
    if not plugin.ca_bundle:
        return
    if not plugin.is_encrypted:
        yield "mysql_ca_bundle", [_("A CA bundle is only used with TLS: begin the address with mysqls://.")]
        return
    try:
        certificates(plugin.ca_bundle)
    except ValidationError as error:
        yield "mysql_ca_bundle", error.error_list


def settle(cache: Cache, given: Mapping[str, Any]) -> dict[str, str]:
    """Store what is given of the MySQL behind a cache; return what changed, in texts that hold no secret.

    A cache that is no Memcached any more forgets its MySQL. Raise ValidationError as drafted does.
    """
    before, after = plugin_of(cache), drafted(cache, given)
    told = differences(before, after)
    if after is None:
        if before:
            before.delete()
    elif told:
        if SECRET in told:
            after.read_at, after.variables, after.failed_words = None, {}, ""
        after.cache = cache
        after.save()
    return told


def differences(before: MysqlPlugin | None, after: MysqlPlugin | None) -> dict[str, str]:
    if after is None:
        return {SECRET: "removed"} if before else {}
    if before is None:
        return {SECRET: "changed"}
    told = {SECRET: "changed"} if before.dsn.stored != after.dsn.stored else {}
    if before.ca_bundle != after.ca_bundle:
        told["mysql_ca_bundle"] = "changed"
    if before.check_hostname != after.check_hostname:
        told["mysql_check_hostname"] = f"{before.check_hostname} -> {after.check_hostname}"
    return told


def tried(cache: Cache, given: Mapping[str, Any]) -> list[StepResult]:
    """Return how reading MySQL's settings went as it would be with the given fields; nothing without an address.

    Raise ValidationError as drafted does.
    """
    plugin = drafted(cache, given)
    if plugin is None:
        return []
    began = time.monotonic()
    try:
        ok, sentence = True, f"{tell_settings(len(read(plugin)))} {tell_safety(plugin)}"
    except PluginError as error:
        ok, sentence = False, str(error)
    return [StepResult(Step.MYSQL, ok, time.monotonic() - began, sentence)]


def tell_settings(count: int) -> str:
    return ngettext("It tells %(count)d setting.", "It tells %(count)d settings.", count) % {"count": count}


def tell_safety(plugin: MysqlPlugin) -> str:
    """Say whether the connection to MySQL is encrypted, and to whom."""
    if plugin.is_encrypted:
        return _("Encrypted; the certificate is valid.")
    return _(
        "Nothing proves that this is the right server, and the connection is plain text where MySQL offers no TLS:"
        " begin the address with mysqls:// to insist on it."
    )
