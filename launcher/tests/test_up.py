"""bin/up and its companions as a person or a script uses them, with real processes."""

import json
import os
import signal
import socket
import stat
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dashboard.tests.conftest import product as product
from dashboard.tests.product import Product
from launcher import leftovers, up, valkey
from launcher.checkout import ROOT
from launcher.data import Data
from launcher.waiting import until

PATIENCE_SECONDS = 60.0
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**more: str) -> dict[str, str]:
    """What the tests run in says where their own servers are; a person's shell does not."""
    foreign = ("DATABASE_URL", "CELERY_BROKER_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE")
    kept = {k: v for k, v in os.environ.items() if k not in foreign and not k.startswith("SHARDWATCH_")}
    return {**kept, **more}


def door(name: str, *words: str | Path, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [str(ROOT / "bin" / name), *map(str, words)]
    return subprocess.run(
        command, env=environment(**more), capture_output=True, text=True, check=False, timeout=2 * PATIENCE_SECONDS
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Data]:
    """A folder that stays the same through this file, like a user's."""
    found = Data(tmp_path_factory.mktemp("up") / "var")
    yield found
    door("up", "--data", found.root, "--stop")


@pytest.fixture
def running(data: Data) -> Data:
    """Shardwatch with that folder, started unless it runs."""
    if data.owner() is None:
        done = door(
            "up", "--data", data.root, "--detach", "--no-demo", SHARDWATCH_ADMIN_PASSWORD="correct horse staple"
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return data


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own address
            return int(answer.status)
    except OSError:
        return 0


def serves(address: str) -> bool:
    url = urlsplit(address)
    return valkey.answers((str(url.hostname), int(url.port or 0)))


def pids(data: Data) -> dict[str, int]:
    found: dict[str, int] = data.run()["pids"]
    return found


def test_it_is_ready_when_detach_returns(running: Data) -> None:
    run = running.run()

    assert status_of(f"{run['url']}readyz") == 200
    assert run["url"].startswith("http://127.0.0.1:")
    assert (run["admin_user"], run["demo_fleet"]) == ("admin", {})
    assert stat.S_IMODE(running.run_file.stat().st_mode) == 0o600
    workers = {"poller", "worker", "judge", "scanner", "sender", "beat"}
    assert {"supervisor", "database", "broker", "web"} | workers == set(pids(running))


def test_another_with_the_demo_fleet_runs_beside_it_until_it_is_stopped(running: Data, product: Product) -> None:
    other = Data(product.data)
    urls = [each.run()["url"] for each in (running, other)]
    fleet = [address for cache in other.run()["demo_fleet"].values() for address in cache]
    assert [status_of(f"{url}healthz") for url in urls] == [200, 200]
    assert len(fleet) == 8
    assert all(serves(address) for address in fleet)

    # The second time nothing runs any more.
    assert [door("up", "--data", other.root, "--stop").returncode for _ in range(2)] == [0, 0]

    assert leftovers.find(other) == []
    assert not any(serves(address) for address in fleet)
    assert other.postgres.running() == []
    assert [path for path in (other.run_file, other.sockets) if path.exists()] == []
    assert status_of(f"{urls[0]}healthz") == 200


def test_it_keeps_secrets_to_itself(running: Data) -> None:
    assert stat.S_IMODE((running.root / "secrets.json").stat().st_mode) == 0o600
    assert "correct horse" not in "".join(path.read_text() for path in running.log.iterdir())


def test_it_gives_no_secret_to_the_servers_below(running: Data) -> None:
    known = json.loads((running.root / "secrets.json").read_text())

    for name in ("database", "broker"):
        environ = Path(f"/proc/{pids(running)[name]}/environ").read_text()
        assert not any(secret in environ for secret in (*known.values(), "correct horse"))
    assert "correct horse" not in Path(f"/proc/{pids(running)['web']}/environ").read_text()


def test_it_goes_on_when_the_note_of_what_runs_cannot_be_written(running: Data) -> None:
    before = pids(running)["worker"]
    blocked = running.root / f".run.json.{pids(running)['supervisor']}"
    blocked.mkdir()

    os.kill(before, signal.SIGKILL)

    assert until(lambda: "run.json cannot be written" in (running.log / "up.log").read_text(), PATIENCE_SECONDS)
    blocked.rmdir()
    assert status_of(f"{running.run()['url']}healthz") == 200


def test_it_signs_the_administrator_in_with_the_password_given(running: Data) -> None:
    check = "from accounts.models import User; print(User.objects.get(username='admin').check_password(PASSWORD))"

    said = door(
        "manage", "--data", running.root, "shell", "-v", "0", "-c", check.replace("PASSWORD", "'correct horse staple'")
    )

    assert said.stdout.strip() == "True"


def test_manage_prints_only_what_its_command_prints(running: Data) -> None:
    said = door("manage", "create_token", "--user", "script", "--role", "viewer", SHARDWATCH_DATA=str(running.root))

    assert said.returncode == 0
    assert len(said.stdout.split()) == 1


def test_manage_passes_the_status_of_its_command_on(running: Data) -> None:
    assert door("manage", "--data", running.root, "no_such_command").returncode == 1


def test_a_second_start_on_the_same_data_is_refused(running: Data) -> None:
    said = door("up", "--data", running.root, "--detach")

    assert said.returncode == 1
    assert "already runs" in said.stderr
    assert "--stop" in said.stderr


def test_a_crashed_child_is_started_again(running: Data) -> None:
    before = pids(running)["web"]

    os.kill(before, signal.SIGKILL)

    assert until(lambda: pids(running)["web"] != before, PATIENCE_SECONDS)
    assert until(lambda: status_of(f"{running.run()['url']}healthz") == 200, PATIENCE_SECONDS)


def test_a_killed_database_comes_back(running: Data) -> None:
    os.kill(pids(running)["database"], signal.SIGKILL)

    assert until(lambda: status_of(f"{running.run()['url']}readyz") == 200, PATIENCE_SECONDS, step=0.5)


def test_nothing_outlives_a_killed_supervisor_and_the_next_start_heals(running: Data, tmp_path: Path) -> None:
    door("manage", "--data", running.root, "add_cache", "kept", "redis://127.0.0.1:1")
    os.kill(pids(running)["supervisor"], signal.SIGKILL)

    assert until(lambda: not leftovers.find(running), PATIENCE_SECONDS)
    assert until(lambda: not running.postgres.running(), PATIENCE_SECONDS)
    with in_the_foreground(running, tmp_path / "said") as said:
        assert "password" not in said
        assert "demo" not in said
        assert status_of(f"{running.run()['url']}readyz") == 200

    assert leftovers.find(running) == []
    assert running.postgres.running() == []


@contextmanager
def in_the_foreground(data: Data, file: Path) -> Iterator[str]:
    """Run bin/up until SIGTERM, which must be a good end to it; return what it says until it is up."""
    command = [str(ROOT / "bin" / "up"), "--data", str(data.root)]
    with file.open("w") as said, subprocess.Popen(command, env=environment(), stdout=said, stderr=said) as process:
        try:
            assert until(lambda: "Sign in as" in file.read_text() or process.poll() is not None, PATIENCE_SECONDS)
            assert process.poll() is None, file.read_text()
            yield file.read_text()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0


def test_a_taken_port_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        said = door("up", "--data", tmp_path / "var", "--port", str(port), "--detach")

    assert said.returncode == 1
    assert f"Port {port} is taken by another program." in said.stderr
    assert "--port" in said.stderr


def test_a_failing_step_names_the_reason(tmp_path: Path) -> None:
    said = door("up", "--data", tmp_path / "var", "--detach", SHARDWATCH_POSTGRES_BIN="/nowhere")

    assert said.returncode == 1
    assert "SHARDWATCH_POSTGRES_BIN names /nowhere" in said.stderr


def test_it_refuses_an_address_that_is_none_without_repeating_it(tmp_path: Path) -> None:
    said = door("up", "--data", tmp_path / "var", "http://user:hidden@example.org", "--detach")

    assert said.returncode == 1
    assert "redis://HOST:PORT" in said.stderr
    assert "hidden" not in said.stderr


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("postgres://app:hush@db.example:5432/shop?sslmode=require", "db.example/shop"),
        ("postgres:///precious", "/precious"),
        ("", "what DATABASE_URL_FILE names"),
    ],
)
def test_it_warns_loudly_of_a_database_that_the_shell_names(
    url: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)

    warning = up.foreign("DATABASE_URL", "database")

    assert warning.startswith("ATTENTION: DATABASE_URL is set in this shell")
    assert f"not Shardwatch's own but {where}.\n" in warning
    assert "hush" not in warning
