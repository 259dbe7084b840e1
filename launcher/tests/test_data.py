"""The folder of one running Shardwatch: its secrets, its claim, its sockets."""

import json
import os
import stat
from pathlib import Path

import pytest

from launcher.data import SOCKETS_PATH_LIMIT, Data, write_private
from launcher.trouble import LauncherError


@pytest.fixture
def data(short_path: Path) -> Data:
    made = Data(short_path)
    made.make()
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_secrets_are_made_once_and_for_this_account_alone(data: Data) -> None:
    first = data.secrets()

    assert data.secrets() == first
    assert mode(data.root / "secrets.json") == 0o600
    assert len(first["SECRET_KEY"]) >= 50


def test_two_folders_have_secrets_and_names_of_their_own(data: Data, tmp_path: Path) -> None:
    other = Data(tmp_path)

    assert not {*data.secrets().values()} & {*other.secrets().values()}
    assert data.identity != other.identity


def test_a_private_file_is_replaced_whole_and_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("open to all")
    path.chmod(0o644)

    write_private(path, {"a": 1})

    assert (json.loads(path.read_text()), mode(path)) == ({"a": 1}, 0o600)
    assert [one.name for one in tmp_path.iterdir()] == ["run.json"]


def test_a_draft_that_a_killed_start_left_does_not_stop_the_next(tmp_path: Path) -> None:
    (tmp_path / f".run.json.{os.getpid()}").write_text("half")

    write_private(tmp_path / "run.json", {})

    assert json.loads((tmp_path / "run.json").read_text()) == {}


@pytest.mark.parametrize("content", ["", "{", "\x00", '{"url": '])
def test_a_run_file_that_was_cut_short_tells_of_no_run(content: str, data: Data) -> None:
    data.run_file.write_text(content)

    assert data.run() == {}


def test_a_claim_is_held_by_one_and_says_by_whom(data: Data) -> None:
    with data.claim():
        write_private(data.run_file, {"url": "http://localhost:8000/"})

        with pytest.raises(LauncherError) as caught, data.claim():
            pass

    assert "http://localhost:8000/" in caught.value.reason
    assert f"process {os.getpid()}" in caught.value.reason
    assert "--stop" in caught.value.advice


def test_a_claim_leaves_no_run_and_no_sockets_behind(data: Data) -> None:
    with data.claim():
        sockets, owner = data.sockets.exists(), data.owner()

    assert (sockets, owner) == (True, os.getpid())
    assert not data.sockets.exists()
    assert data.owner() is None


def test_a_claim_ends_with_a_failure_too(data: Data) -> None:
    with pytest.raises(RuntimeError), data.claim():
        raise RuntimeError

    with data.claim():
        assert data.owner() == os.getpid()


def test_what_a_killed_run_told_of_itself_is_forgotten(data: Data) -> None:
    write_private(data.run_file, {"url": "http://localhost:9/"})

    with data.claim():
        assert data.run() == {}


def test_nobody_owns_a_folder_that_was_never_used(tmp_path: Path) -> None:
    assert Data(tmp_path).owner() is None


def test_a_long_path_has_its_sockets_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / ("x" * SOCKETS_PATH_LIMIT)

    assert root not in Data(root).sockets.parents
    assert Data(root).identity in Data(root).sockets.name
    assert len(str(Data(root).broker_socket)) < 107


def test_the_length_of_a_path_counts_in_bytes() -> None:
    root = Path("/tmp/" + "秘" * 30)

    assert root not in Data(root).sockets.parents


def test_a_folder_that_cannot_be_made_is_named_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LauncherError) as caught:
        Data(tmp_path / "file" / "var").make()

    assert str(tmp_path) in caught.value.reason
    assert "--data" in caught.value.advice


def test_logs_are_for_this_account_alone(data: Data) -> None:
    assert (mode(data.log), mode(data.broker)) == (0o700, 0o700)
