"""OpenFeature's JavaScript SDK: installed by npm where npm is, pinned, and left out with a reason where it fails."""

import json
import re
from pathlib import Path

import pytest

from launcher import openfeature, testrun

INSTALLS = 'mkdir node_modules; cp package.json package-lock.json node_modules; echo "$@" > node_modules/asked'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs called node and npm, the only ones beside those of the system."""
    made = tmp_path / "bin"
    made.mkdir()
    monkeypatch.setenv("PATH", f"{made}:/bin")
    says(made, "node", "exit 0")
    says(made, "npm", INSTALLS)
    return made


def says(programs: Path, name: str, script: str) -> None:
    program = programs / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "venv").mkdir()
    return tmp_path / "venv" / "openfeature-1"


def test_npm_installs_what_is_pinned_and_runs_nothing_of_it(programs: Path, target: Path) -> None:
    openfeature.provide(target)

    for name in ("package.json", "package-lock.json"):
        assert (target / "node_modules" / name).read_bytes() == (openfeature.PINNED / name).read_bytes()
    assert "ci --ignore-scripts" in (target / "node_modules" / "asked").read_text()


def test_nothing_else_is_left_behind(programs: Path, target: Path) -> None:
    openfeature.provide(target)

    assert list(target.parent.iterdir()) == [target]


def test_it_is_installed_once(programs: Path, target: Path) -> None:
    openfeature.provide(target)
    says(programs, "npm", "exit 1")

    openfeature.provide(target)

    assert (target / "node_modules").exists()


def test_where_npm_fails_it_says_why_and_the_tests_go_on(
    programs: Path, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    says(programs, "npm", "mkdir node_modules; echo 'npm error code EINTEGRITY' >&2; exit 1")

    openfeature.provide(target)

    assert "its test is left out: npm error code EINTEGRITY" in capsys.readouterr().out
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("name", ["node", "npm"])
def test_without_one_of_both_nothing_is_tried(
    programs: Path, target: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (programs / name).unlink()
    monkeypatch.setenv("PATH", str(programs))

    openfeature.provide(target)

    assert (list(target.parent.iterdir()), capsys.readouterr().out) == ([], "")


def test_the_tests_are_told_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(openfeature.VARIABLE, raising=False)
    assert testrun.environment(set())[openfeature.VARIABLE] == str(openfeature.folder())

    monkeypatch.setenv(openfeature.VARIABLE, "/mine")
    assert testrun.environment(set())[openfeature.VARIABLE] == "/mine"


def test_other_pins_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = openfeature.folder()
    (tmp_path / "package-lock.json").write_text("{}")
    monkeypatch.setattr(openfeature, "PINNED", tmp_path)

    assert openfeature.folder() != before
    assert openfeature.folder().parent == before.parent


def test_every_package_is_pinned_by_its_sha_512_and_no_registry_is_named() -> None:
    text = (openfeature.PINNED / "package-lock.json").read_text()
    packages = {name: found for name, found in json.loads(text)["packages"].items() if name}
    wanted = json.loads((openfeature.PINNED / "package.json").read_text())["dependencies"]

    assert {f"node_modules/{name}": version for name, version in wanted.items()}.items() <= {
        name: found["version"] for name, found in packages.items()
    }.items()
    assert all(re.fullmatch(r"sha512-[\w+/]{86}==", found["integrity"]) for found in packages.values())
    assert "https://" not in re.sub(r'"funding": \{[^}]*\}', "", text)
