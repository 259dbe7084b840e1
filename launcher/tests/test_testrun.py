"""bin/test: what it installs, leaves out and passes on."""

import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from launcher import parts, testrun
from launcher.checkout import ROOT
from launcher.testrun import Beside
from launcher.trouble import LauncherError


def test_without_is_taken_out_of_pytests_arguments() -> None:
    without, rest = testrun.split(["-k", "x", "--without", "chromium,redis-server", "fleet"])

    assert without == {"chromium", "redis-server"}
    assert rest == ["-k", "x", "fleet"]


def test_without_knows_what_there_is() -> None:
    with pytest.raises(LauncherError, match="nothing called netscape"):
        testrun.split(["--without", "netscape"])


def test_tests_do_not_see_how_the_user_runs_shardwatch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres:///precious")
    monkeypatch.setenv("SHARDWATCH_POLL_INTERVAL_SECONDS", "3600")

    env = testrun.environment({"chromium"})

    assert not {"DATABASE_URL", "SHARDWATCH_POLL_INTERVAL_SECONDS"} & set(env)
    assert env[parts.WITHOUT] == "chromium"


def test_what_is_missing_is_named_with_a_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SHARDWATCH_CHROMIUM", raising=False)

    php = {name for name in parts.PARTS if name.startswith("php-")}
    with pytest.raises(LauncherError, match="The tests need chromium, memcached, promtool, redis-server") as caught:
        parts.provide({"fonts-noto-cjk", *php})

    assert "--without chromium,memcached,promtool,redis-server" in caught.value.advice
    parts.provide(set(parts.PARTS))


def test_extensions_of_php_are_looked_for_in_php_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "php"
    program.write_text("#!/bin/sh\necho '[PHP Modules]'; echo APCu; echo curl\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    assert parts.PARTS["php-apcu"].find() == "apcu"
    assert parts.PARTS["php-redis"].find() is None


def test_without_php_none_of_its_extensions_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert {"php-cli", "php-apcu", "php-curl", "php-redis"} <= set(parts.missing())


def beside(script: str) -> AbstractContextManager[Beside]:
    return testrun.beside("Looking", (sys.executable, "-c", script), {})


def test_a_check_beside_the_tests_speaks_only_where_it_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with beside("print('all is well')") as well, beside("print('line 7: wrong'); raise SystemExit(1)") as wrong:
        assert (well.passed(), wrong.passed()) == (True, False)

    assert capfd.readouterr() == ("", "line 7: wrong\n\n")


def test_a_check_beside_the_tests_ends_with_them() -> None:
    with beside("import time; time.sleep(600)") as check:
        process = check.process

    assert process.returncode == -signal.SIGKILL


def test_types_are_looked_at_beside_the_tests_and_count(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for part in ("virtualenv.ensure", "parts.provide", "openfeature.provide"):
        monkeypatch.setattr(f"launcher.{part}", lambda _: None)
    monkeypatch.setattr(testrun, "CHECKS", {})
    monkeypatch.setattr(testrun, "_pytest", lambda words, env: 0)

    for script, status in (("", 0), ("raise SystemExit(3)", 1)):
        monkeypatch.setattr(testrun, "BESIDE", ("Looking", (sys.executable, "-c", script)))
        assert testrun.run([]) == status

    assert "Looking failed; see above." in capfd.readouterr().err


def test_the_door_refuses_an_old_python(tmp_path: Path) -> None:
    tools = {name: f"/usr/bin/{name}" for name in ("dirname", "sh")}
    for name, target in tools.items():
        (tmp_path / name).symlink_to(target)

    said = subprocess.run(
        [ROOT / "bin" / "up"],
        env={"PATH": str(tmp_path), "PYTHON": "/bin/false"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert said.returncode == 1
    assert "no Python 3.11" in said.stderr


def test_every_door_can_be_opened() -> None:
    assert all(os.access(ROOT / "bin" / name, os.X_OK) for name in ("up", "test", "manage", "bench", "drill"))
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
