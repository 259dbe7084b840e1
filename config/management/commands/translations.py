"""bin/manage translations update | compile | check"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import translations


class Command(BaseCommand):
    help = "Bring locale/ja up to the code (update), compile it, or check that it is complete."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("update", "compile", "check"))

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if action == "update":
            catalogue = translations.update()
            self.stdout.write(f"{len(catalogue)} texts, {len(catalogue.untranslated_entries())} to translate")
        elif action == "compile":
            translations.compile_catalogue()
        elif found := translations.faults():
            raise CommandError("\n".join(found))
