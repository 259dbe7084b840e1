"""Rules to files and back."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

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
