"""bin/test: installs what the tests need, looks at the code, runs the tests."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO

from launcher import endings, openfeature, parts, virtualenv
from launcher.checkout import PYTHON, ROOT
from launcher.steps import step
from launcher.trouble import LauncherError

CHECKS = {
    "Looking for mistakes": ("ruff", "check", "--no-cache", "."),
    "Looking at the layout of the code": ("ruff", "format", "--no-cache", "--check", "."),
}
# A minute on one core: it takes what the tests leave of them.
BESIDE = ("Looking at the types", ("nice", "mypy", "."))
# One process for each of the two cores; tests of one file stay together, because they share servers.
SPREAD = ("-n", "2", "--dist", "loadfile")
# From here on a status tells of a signal: somebody ended the run.
SIGNALLED = 128
# A test must not see how the user runs Shardwatch.
FOREIGN = ("DATABASE_URL", "CELERY_BROKER_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE")


def run(words: list[str]) -> int:
    """Return 0 only where every check and every test passed."""
    without, chosen = split(words)
    virtualenv.ensure(virtualenv.TEST)
    parts.provide(without)
    openfeature.provide(openfeature.folder())
    env = environment(without)
    # With arguments somebody wants an answer about a few tests; the checks of everything would only delay it.
    failed = [] if chosen else [title for title, command in CHECKS.items() if not _check(title, command, env)]
    with beside(*BESIDE, env) if not chosen else nullcontext() as types:
        status = _pytest([*(() if names_workers(chosen) else SPREAD), *chosen], env)
        if types and status < SIGNALLED and not types.passed():
            failed.append(types.title)
    for title in failed:
        print(f"{title} failed; see above.", file=sys.stderr)
    return status or len(failed)


def split(words: list[str]) -> tuple[set[str], list[str]]:
    """Take --without NAME,… out of pytest's arguments. Raise LauncherError for a name that nothing here has."""
    rest, without = list(words), set[str]()
    while "--without" in rest:
        place = rest.index("--without")
        without |= set("".join(rest[place + 1 : place + 2]).split(",")) - {""}
        del rest[place : place + 2]
    if unknown := without - set(parts.PARTS):
        raise LauncherError(
            f"There is nothing called {', '.join(sorted(unknown))} to do without.",
            f"Known are {', '.join(parts.PARTS)}.",
        )
    return without, rest


def names_workers(words: list[str]) -> bool:
    return any(word.startswith(("-n", "--numprocesses", "--dist", "-p")) for word in words)


def environment(without: set[str]) -> dict[str, str]:
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in FOREIGN and not (name.startswith("SHARDWATCH_") and name not in KEPT)
    }
    env["PYTHONPATH"] = str(ROOT)
    env["PATH"] = f"{PYTHON.parent}{os.pathsep}{env.get('PATH', os.defpath)}"
    env["SECRET_KEY"] = secrets.token_urlsafe(48)
    env[parts.WITHOUT] = ",".join(sorted(without))
    env.setdefault(openfeature.VARIABLE, str(openfeature.folder()))
    return env


KEPT = {"SHARDWATCH_POSTGRES_BIN", "SHARDWATCH_VALKEY_SERVER", "SHARDWATCH_CHROMIUM", openfeature.VARIABLE}


@dataclass
class Beside:
    """A check that runs while the tests do; what it says comes behind them, on standard error."""

    title: str
    process: "subprocess.Popen[bytes]"
    said: IO[str]

    def passed(self) -> bool:
        """Wait for its end, and say what it found where it failed."""
        if self.process.wait() == 0:
            return True
        self.said.seek(0)
        print(self.said.read(), file=sys.stderr, flush=True)
        return False


@contextmanager
def beside(title: str, command: tuple[str, ...], env: Mapping[str, str]) -> Iterator[Beside]:
    with (
        TemporaryFile("w+") as said,
        subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=env, cwd=ROOT) as process,
    ):
        try:
            yield Beside(title, process, said)
        finally:
            process.kill()


def _check(title: str, command: tuple[str, ...], env: Mapping[str, str]) -> bool:
    program = PYTHON.with_name(command[0])
    with step(title):
        done = subprocess.run([program, *command[1:]], check=False, capture_output=True, text=True, env=env, cwd=ROOT)
    if done.returncode:
        print(done.stdout, done.stderr, sep="", flush=True)
    return done.returncode == 0


def _pytest(words: list[str], env: Mapping[str, str]) -> int:
    """Run pytest, which has the last word on standard output."""
    with subprocess.Popen([PYTHON, "-m", "pytest", *words], env=env, cwd=ROOT) as tests:
        try:
            with endings.raised():
                return tests.wait()
        except endings.ToldToEndError as told:
            tests.send_signal(signal.SIGINT)
            tests.wait()
            return 128 + told.number
