"""Run the demo fleet in the foreground; bin/up supervises this command."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from demo import fleet
from demo.layout import DemoError, Home, default_directory
from demo.lifeline import end_event


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Run a real cluster of three shards and a primary with a replica, until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dir", type=Path, default=default_directory(), help="where it keeps its data")

    def handle(self, *args: Any, **options: Any) -> None:
        ending = end_event()
        try:
            fleet.run(Home(options["dir"].resolve()), ending, self.say)
        except DemoError as error:
            raise CommandError(str(error)) from error

    def say(self, sentence: str) -> None:
        self.stdout.write(f"demo fleet: {sentence}")
        self.stdout.flush()
