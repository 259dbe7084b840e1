"""Rules as YAML, to keep them in git: `rules export`, `rules import FILE`, `rules check FILE`, `rules test FILE`.

Exit status: 0 done, 1 a test failed, 2 a file cannot be read.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from alerts import pack, rehearsal, rule_changes
from alerts.prometheus_files import RULES_FILE, TESTS_FILE, Export
from alerts.rule import Rule
from alerts.rule_changes import as_yaml, load_yaml
from alerts.rule_tests import TestFile, read_tests
from alerts.spec import Spec
from alerts.spec_form import SpecError, read_spec, written

FAILED, UNREADABLE = 1, 2


class Command(BaseCommand):
    help = "Write rules as YAML, read them back, check a file without a change, or run tests of rules."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        export = acts.add_parser("export", help="Print all rules, documents of one YAML stream.")
        export.add_argument(
            "--prometheus",
            type=Path,
            metavar="FOLDER",
            help=f"write what Prometheus can judge as {RULES_FILE} there, with {TESTS_FILE} for promtool",
        )
        for act, words in (
            ("import", "Add and change the rules of a file."),
            ("check", "Only look for mistakes."),
            ("test", "Run a test file: series in, alerts expected. Needs no database."),
        ):
            acts.add_parser(act, help=words).add_argument("file", type=Path)

    def handle(self, *args: Any, **given: Any) -> None:
        acts: dict[str, Callable[..., None]] = {
            "export": self._export,
            "import": self._import,
            "check": self._check,
            "test": self._test,
        }
        acts[given["act"]](**given)

    def _export(self, prometheus: Path | None, **given: Any) -> None:
        if prometheus:
            self._export_to_prometheus(prometheus)
            return
        self.stdout.write("---\n".join(as_yaml(rule.text) for rule in Rule.objects.all()))

    def _export_to_prometheus(self, folder: Path) -> None:
        export = Export.of(rule.spec for rule in Rule.objects.enabled())
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / RULES_FILE).write_text(export.rules_text(), encoding="utf-8")
            (folder / TESTS_FILE).write_text(export.tests_text(), encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{folder}: {error}", returncode=UNREADABLE) from error
        self.stdout.write(f"rules exported: {len(export.done)}, not to be judged by Prometheus: {len(export.refused)}")
        for key, reason in export.refused.items():
            self.stdout.write(f"  {key}: {reason}")

    def _import(self, file: Path, **given: Any) -> None:
        specs = read_file(file)
        with transaction.atomic():
            changed = [spec.key for spec in specs if keep(spec)]
        self.stdout.write(f"{len(specs)} in the file, {len(changed)} new or changed")

    def _check(self, file: Path, **given: Any) -> None:
        self.stdout.write(f"{len(read_file(file))} in the file, no mistakes")

    def _test(self, file: Path, **given: Any) -> None:
        found = read_test_file(file)
        specs = [spec for name in found.rules for spec in read_file(file.parent / name)] or pack.specs()
        failed = 0
        for test in found.tests:
            wrong = rehearsal.differences(specs, test)
            failed += bool(wrong)
            for difference in wrong:
                self.stdout.write("\n".join(difference.lines()))
        if failed:
            raise CommandError(f"tests failed: {failed} of {len(found.tests)}", returncode=FAILED)
        self.stdout.write(f"tests passed: {len(found.tests)}")


def read_file(path: Path) -> list[Spec]:
    """Return the rules of a file. Raise CommandError naming each mistake with its place."""
    specs, mistakes = [], []
    for number, text in enumerate(text_of(path).split("\n---\n"), 1):
        try:
            specs.append(read_spec(load_yaml(text)))
        except SpecError as error:
            mistakes += [f"{path}, rule {number}, {place}: {words}" for place, words in error.errors.items()]
    if mistakes:
        raise CommandError("\n".join(mistakes), returncode=UNREADABLE)
    return specs


def read_test_file(path: Path) -> TestFile:
    """Return the tests of a file. Raise CommandError naming each mistake with its place."""
    try:
        return read_tests(load_yaml(text_of(path)))
    except SpecError as error:
        mistakes = [f"{path}, {place}: {words}" for place, words in error.errors.items()]
        raise CommandError("\n".join(mistakes), returncode=UNREADABLE) from error


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: {error}", returncode=UNREADABLE) from error


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
