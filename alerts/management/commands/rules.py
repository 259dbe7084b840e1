"""Rules as YAML, to keep them in git: `rules export`, `rules import FILE`, `rules check FILE`."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from alerts import rule_changes
from alerts.rule import Rule
from alerts.rule_changes import as_yaml, load_yaml
from alerts.spec import Spec
from alerts.spec_form import SpecError, read_spec, written


class Command(BaseCommand):
    help = "Write rules as YAML, read them back, or check a file without a change."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("export", help="Print all rules, documents of one YAML stream.")
        for act, words in (("import", "Add and change the rules of a file."), ("check", "Only look for mistakes.")):
            acts.add_parser(act, help=words).add_argument("file", type=Path)

    def handle(self, *args: Any, **given: Any) -> None:
        if given["act"] == "export":
            self.stdout.write("---\n".join(as_yaml(rule.text) for rule in Rule.objects.all()))
            return
        specs = read_file(given["file"])
        if given["act"] == "import":
            with transaction.atomic():
                changed = [spec.key for spec in specs if keep(spec)]
            self.stdout.write(f"{len(specs)} in the file, {len(changed)} new or changed")
        else:
            self.stdout.write(f"{len(specs)} in the file, no mistakes")


def read_file(path: Path) -> list[Spec]:
    """Return the rules of a file. Raise CommandError naming each mistake with its place."""
    try:
        texts = path.read_text(encoding="utf-8").split("\n---\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: {error}") from error
    specs, mistakes = [], []
    for number, text in enumerate(texts, 1):
        try:
            specs.append(read_spec(load_yaml(text)))
        except SpecError as error:
            mistakes += [f"{path}, rule {number}, {place}: {words}" for place, words in error.errors.items()]
    if mistakes:
        raise CommandError("\n".join(mistakes))
    return specs


def keep(spec: Spec) -> bool:
    """Add or change a rule; return whether anything changed."""
    known = Rule.objects.filter(key=spec.key).first()
    if known is None:
        rule_changes.add(None, spec, Rule.Origin.FILE)
    elif known.text != written(spec):
        rule_changes.change(None, known, spec)
    else:
        return False
    return True
