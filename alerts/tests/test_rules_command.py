"""Rules to files and back."""

from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry
from alerts import pack
from alerts.rule import Rule
from alerts.tests.judged import rule

pytestmark = pytest.mark.django_db
MINE = "rule: mine\nwhen: {metric: used_memory, warning: 5}\n"


def run(*given: object) -> str:
    out = StringIO()
    call_command("rules", *map(str, given), stdout=out)
    return out.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rules.yaml"


def test_what_is_exported_is_imported_without_a_change(file: Path) -> None:
    pack.install()
    file.write_text(run("export"))

    told = run("import", file)

    count = Rule.objects.count()
    assert told == f"{count} in the file, 0 new or changed\n"
    assert set(Rule.objects.values_list("revision", flat=True)) == {1}


def test_it_writes_rules_as_a_person_would() -> None:
    rule("mine", **{"for": "5m"})

    lines = [line.strip(" -").partition(":")[0] for line in run("export").splitlines()]

    assert lines == ["rule", "title", "when", "all", "metric", "is", "warning", "critical", "for"]


def test_an_empty_database_gets_all_rules_of_a_file(file: Path) -> None:
    pack.install()
    before = dict(Rule.objects.values_list("key", "text"))
    file.write_text(run("export"))
    Rule.objects.all().delete()

    run("import", file)

    assert dict(Rule.objects.values_list("key", "text")) == before
    assert set(Rule.objects.values_list("origin", flat=True)) == {Rule.Origin.FILE}


def test_a_changed_rule_is_changed_with_its_revision(file: Path) -> None:
    rule("mine")
    file.write_text(MINE + "for: 5m\n")

    run("import", file)

    made = Rule.objects.get()
    assert (made.spec.hold, made.revision) == (300, 2)
    assert AuditEntry.objects.get().action == "rule.change"


def test_one_mistake_keeps_all_out_and_is_named_with_its_place(file: Path) -> None:
    file.write_text(MINE + "---\nrule: other\nwhen: {metric: nonsense, warning: 5}\nfor: soon\n")

    with pytest.raises(CommandError) as caught:
        run("import", file)

    assert "rule 2, when.1.metric" in str(caught.value)
    assert "rule 2, for" in str(caught.value)
    assert not Rule.objects.exists()


def test_a_check_changes_nothing(file: Path) -> None:
    file.write_text(MINE)

    assert run("check", file) == "1 in the file, no mistakes\n"
    assert not Rule.objects.exists()


@pytest.mark.parametrize("text", ["", "{", "- 1", "a: &x 1\nb: *x", "!!python/name:os.system"])
def test_a_file_without_a_rule_is_refused(file: Path, text: str) -> None:
    file.write_text(text)

    with pytest.raises(CommandError):
        run("check", file)


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(CommandError, match=r"rules\.yaml"):
        run("check", file)


TESTS = "rules: rules.yaml\ntests:\n- nodes:\n  - series: {used_memory: 1x3 9x3}\n  expect:\n"
EXAMPLES = settings.BASE_DIR / "docs" / "examples"


@pytest.fixture
def tests(file: Path) -> Path:
    file.write_text(MINE)
    return file.with_name("tests.yaml")


def test_tests_that_hold_are_counted(tests: Path) -> None:
    tests.write_text(TESTS + "  - at: 0s\n  - {at: 1m, alerts: [{rule: mine, severity: warning}]}\n")

    assert run("test", tests) == "tests passed: 1\n"


def test_a_test_that_fails_shows_the_difference_and_ends_with_1(tests: Path) -> None:
    tests.write_text(TESTS + "  - {at: 1m, alerts: [{rule: mine, severity: critical}]}\n")
    out = StringIO()

    with pytest.raises(CommandError, match="tests failed: 1 of 1") as caught:
        call_command("rules", "test", str(tests), stdout=out)

    assert caught.value.returncode == 1
    assert "- expected: rule mine, severity critical" in out.getvalue()
    assert "+ found:    rule mine" in out.getvalue()


@pytest.mark.parametrize("text", ["", "tests: 5", "{", "rules: missing.yaml\ntests: [{name: a}]"])
def test_a_test_file_that_cannot_be_read_ends_with_2(tests: Path, text: str) -> None:
    tests.write_text(text)

    with pytest.raises(CommandError) as caught:
        run("test", tests)

    assert caught.value.returncode == 2


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.tests.yaml")), ids=lambda path: path.name)
def test_the_examples_in_the_docs_hold(example: Path) -> None:
    assert "tests passed: 3" in run("test", example)
    assert example.name in (EXAMPLES.parent / "alerts.md").read_text()


def test_tests_need_no_database(tests: Path) -> None:
    tests.write_text(TESTS + "  - at: 0s\n")

    with CaptureQueriesContext(connection) as queries:
        run("test", tests)

    assert not queries.captured_queries


def test_without_rules_the_default_pack_is_tested(tests: Path) -> None:
    tests.write_text(
        "tests:\n- nodes:\n  - series: {down: 0x2 1x4}\n  expect:\n  - {at: 75s, rule: node-down, alerts: [{}]}\n"
    )

    assert run("test", tests)
