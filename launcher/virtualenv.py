"""The virtualenv of the checkout: made once, filled from pinned requirements, left alone while they stay the same."""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from launcher.checkout import PYTHON, ROOT, VIRTUALENV
from launcher.steps import step
from launcher.trouble import LauncherError

RUN = ("requirements.txt", "requirements-local.txt")
TEST = (*RUN, "requirements-dev.txt")
INSTALLER = Path(__file__).with_name("installer.txt")
MARKER = VIRTUALENV / "installed.json"
LAST_LINES = 6
NETWORK_ADVICE = "Look at the network and the proxy settings (HTTPS_PROXY, PIP_INDEX_URL), then run this again."


def ensure(files: Sequence[str] = RUN, stream: TextIO | None = None) -> None:
    """Make the virtualenv hold the pinned versions of these files. Raise LauncherError where it cannot."""
    _refuse_link()
    if is_current(files):
        return
    with _alone():
        if is_current(files):
            return
        if not _has_pip() or _was_moved():
            with step("Making the virtualenv in .venv", stream):
                _make()
        with step("Installing the pinned requirements", stream):
            _install([ROOT / name for name in files])
        MARKER.write_text(json.dumps(_marker() | _wanted(files)), encoding="ascii")


def _refuse_link() -> None:
    # Making it anew would empty the folder behind the link, which belongs to somebody else.
    if VIRTUALENV.is_symlink():
        raise LauncherError(
            f"{VIRTUALENV} is a link to {VIRTUALENV.readlink()}: another checkout's virtualenv does not fit here.",
            f"Remove the link (rm {VIRTUALENV}) and run this again; nothing behind it was touched.",
        )


def is_current(files: Iterable[str]) -> bool:
    return _wanted(files).items() <= _marker().items() and PYTHON.exists()


def _wanted(files: Iterable[str]) -> dict[str, str]:
    hashes = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in files}
    return {**hashes, "place": str(VIRTUALENV)}


def _marker() -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(MARKER.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return {}
    return found


def _was_moved() -> bool:
    """Return whether its scripts still name the folder that they were made in."""
    return _marker().get("place", str(VIRTUALENV)) != str(VIRTUALENV)


@contextmanager
def _alone() -> Iterator[None]:
    # Two starts of one checkout must not fill one virtualenv at the same time.
    with INSTALLER.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _can(python: Path, modules: str) -> bool:
    command = [str(python), "-c", f"import sys, {modules}; sys.exit(sys.version_info < (3, 11))"]
    return python.exists() and subprocess.run(command, check=False, capture_output=True).returncode == 0


def _has_pip() -> bool:
    return _can(PYTHON, "pip")


def _make() -> None:
    if not _can(Path(sys.executable), "venv, ensurepip"):
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        raise LauncherError(
            f"{sys.executable} has no venv module.",
            f"Install it (on Debian and Ubuntu: apt install {version}-venv) and run this again.",
        )
    fresh = [] if _can(PYTHON, "os") and not _was_moved() else ["--clear"]
    command = [sys.executable, "-m", "venv", *fresh, str(VIRTUALENV)]
    _run(command, "Look at the free space and at who owns this folder, then run this again.")


def _install(files: Sequence[Path]) -> None:
    """Let uv install, which takes seconds; where it is not to be had, pip does the same in a minute or two."""
    wanted = [part for file in files for part in ("-r", str(file))]
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    try:
        _run([*pip, "-r", str(INSTALLER)], NETWORK_ADVICE)
        uv = [str(VIRTUALENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(PYTHON), "--require-hashes"]
        _run([*uv, "--compile-bytecode", *wanted], NETWORK_ADVICE)
    except LauncherError:
        _run([*pip, *wanted], NETWORK_ADVICE)


def _run(command: Sequence[str], advice: str) -> None:
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    done = subprocess.run(
        command, check=False, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT
    )
    if done.returncode:
        last = "\n".join(done.stdout.strip().splitlines()[-LAST_LINES:])
        raise LauncherError(f"{' '.join(command[:4])} … failed:\n{last}", advice)
