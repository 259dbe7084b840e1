"""What processes of one installation are told, and what a user may change."""

import io
from pathlib import Path

import pytest

from launcher import environment, parts, processes, services, waiting
from launcher.data import Data
from launcher.environment import start_seconds
from launcher.parts import PARTS, Part
from launcher.services import Place
from launcher.steps import explain, step
from launcher.trouble import LauncherError


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("SECRET_KEY", "DATABASE_URL", "CELERY_BROKER_URL", "SHARDWATCH_ALLOWED_HOSTS"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("env", "expected"),
    [({}, False), ({"KEY": ""}, True), ({"KEY": "x"}, True), ({"KEY_FILE": "/x"}, True), ({"KEYS": "x"}, False)],
)
def test_a_variable_counts_as_given_by_a_file_too(env: dict[str, str], expected: bool) -> None:
    assert environment.is_given("KEY", env) is expected


def test_the_users_own_variables_win(own: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own.setenv("DATABASE_URL", "postgres://mine/watch")
    own.setenv("SECRET_KEY_FILE", "/run/secret")

    env = environment.environment(Data(tmp_path))

    assert env["DATABASE_URL"] == "postgres://mine/watch"
    assert "SECRET_KEY" not in env
    assert env["CELERY_BROKER_URL"].startswith("redis+socket://")


def test_two_folders_on_one_host_have_cookies_of_their_own(own: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own.delenv("SHARDWATCH_SESSION_COOKIE_NAME", raising=False)
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()

    names = {environment.environment(Data(folder))["SHARDWATCH_SESSION_COOKIE_NAME"] for folder in folders}

    assert len(names) == 2


@pytest.mark.parametrize("bind", ["127.0.0.1", "::1", "localhost"])
def test_a_loopback_server_answers_to_loopback_names_alone(bind: str) -> None:
    assert environment._hosts(bind) == [*environment.LOOPBACK]


def test_an_open_server_answers_to_its_own_names_too() -> None:
    assert "192.0.2.7" in environment._hosts("192.0.2.7")
    assert "*" not in environment._hosts("0.0.0.0")  # noqa: S104


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000/"),
        ("0.0.0.0", "http://127.0.0.1:8000/"),  # noqa: S104
        ("::", "http://[::1]:8000/"),
        ("fd00::5", "http://[fd00::5]:8000/"),
        ("watch.example", "http://watch.example:8000/"),
    ],
)
def test_a_place_has_an_address_that_a_browser_can_open(host: str, url: str) -> None:
    assert Place(host, 8000).url == url


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000/"),
        ("0.0.0.0", "http://watch.example:8000/"),  # noqa: S104
        ("::", "http://watch.example:8000/"),
        ("fd00::5", "http://[fd00::5]:8000/"),
    ],
)
def test_messages_link_to_the_machines_name_where_the_port_is_open(
    monkeypatch: pytest.MonkeyPatch, host: str, url: str
) -> None:
    monkeypatch.setattr("socket.getfqdn", lambda: "watch.example")

    assert Place(host, 8000).public_url == url


@pytest.mark.parametrize(
    ("mine", "expected"), [(None, "http://127.0.0.1:8000/"), ("", ""), ("https://my.example", "https://my.example")]
)
def test_messages_link_to_this_start_unless_the_user_says_otherwise(
    own: pytest.MonkeyPatch, tmp_path: Path, mine: str | None, expected: str
) -> None:
    own.delenv("SHARDWATCH_PUBLIC_URL", raising=False)
    if mine is not None:
        own.setenv("SHARDWATCH_PUBLIC_URL", mine)

    env = environment.environment(Data(tmp_path), public_url="http://127.0.0.1:8000/")

    assert env["SHARDWATCH_PUBLIC_URL"] == expected


def test_a_server_that_does_not_listen_has_the_status_zero() -> None:
    assert Place("127.0.0.1", 1).status_of("/readyz", {}) == (0, "")


@pytest.mark.parametrize("name", processes.COMMANDS)
def test_every_process_has_a_command_without_gaps(name: str) -> None:
    words = processes.command(name, data="/data dir", host="::1", port=8000)

    assert words[0] in {"python", "celery", "granian"}
    assert not any("{" in word or "}" in word for word in words)


def test_slow_machines_may_take_longer_to_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHARDWATCH_START_SECONDS", "300.5")

    assert services.Services(Data(tmp_path), {}).demo_traffic().start_seconds == 300.5


@pytest.mark.parametrize("given", ["soon", "0", "-1", "inf", "nan", ""])
def test_a_time_to_start_that_is_none_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDWATCH_START_SECONDS", given)

    with pytest.raises(LauncherError, match="SHARDWATCH_START_SECONDS is"):
        start_seconds()


def test_a_folder_with_a_blank_stays_one_word() -> None:
    assert "/data dir/beat" in processes.command("beat", data="/data dir", host="x", port=1)


@pytest.mark.parametrize(
    ("text", "left_out"), [("", set()), ("chromium", {"chromium"}), ("a,,b,", {"a", "b"}), (",", set())]
)
def test_it_knows_what_a_run_does_without(text: str, left_out: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(parts.WITHOUT, text)

    assert parts.left_out() == left_out


def test_a_program_that_is_named_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDWATCH_CHROMIUM", "/opt/own/chrome")

    assert PARTS["chromium"].find() == "/opt/own/chrome"


def test_the_first_program_that_is_there_is_taken() -> None:
    found = Part("x", ("no-such-program-here", "sh", "ls")).find()

    assert Path(found or "").name == "sh"


def test_what_is_missing_is_told_unless_it_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "odd", Part("odd-package", ("no-such-program-here",)))

    assert "odd" in parts.missing()
    assert "odd" not in parts.missing(["odd"])


def test_a_step_says_how_long_it_took() -> None:
    said = io.StringIO()

    with step("Starting the database", said):
        pass

    assert said.getvalue().startswith("Starting the database ....")
    assert said.getvalue().endswith("0.0 s\n")


def test_a_step_that_fails_says_so_and_fails() -> None:
    said = io.StringIO()

    with pytest.raises(LauncherError), step("Starting", said):
        raise LauncherError("No.")

    assert said.getvalue().endswith("failed after 0.0 s\n")


def test_a_failure_is_explained_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    explain(LauncherError("The port is taken.", "Name another."))
    explain(LauncherError("It is over."))

    assert capsys.readouterr().err.split("\n")[1:] == [
        "Error: The port is taken.",
        "What to do: Name another.",
        "",
        "Error: It is over.",
        "",
    ]


def test_waiting_ends_at_once_when_it_is_so() -> None:
    assert waiting.until(lambda: True, seconds=0)


def test_waiting_looks_once_more_than_never() -> None:
    looks: list[int] = []

    assert not waiting.until(lambda: looks.append(1), seconds=0, step=0)
    assert looks
