"""bin/up: from a checkout to a running Shardwatch, and back to nothing at the end."""

import contextlib
import json
import os
import resource
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from launcher import endings, leftovers, ports, preparing
from launcher.data import Data, write_private
from launcher.environment import MARK, environment, is_given, start_seconds
from launcher.services import Place, Services
from launcher.steps import step
from launcher.supervisor import TEND_SECONDS, Supervisor, trim_logs
from launcher.trouble import LauncherError
from launcher.waiting import until

TRIM_SECONDS = 60.0
# After a note that could not be written: scripts read the pids there.
NOTE_RETRY_SECONDS = 5.0
ADMIN = "admin"

OnReady = Callable[[], None]


@dataclass(frozen=True)
class Wish:
    """What the command line asks for."""

    data: Data
    bind: str
    port: int
    demo: bool
    addresses: tuple[str, ...]
    began: float


def run(wish: Wish, on_ready: OnReady) -> int:
    """Start everything, watch over it until a signal comes, stop everything. Return the exit status."""
    _raise_file_limit()
    wish.data.make()
    supervisor = Supervisor(say)
    status = 0
    with wish.data.claim():
        try:
            with endings.raised():
                status = 128
                _start(wish, supervisor)
                status = 0
                on_ready()
                _watch(wish.data, supervisor)
        except endings.ToldToEndError as told:
            say("Stopping.")
            return status and status + told.number
        finally:
            supervisor.stop()
    return status


def say(sentence: str) -> None:
    print(sentence, flush=True)


def _raise_file_limit() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _start(wish: Wish, supervisor: Supervisor) -> None:
    for address in wish.addresses:
        preparing.cache_name(address)
    held = ports.reserve(wish.bind, wish.port)
    place = Place(wish.bind, held.getsockname()[1])
    services = Services(wish.data, {**environment(wish.data, wish.bind, place.public_url), MARK: str(wish.data.root)})
    if ended := leftovers.end(wish.data):
        say(f"Ended {ended} processes that an earlier run left behind.")
    _start_servers(services, supervisor)
    report = preparing.prepare(services.env)
    for address in wish.addresses:
        preparing.register(address, services.env)
    if wish.demo and (report["has_demo"] or (report["is_empty"] and not wish.addresses)):
        with step("Starting the demo fleet of 8 Valkey servers"):
            supervisor.launch(services.demo_fleet())
        supervisor.launch(services.demo_traffic(), services.demo_cloud())
    _start_applications(services, supervisor, place, held)
    _note(wish.data, supervisor, url=place.url, admin_user=ADMIN, demo_fleet=_demo_addresses(wish.data, supervisor))
    _greet(wish, place, report["password"])


def _start_servers(services: Services, supervisor: Supervisor) -> None:
    if is_given("DATABASE_URL"):
        say(foreign("DATABASE_URL", "database"))
    else:
        with step("Starting the database"):
            supervisor.launch(services.database())
    if is_given("CELERY_BROKER_URL"):
        say(foreign("CELERY_BROKER_URL", "broker"))
    else:
        with step("Starting the broker"):
            supervisor.launch(services.broker())


def foreign(name: str, what: str) -> str:
    """Return a warning that this shell names a server, without its password: it may be meant for another program."""
    place = urlsplit(os.environ.get(name, ""))
    where = f"{place.hostname or ''}{place.path}" or f"what {name}_FILE names"
    return (
        f"ATTENTION: {name} is set in this shell, so the {what} is not Shardwatch's own but {where}.\n"
        f"           Tables or queues are made and changed there. If that is not meant: Ctrl-C, unset {name}."
    )


def _start_applications(services: Services, supervisor: Supervisor, place: Place, held: socket.socket) -> None:
    with step("Starting poller, worker, judge, scanner, sender, beat and web"):
        names = ("poller", "worker", "judge", "scanner", "sender", "beat")
        workers = [services.application(name, place) for name in names]
        supervisor.launch(*workers, services.web(place, held))
    with step("Waiting until all parts work together"):
        _await_whole(services, supervisor, place)


def _await_whole(services: Services, supervisor: Supervisor, place: Place) -> None:
    def is_whole() -> bool:
        supervisor.tend()
        return place.status_of("/readyz", services.env)[0] == HTTPStatus.OK

    patience = start_seconds()
    if not until(is_whole, patience, step=0.25):
        status, body = place.status_of("/readyz", services.env)
        raise LauncherError(
            f"After {patience:g} s {place.url}readyz still answers {status}: {body.strip()}",
            f"The logs are in {services.data.log}.",
        )


def _note(data: Data, supervisor: Supervisor, **news: Any) -> None:
    """Bring run.json up to date with what is running."""
    write_private(data.run_file, data.run() | news | {"pids": {"supervisor": os.getpid(), **supervisor.pids()}})


def _demo_addresses(data: Data, supervisor: Supervisor) -> dict[str, list[str]]:
    fleet: dict[str, list[str]] = {}
    if "demo fleet" in supervisor.pids():
        for node in json.loads((data.demo / "fleet.json").read_text(encoding="utf-8"))["nodes"].values():
            fleet.setdefault(node["cache"], []).append(node["address"])
    return fleet


def _greet(wish: Wish, place: Place, password: str) -> None:
    say(f"\nShardwatch is up after {time.time() - wish.began:.1f} s: {place.url}")
    if password:
        say(f"Sign in as {ADMIN} with the password {password}")
        say("It is shown only this once. Change it with: bin/manage changepassword admin")
    else:
        say(f"Sign in as {ADMIN}.")


def _watch(data: Data, supervisor: Supervisor) -> None:
    trim_at = note_at = 0.0
    has_news = False
    while True:
        has_news |= supervisor.tend()
        if has_news and time.monotonic() >= note_at:
            has_news = not _try_to_note(data, supervisor)
            note_at = time.monotonic() + NOTE_RETRY_SECONDS if has_news else 0.0
        if time.monotonic() > trim_at:
            # Trimming is what frees a little room on a full disk; where it cannot, the next minute tries again.
            with contextlib.suppress(OSError):
                trim_logs(data.log)
            trim_at = time.monotonic() + TRIM_SECONDS
        time.sleep(TEND_SECONDS)


def _try_to_note(data: Data, supervisor: Supervisor) -> bool:
    """Bring run.json up to date; a disk that is full for a while must not end what runs."""
    try:
        _note(data, supervisor)
    except OSError as error:
        say(f"run.json cannot be written: {error.strerror}. Everything else goes on.")
        return False
    return True
