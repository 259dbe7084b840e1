"""Run the traffic on the demo fleet in the foreground; bin/up supervises this command."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from demo import traffic
from demo.layout import DemoError, Home, default_directory
from demo.lifeline import end_event


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Play the backend of a game on the demo fleet, until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dir", type=Path, default=default_directory(), help="the directory of the demo fleet")

    def handle(self, *args: Any, **options: Any) -> None:
        ending = end_event()
        try:
            traffic.run(Home(options["dir"].resolve()), ending, self.say)
        except DemoError as error:
            raise CommandError(str(error)) from error

    def say(self, sentence: str) -> None:
        self.stdout.write(f"demo traffic: {sentence}")
        self.stdout.flush()
