"""The environment that every process of one installation runs in."""

import math
import os
import socket
from collections.abc import Mapping

from launcher.checkout import ROOT, VIRTUALENV
from launcher.data import Data
from launcher.trouble import LauncherError

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# Children carry it, so that the next start finds those that a killed supervisor left behind.
MARK = "SHARDWATCH_SUPERVISED"


def is_given(name: str, env: Mapping[str, str] = os.environ) -> bool:
    """Return whether the user sets this variable, or its _FILE form."""
    return name in env or f"{name}_FILE" in env


def environment(data: Data, bind: str = "127.0.0.1", public_url: str = "") -> dict[str, str]:
    """Return the user's own variables, completed with what bin/up knows; the user's win."""
    known = {
        **data.secrets(),
        "DATABASE_URL": data.postgres.url,
        "CELERY_BROKER_URL": f"redis+socket://{data.broker_socket}",
        "SHARDWATCH_STATIC_ROOT": str(data.root / "static"),
        "SHARDWATCH_SWITCHES_COPY": str(data.root / "switches"),
        # Cookies ignore ports: two checkouts on one host must not sign each other out.
        "SHARDWATCH_SESSION_COOKIE_NAME": f"shardwatch_session_{data.identity}",
        "SHARDWATCH_ALLOWED_HOSTS": ",".join(_hosts(bind)),
        "SHARDWATCH_PUBLIC_URL": public_url,
    }
    env = dict(os.environ)
    env.pop("PYTHONHOME", None)
    env.update({name: value for name, value in known.items() if not is_given(name)})
    env.update(
        PATH=f"{VIRTUALENV / 'bin'}{os.pathsep}{env.get('PATH', os.defpath)}",
        PYTHONPATH=str(ROOT),
        SHARDWATCH_DATA=str(data.root),
    )
    return env


def start_seconds() -> float:
    """Return how long a process may take to start. Raise LauncherError where the setting is no time."""
    given = os.environ.get("SHARDWATCH_START_SECONDS", "120")
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise LauncherError(f"SHARDWATCH_START_SECONDS is {given!r}.", "Give seconds, such as 300.")
    return seconds


def _hosts(bind: str) -> list[str]:
    """Return the names that a browser may use: more than loopback's only where the port is open to others."""
    if bind in {"127.0.0.1", "::1", "localhost"}:
        return [*LOOPBACK]
    return [*LOOPBACK, bind, socket.gethostname(), socket.getfqdn()]
