"""Serve an emulated Google Cloud project in the foreground; bin/up supervises this command."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from demo.cloud import running
from demo.layout import DemoError, Home, default_directory
from demo.lifeline import end_event

USUAL_DELAY_SECONDS = 300.0


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Serve the five Google Cloud services of Memorystore with the demo fleet's numbers, until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dir", type=Path, default=default_directory(), help="the directory of the demo fleet")
        parser.add_argument("--port", type=int, default=0, help="port of all five services; a free one")
        parser.add_argument(
            "--delay", type=float, default=USUAL_DELAY_SECONDS, help="seconds for which a point stays hidden; 300"
        )
        parser.add_argument(
            "--register", action="store_true", help="be the demo's own: keep the port and add its project"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ending, home = end_event(), Home(options["dir"].resolve())
        try:
            if options["register"]:
                running.run(home, options["delay"], ending, self.say)
            else:
                running.serve(home, options["port"], options["delay"], ending, self.say)
        except DemoError as error:
            raise CommandError(str(error)) from error

    def say(self, sentence: str) -> None:
        self.stdout.write(f"cloud emulator: {sentence}")
        self.stdout.flush()
