"""A demo fleet of real servers with its traffic, in processes of their own as bin/up runs them."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from pytest_django import DjangoDbBlocker

from collectors.cloud.models import CloudProject
from conftest import database_url
from demo.cloud.emulator import Emulator
from demo.layout import Home, Member
from demo.nodes import client
from demo.tests.cloud import BareClients, Clock
from fleet.models import Cache
from launcher import children
from launcher.spreading import lent
from launcher.waiting import until

READY_SECONDS = 20.0


@dataclass
class Demo:
    """Commands of the demo that run on one directory."""

    home: Home
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        return {**os.environ, "DATABASE_URL": database_url()}

    def start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        """Start a command of the demo, its output in a file beside its data."""
        self.home.path.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "manage.py", name, "--dir", str(self.home.path), *words]
        with (self.home.path / f"{name}.log").open("ab") as log:
            process = children.spawn(command, log=log.fileno(), env=self.environment(), cwd=Path(settings.BASE_DIR))
        self.running.append(process)
        return process

    def start_fleet(self) -> subprocess.Popen[bytes]:
        process = self.start("demo_fleet")
        ready = until(lambda: self.home.ready_file.exists() or process.poll() is not None, READY_SECONDS)
        assert ready, "the demo fleet was not ready in time"
        assert process.poll() is None, self.said("demo_fleet")
        return process

    def said(self, name: str) -> str:
        return (self.home.path / f"{name}.log").read_text(encoding="utf-8")

    def ran(self, *words: str) -> tuple[int, str]:
        """Run a command of the demo in this process; return its exit status and what it said."""
        said = StringIO()
        try:
            call_command(*words, "--dir", str(self.home.path), stdout=said)
        except CommandError as error:
            return error.returncode, str(error)
        return 0, said.getvalue()

    def member(self, name: str) -> Member:
        return next(member for member in self.home.members() if member.name == name)

    def info(self, name: str) -> dict[str, Any]:
        with client(self.member(name).port) as server:
            told: dict[str, Any] = server.info("everything")
            return told

    def processes(self) -> list[int]:
        """Return the ids of all processes that were started on the directory."""
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if self.is_named_by(path)]

    def is_named_by(self, process: Path) -> bool:
        try:
            return str(self.home.path).encode() in (process / "cmdline").read_bytes()
        except OSError:
            return False

    def end(self) -> None:
        for process in reversed(self.running):
            children.stop(process, signal.SIGTERM)
        shutil.rmtree(self.home.path, ignore_errors=True)


@dataclass
class Demos:
    """All demos of the tests; one of them is shared."""

    made: list[Demo] = field(default_factory=list)

    def make(self) -> Demo:
        self.made.append(Demo(Home(Path(tempfile.mkdtemp(prefix="sw-demo-", dir="/tmp")))))
        return self.made[-1]

    @cached_property
    def busy(self) -> Demo:
        demo = self.make()
        demo.start_fleet()
        demo.start("demo_traffic")
        return demo


@contextmanager
def ended(blocker: DjangoDbBlocker) -> Iterator[Demos]:
    """Give demos; afterwards they have ended, and are no longer known."""
    demos = Demos()
    yield demos
    for demo in demos.made:
        demo.end()
    with blocker.unblock():
        Cache.objects.filter(is_demo=True).delete()
        CloudProject.objects.filter(is_demo=True).delete()


@pytest.fixture(scope="module")
def demos(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Demos]:
    with lent(request, partial(ended, django_db_blocker)) as made:
        yield made


@pytest.fixture
def own_demo(demos: Demos) -> Iterator[Demo]:
    """A directory where nothing runs yet, for tests that start and stop fleets."""
    demo = demos.make()
    yield demo
    demo.end()


@pytest.fixture
def demo(demos: Demos) -> Demo:
    """A fleet with traffic that all tests share: end the troubles that you make."""
    return demos.busy


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """Google Cloud on a loopback port, at a time that stands still."""
    started = Emulator(delay=0, clock=Clock()).start()
    yield started
    started.stop()


@pytest.fixture
def google(emulator: Emulator) -> Iterator[BareClients]:
    clients = BareClients(emulator.address)
    yield clients
    clients.close()
