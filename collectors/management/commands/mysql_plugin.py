import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.models import AuditEntry
from collectors.memcached.models import MysqlPlugin
from collectors.memcached.plugin import Dsn, PluginError, look
from fleet.models import Cache


class Command(BaseCommand):
    help = (
        "Say how to reach the MySQL whose InnoDB memcached plugin a cache is, and show the plugin's settings."
        " The address is mysql://user:password@host:3306; it is stored encrypted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cache", help="name of a registered cache")
        given = parser.add_mutually_exclusive_group()
        given.add_argument("--dsn-file", metavar="FILE", help="file that holds the address")
        given.add_argument("--dsn-env", metavar="VARIABLE", help="environment variable that holds the address")
        given.add_argument("--forget", action="store_true", help="forget the address and what was read")

    def handle(self, *args: Any, **options: Any) -> None:
        cache = Cache.objects.filter(name=options["cache"]).first()
        if cache is None or not cache.abilities.slabs:
            raise CommandError("There is no Memcached of this name.")
        if options["forget"]:
            MysqlPlugin.objects.filter(cache=cache).delete()
            AuditEntry.record(None, "cache.change", cache.name, mysql_dsn="removed")
            return
        if options["dsn_file"] or options["dsn_env"]:
            self.store(cache, dsn_in(options))
        look(cache.pk, timezone.now())
        self.show(cache)

    def store(self, cache: Cache, dsn: str) -> None:
        try:
            Dsn.of(dsn)
        except PluginError as error:
            raise CommandError(str(error)) from error
        MysqlPlugin.objects.update_or_create(cache=cache, defaults={"dsn": dsn})
        AuditEntry.record(None, "cache.change", cache.name, mysql_dsn="changed")

    def show(self, cache: Cache) -> None:
        plugin = MysqlPlugin.objects.filter(cache=cache).first()
        if plugin is None:
            raise CommandError("No address of a MySQL is known; give one with --dsn-file or --dsn-env.")
        if plugin.failed_words:
            raise CommandError(plugin.failed_words)
        for name, value in sorted(plugin.variables.items()):
            self.stdout.write(f"{name} = {value}")


def dsn_in(options: dict[str, Any]) -> str:
    """Return the address from the file or the environment. Raise CommandError where it cannot be read."""
    if variable := options["dsn_env"]:
        if variable not in os.environ:
            raise CommandError(f"The environment variable {variable} is not set.")
        return os.environ[variable]
    try:
        return Path(options["dsn_file"]).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise CommandError(f"{options['dsn_file']} cannot be read: {error}") from error
