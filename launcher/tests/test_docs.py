"""docs/settings.md and docs/dependencies.md name what there is."""

import re

import pytest

from launcher.checkout import ROOT

READER = re.compile(r'env\.(?:text|number|whole|flag|words|database)\(\s*"([A-Z0-9_]+)"')
LOOKUP = re.compile(r'(?:environ(?:\.get|\.pop)?[\[(]|variable=)"((?:SHARDWATCH|DATABASE|CELERY)_[A-Z0-9_]+)"')
INTERNAL = {"SHARDWATCH_TEST_WITHOUT", "SHARDWATCH_LAUNCH_BEGAN"}


def settings_in_code() -> set[str]:
    files = [*ROOT.glob("config/**/*.py"), *ROOT.glob("launcher/*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if "tests" not in path.parts)
    return {*READER.findall(text), *LOOKUP.findall(text)} - INTERNAL


def settings_in_docs() -> set[str]:
    return set(re.findall(r"^\| `([A-Z0-9_]+)` \|", (ROOT / "docs/settings.md").read_text(encoding="utf-8"), re.M))


def test_every_setting_is_described() -> None:
    assert settings_in_code() - settings_in_docs() == set()


def test_no_setting_is_described_that_is_not_read() -> None:
    # The last one is read by Google's own package.
    assert settings_in_docs() - settings_in_code() - {"PYTHON", "GOOGLE_APPLICATION_CREDENTIALS"} == set()


@pytest.mark.parametrize("name", ["requirements", "requirements-local", "requirements-dev"])
def test_every_direct_requirement_earns_its_line(name: str) -> None:
    lines = (ROOT / f"{name}.in").read_text(encoding="utf-8").splitlines()
    direct = {re.split(r"[\[<>=]", line)[0] for line in lines if line and line[0] not in "#-"}

    described = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")

    assert {package for package in direct if not re.search(rf"^\|[^|]*\b{package}\b", described, re.M)} == set()


@pytest.mark.parametrize("name", ["requirements", "requirements-local", "requirements-dev"])
def test_every_requirement_is_pinned_by_hash_and_names_no_index(name: str) -> None:
    text = (ROOT / f"{name}.txt").read_text(encoding="utf-8")

    assert "://" not in text
    assert all("==" in block and "--hash=sha256:" in block for block in re.split(r"\n(?=[a-z])", text))
