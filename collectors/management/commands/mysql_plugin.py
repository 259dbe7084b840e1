import os
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.models import AuditEntry
from collectors.memcached.models import MysqlPlugin
from collectors.memcached.plugin import look
from collectors.memcached.plugin_settings import settle, tell_safety
from fleet.models import Cache


class Command(BaseCommand):
    help = (
        "Say how to reach the MySQL whose InnoDB memcached plugin a cache is, and show the plugin's settings."
        " The address is mysqls://user:password@host:3306, without TLS mysql://; it is stored encrypted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cache", help="name of a registered cache")
        given = parser.add_mutually_exclusive_group()
        given.add_argument("--dsn-file", metavar="FILE", help="file that holds the address")
        given.add_argument("--dsn-env", metavar="VARIABLE", help="environment variable that holds the address")
        parser.add_argument("--ca", metavar="FILE", help="CA bundle (PEM) of MySQL's certificate")
        parser.add_argument("--no-host-check", action="store_true", help="do not check the certificate's host name")
        given.add_argument("--forget", action="store_true", help="forget the address and what was read")

    def handle(self, *args: Any, **options: Any) -> None:
        cache = Cache.objects.filter(name=options["cache"]).first()
        if cache is None or not cache.abilities.slabs:
            raise CommandError("There is no Memcached of this name.")
        if options["forget"]:
            self.store(cache, {"mysql_dsn": ""})
            return
        if options["dsn_file"] or options["dsn_env"]:
            ca_bundle = content_of(options["ca"]) if options["ca"] else ""
            trust = {"mysql_ca_bundle": ca_bundle, "mysql_check_hostname": not options["no_host_check"]}
            self.store(cache, {"mysql_dsn": dsn_in(options), **trust})
        look(cache.pk, timezone.now())
        self.show(cache)

    def store(self, cache: Cache, given: dict[str, Any]) -> None:
        try:
            told = settle(cache, given)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        if told:
            AuditEntry.record(None, "cache.change", cache.name, **told)

    def show(self, cache: Cache) -> None:
        plugin = MysqlPlugin.objects.filter(cache=cache).first()
        if plugin is None:
            raise CommandError("No address of a MySQL is known; give one with --dsn-file or --dsn-env.")
        if plugin.failed_words:
            raise CommandError(plugin.failed_words)
        for name, value in sorted(plugin.variables.items()):
            self.stdout.write(f"{name} = {value}")
        self.stdout.write(tell_safety(plugin))


def dsn_in(options: dict[str, Any]) -> str:
    """Return the address from the file or the environment. Raise CommandError where it cannot be read."""
    if variable := options["dsn_env"]:
        if variable not in os.environ:
            raise CommandError(f"The environment variable {variable} is not set.")
        return os.environ[variable]
    return content_of(options["dsn_file"]).strip()


def content_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
