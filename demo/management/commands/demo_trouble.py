"""Make one trouble on the demo fleet on purpose, or end them all."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from demo import making, orders
from demo.layout import GAME, SESSIONS, DemoError, Home, default_directory


class Command(BaseCommand):
    help = "Make one trouble on the demo fleet on purpose; stop ends all of them."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("trouble", choices=[*orders.NAMES, "stop"], help="what goes wrong; stop ends everything")
        parser.add_argument("--cache", choices=[GAME, SESSIONS], default=GAME, help="where it goes wrong")
        parser.add_argument("--dir", type=Path, default=default_directory(), help="the fleet's directory")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            said = making.make(Home(options["dir"].resolve()), options["trouble"], options["cache"])
        except making.MisfitError as error:
            raise CommandError(str(error), returncode=2) from error
        except DemoError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(said)
