"""bin/manage memkeys, within Django: what manage.py takes a shorter road for, and --store, which needs a database."""

import sys
from argparse import ArgumentParser
from typing import Any, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser

from collectors.failures import ReadError
from collectors.keyscan import command, storing
from collectors.keyscan.reasons import ScanRefusedError


class Command(BaseCommand):
    requires_system_checks = ()
    help = command.HELP

    def add_arguments(self, parser: CommandParser) -> None:
        parser.epilog = command.EPILOG
        command.add_arguments(cast(ArgumentParser, parser))

    def handle(self, *args: Any, **options: Any) -> None:
        progress = self.stderr if options["json"] else self.stdout
        try:
            if options["store"]:
                scan = storing.scan_and_store(options, progress)
            else:
                scan = command.made(*command.way_of(options), options, progress)
        except (command.UsageError, ScanRefusedError) as error:
            raise CommandError(str(error), returncode=command.USAGE) from error
        except ReadError as failure:
            raise CommandError(failure.sentence(), returncode=command.INCOMPLETE) from failure
        if status := command.tell(scan, options, self.stdout):
            sys.exit(status)
