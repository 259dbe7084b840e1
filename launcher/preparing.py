"""What manage.py does between the start of the servers and that of the applications."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from launcher import processes
from launcher.checkout import ROOT
from launcher.steps import step
from launcher.trouble import LauncherError

USUAL_PORT = 6379
# Those of fleet/addresses.py, which this side of the virtualenv cannot import.
SCHEMES = frozenset(
    {"redis", "rediss", "valkey", "valkeys", "memcached", "memcacheds", "memcached+discovery", "memcacheds+discovery"}
)


def prepare(env: Mapping[str, str]) -> dict[str, Any]:
    """Run `manage.py prepare`, which prints its own steps, and return its report."""
    reader, writer = os.pipe()
    with os.fdopen(reader, encoding="utf-8") as report:
        try:
            command = [sys.executable, *processes.PREPARE.split()[1:], "--report", str(writer)]
            done = subprocess.run(command, check=False, env=env, cwd=ROOT, pass_fds=(writer,))
        finally:
            os.close(writer)
        if done.returncode:
            raise LauncherError("The database could not be prepared; the lines above say why.")
        answers: dict[str, Any] = json.loads(report.read())
    return answers


def register(address: str, env: Mapping[str, str]) -> None:
    """Add a cache that is known by its address alone."""
    name = cache_name(address)
    with step(f"Registering {name}"):
        command = [sys.executable, str(ROOT / "manage.py"), "add_cache", name, address]
        done = subprocess.run(command, check=False, env=env, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["it gave no reason"]
            raise LauncherError(f"{name} could not be registered: {said[-1]}", "Correct the address and start again.")


def cache_name(address: str) -> str:
    """Return the host of the address as a name, with the port unless it is the usual one.

    Raise LauncherError, which must not repeat the address and its password, where it is none.
    """
    url = urlsplit(address.split(",")[0])
    try:
        host, port = url.hostname or "", url.port
    except ValueError:
        host, port = "", None
    if url.scheme not in SCHEMES or not host:
        raise LauncherError(
            "What was given to bin/up is not the address of a cache.",
            "Write redis://HOST:PORT, rediss://HOST:PORT or memcached://HOST:PORT.",
        )
    words = host if port in {None, USUAL_PORT} else f"{host}-{port}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
