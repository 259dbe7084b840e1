"""Everything between an empty database and the first page."""

import json
import os
import sys
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts import first_admin
from alerts import pack
from collectors import partitions
from config import checks, env
from config.collecting import collect_static
from demo import caches
from fleet.models import Cache
from launcher.steps import step


class Command(BaseCommand):
    # Only the settings: the checks of urls and models load everything, which costs each start a second.
    requires_system_checks = ()
    help = "Bring the database and the static files up to date and make the first administrator; safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--report", type=int, metavar="FD", help="open file descriptor for the outcome in JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        for message in (message for check in checks.CHECKS for message in check() if message.is_serious()):
            raise CommandError(f"{message.msg} {message.hint}")
        with step("Bringing the database up to date"):
            call_command("migrate", interactive=False, verbosity=0)
            partitions.make_ahead(timezone.now())
        with step("Bringing the default rules up to date"):
            pack.install()
        with step("Collecting the static files"):
            collect_static()
        with step("Looking for the first administrator"):
            password = first_admin.ensure(env.text("SHARDWATCH_ADMIN_PASSWORD", ""))
        outcome = {
            "password": password,
            "is_empty": not Cache.objects.exists(),
            "has_demo": caches.are_registered(),
        }
        self.tell(outcome, options["report"])

    def tell(self, outcome: dict[str, Any], descriptor: int | None) -> None:
        if descriptor is not None:
            os.write(descriptor, json.dumps(outcome).encode())
        elif outcome["password"]:
            sys.stdout.write(
                f"The password of {first_admin.NAME} is {outcome['password']}; it is shown only this once.\n"
            )
