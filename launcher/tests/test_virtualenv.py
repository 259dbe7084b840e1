"""When the virtualenv is left alone and when it is filled again."""

import json
from pathlib import Path

import pytest

from launcher import virtualenv
from launcher.trouble import LauncherError


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "requirements.txt").write_text("one==1\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    monkeypatch.setattr(virtualenv, "ROOT", tmp_path)
    monkeypatch.setattr(virtualenv, "VIRTUALENV", tmp_path)
    monkeypatch.setattr(virtualenv, "PYTHON", tmp_path / "bin" / "python")
    monkeypatch.setattr(virtualenv, "MARKER", tmp_path / "installed.json")
    return tmp_path


def fill(checkout: Path) -> None:
    (checkout / "installed.json").write_text(json.dumps(virtualenv._wanted(["requirements.txt"])))


def test_it_is_current_while_the_requirements_stay_the_same(checkout: Path) -> None:
    assert not virtualenv.is_current(["requirements.txt"])

    fill(checkout)

    assert virtualenv.is_current(["requirements.txt"])


@pytest.mark.parametrize("target", ["other", "nowhere"])
def test_a_link_to_another_virtualenv_is_refused_and_nothing_behind_it_touched(
    target: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "other").mkdir()
    (checkout / "other" / "precious").touch()
    link = checkout / ".venv"
    link.symlink_to(checkout / target)
    monkeypatch.setattr(virtualenv, "VIRTUALENV", link)

    with pytest.raises(LauncherError, match="is a link to") as refused:
        virtualenv.ensure(["requirements.txt"])

    assert f"rm {link}" in refused.value.advice
    assert (checkout / "other" / "precious").exists()


def test_a_changed_pin_is_noticed(checkout: Path) -> None:
    fill(checkout)

    (checkout / "requirements.txt").write_text("one==2\n")

    assert not virtualenv.is_current(["requirements.txt"])


def test_a_deleted_virtualenv_is_noticed(checkout: Path) -> None:
    fill(checkout)

    (checkout / "bin" / "python").unlink()

    assert not virtualenv.is_current(["requirements.txt"])


def test_a_moved_checkout_is_noticed(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(checkout)

    monkeypatch.setattr(virtualenv, "VIRTUALENV", checkout / "elsewhere")

    assert not virtualenv.is_current(["requirements.txt"])
