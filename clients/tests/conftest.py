"""Clients of both languages, and a Shardwatch that answers as it is told."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clients.tests.cast import Client, PhpClient, PythonClient, ScriptedShardwatch, Wishes
from clients.tests.scripts import RunPhp, run
from conftest import needed_program

Starts = Callable[..., Client]
APCU = "apc.enable_cli=1"
NO_APCU = "apc.enabled=0"


@pytest.fixture
def shardwatch() -> Iterator[ScriptedShardwatch]:
    server = ScriptedShardwatch()
    yield server
    server.close()


@pytest.fixture
def wishes(shardwatch: ScriptedShardwatch, tmp_path: Path) -> Wishes:
    return Wishes(shardwatch.url, tmp_path / "kept")


@pytest.fixture(scope="session")
def php() -> str:
    """Return php-cli; fail where it or an extension that the client needs is missing."""
    for name in ("php-apcu", "php-curl", "php-redis"):
        needed_program(name)
    return needed_program("php-cli")


@pytest.fixture
def run_php(php: str, wishes: Wishes) -> RunPhp:
    """Run a snippet with the bootstrap: `run_php("show(switches()->canUse('user-cache'));", CACHE=port)`."""
    return partial(run, php, SHARDWATCH=wishes.url, KEPT=wishes.directory)


@pytest.fixture(params=["php", "php-without-apcu", "python"])
def start(
    request: pytest.FixtureRequest, wishes: Wishes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Starts]:
    """Start clients of one kind: `start(address="")` returns one as wished; a second one is a restart."""
    started: list[Client] = []
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def begin(**changed: Any) -> Client:
        wanted = replace(wishes, **changed)
        if request.param == "python":
            started.append(PythonClient(wanted))
        else:
            setting = APCU if request.param == "php" else NO_APCU
            started.append(PhpClient(wanted, request.getfixturevalue("php"), setting))
        return started[-1]

    yield begin
    for client in started:
        client.stop()
