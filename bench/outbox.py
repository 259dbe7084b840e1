"""`bin/drill outbox`: the real sender, killed all the time, against a hostile pager and a database that crashes.

What must hold is what the pager saw: every incident opened once, and closed.
"""

import argparse
import base64
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(48))
os.environ.setdefault("SHARDWATCH_ENCRYPTION_KEYS", base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
os.environ.setdefault("SHARDWATCH_LOG_LEVEL", "ERROR")
# Nobody needs to be woken: the senders look again and again.
os.environ["CELERY_BROKER_URL"] = "memory://"
django.setup()

# Loaded once, before the forks: a sender that lives for a tenth of a second must not spend it on this.
import anyio._backends._asyncio  # noqa: E402, F401

# Models can be imported only after Django's setup.
import psycopg  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, connections  # noqa: E402

from alerts import http, incidents, sender  # noqa: E402
from alerts.message import Message, Severity  # noqa: E402
from alerts.models import Channel, Incident, Reason  # noqa: E402
from bench import pager  # noqa: E402
from bench.pager import Faults  # noqa: E402
from collectors.backlog import AWAY  # noqa: E402
from config import env  # noqa: E402
from fleet.secrets import Secret  # noqa: E402
from launcher import endings, postgres  # noqa: E402
from launcher.checkout import ROOT  # noqa: E402
from launcher.postgres import Postgres  # noqa: E402


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is sent, how fast, and how often what is killed."""

    incidents: int
    per_second: float
    crashes: int
    senders: int = 6
    longest_open_seconds: float = 8.0
    kill_seconds: tuple[float, float] = (0.05, 0.2)
    patience_seconds: float = 7_200.0
    seed: int = 5


REAL = Plan(incidents=3_600, per_second=18, crashes=2)
SHORT = Plan(incidents=36, per_second=20, crashes=1, longest_open_seconds=3, patience_seconds=240)
FAULTS = Faults()
# Short, so that the pager's slow answers are too late for us; the hold is longer than the slowest of them.
LIMITS = {
    "DELIVERY_CONNECT_TIMEOUT_SECONDS": 1.0,
    "DELIVERY_READ_TIMEOUT_SECONDS": 0.5,
    "DELIVERY_RESOLVE_HOLD_SECONDS": FAULTS.slowest_seconds + 1,
}
# A 429 holds the whole channel, so that incidents are spread over several, as teams have them.
SERVICES = 8
WAITING = "SELECT count(*) FROM alerts_delivery WHERE state = ''"
FIGURES = """
    SELECT (SELECT count(*) FROM alerts_incident), (SELECT count(*) FROM alerts_incident WHERE closed_at IS NULL),
           (SELECT count(*) FROM alerts_attempt), (SELECT count(*) FROM alerts_attempt WHERE result = 'unknown'),
           (SELECT count(*) FROM alerts_attempt WHERE cause = 'sender_lost'),
           (SELECT count(*) FROM alerts_delivery WHERE state NOT IN ('', 'accepted'))
"""
NAMES = ("made", "not_closed", "attempts", "unknown_outcomes", "senders_lost", "not_accepted")


@dataclass(slots=True)
class Stage:
    """The running parts: a database with its files, the pager, and the processes that were forked."""

    database: Postgres
    server: subprocess.Popen[bytes]
    url: str
    children: set[int]
    kills: int = 0

    def ask(self, query: str) -> tuple[Any, ...]:
        """Return one row. Raise psycopg.Error while the database is away."""
        with psycopg.connect(self.database.url, autocommit=True, connect_timeout=5) as fresh:
            row = fresh.execute(query.encode()).fetchone()
            assert row is not None
            return row

    def fork(self, act: Callable[[], object]) -> int:
        """Run something in a process of its own; it must never return here."""
        pid = os.fork()
        if pid == 0:
            be(act)
        self.children.add(pid)
        return pid

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.children.discard(pid)

    def crash(self) -> None:
        """End the database as a power cut would, and start it again on what it left."""
        self.server.kill()
        self.server.wait()
        _, self.server = postgres.start_postgres(self.database.data, self.database.sockets)

    def book(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.url, timeout=10) as answer:  # noqa: S310 - our own pager
            found: dict[str, Any] = json.load(answer)
            return found


def be(act: Callable[[], object]) -> NoReturn:
    status = 1
    try:
        act()
        status = 0
    finally:
        # Nothing of the parent's may run its end here.
        os._exit(status)


def send() -> None:
    """Be a sender: the real one, again and again, for as long as the drill lives."""
    drill = os.getppid()
    while os.getppid() == drill:
        try:
            sender.send_due()
        except AWAY:
            connection.close()
        time.sleep(0.05)


def make_incidents(plan: Plan) -> None:
    """Open incidents at their pace and close each after a while, through crashes of the database."""
    chance, began = random.Random(plan.seed), time.monotonic()
    moments = [(number / plan.per_second, number, True) for number in range(plan.incidents)]
    moments += [(at + chance.uniform(0, plan.longest_open_seconds), number, False) for at, number, _ in moments]
    for at, number, opens in sorted(moments):
        time.sleep(max(0.0, began + at - time.monotonic()))
        surely(lambda number=number, opens=opens: change(number, opens))  # type: ignore[misc]


def change(number: int, opens: bool) -> None:
    message = Message(f"Incident {number}", Severity.CRITICAL, datetime.now(UTC))
    if opens:
        if not Incident.objects.filter(subject=f"drill-{number}").exists():
            channels = Channel.objects.filter(name=f"service {number % SERVICES}")
            incidents.open_incident(f"drill-{number}", Reason.THRESHOLD, message, channels)
    else:
        incidents.close_incident(Incident.objects.get(subject=f"drill-{number}"), Reason.RECOVERED, message)


def surely(act: Callable[[], object]) -> None:
    while True:
        try:
            act()
        except AWAY:
            connection.close()
            time.sleep(0.1)
        else:
            return


@contextmanager
def stage(plan: Plan) -> Iterator[Stage]:
    directory = Path(tempfile.mkdtemp(prefix="sw-outbox-", dir="/tmp"))
    # The database's account must pass through to its socket.
    directory.chmod(0o711)
    database, server = postgres.start_postgres(directory / "postgres", directory / "pg")
    env_of_pager = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = subprocess.Popen(pager.command(plan.seed, FAULTS), stdout=subprocess.PIPE, cwd=ROOT, env=env_of_pager)
    assert program.stdout is not None
    made = Stage(database, server, f"http://127.0.0.1:{int(program.stdout.readline())}", set())
    try:
        prepare(made)
        yield made
    finally:
        for pid in list(made.children):
            made.kill(pid)
        program.kill()
        program.wait()
        postgres.stop_postgres(made.server)
        subprocess.run(["rm", "-rf", str(directory)], check=True)


def prepare(made: Stage) -> None:
    """Make tables and a channel. No connection may be open when processes are forked."""
    os.environ["DATABASE_URL"] = made.database.url
    settings.DATABASES["default"].update(env.database("DATABASE_URL", made.database.url))
    for name, value in {**LIMITS, "PAGERDUTY_URL": made.url}.items():
        setattr(settings, name, value)
    # As many as a sender can finish in its short life, so that the drill ends on a busy machine too.
    sender.AT_ONCE = sender.FOR_ONE = 2
    call_command("migrate", verbosity=0)
    for number in range(SERVICES):
        channel = Channel(name=f"service {number}", kind="pagerduty")
        channel.settings = Secret.of(json.dumps({"routing_key": f"{number:032}"}))
        channel.save()
    http.trust()
    connections.close_all()


def run(plan: Plan) -> dict[str, Any]:
    """Run the drill; return what the pager saw, and figures of how."""
    began = time.monotonic()
    with endings.raised(), stage(plan) as made:
        maker = made.fork(lambda: make_incidents(plan))
        senders = [made.fork(send) for _ in range(plan.senders)]
        torment(made, plan, senders, maker, began)
        return judged(made, plan) | {"seconds": round(time.monotonic() - began, 1)}


def torment(made: Stage, plan: Plan, senders: list[int], maker: int, began: float) -> None:
    """Kill senders, and crash the database at even distances, until all is made and nothing waits."""
    chance, busy = random.Random(plan.seed), plan.incidents / plan.per_second
    crashes = [began + busy * number / (plan.crashes + 1) for number in range(1, plan.crashes + 1)]
    while time.monotonic() < began + plan.patience_seconds:
        time.sleep(chance.uniform(*plan.kill_seconds))
        place = chance.randrange(len(senders))
        made.kill(senders[place])
        senders[place] = made.fork(send)
        made.kills += 1
        if crashes and time.monotonic() > crashes[0]:
            crashes.pop(0)
            made.crash()
        if made.kills % 10 == 0 and has_ended(made, maker) and not made.ask(WAITING)[0]:
            return


def has_ended(made: Stage, pid: int) -> bool:
    """Return whether a forked process is through. Raise RuntimeError where it failed."""
    if pid not in made.children:
        return True
    found, status = os.waitpid(pid, os.WNOHANG)
    if not found:
        return False
    made.children.discard(pid)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError("The process that makes incidents failed.")
    return True


def judged(made: Stage, plan: Plan) -> dict[str, Any]:
    # What the pager still has in its hands is taken before we look.
    time.sleep(FAULTS.slowest_seconds + 0.5)
    book, opened = made.book(), {}
    with psycopg.connect(made.database.url, autocommit=True) as fresh:
        keys = [row[0] for row in fresh.execute("SELECT dedup_key FROM alerts_incident").fetchall()]
    opened = {key: book["opened"].get(key, 0) for key in keys}
    figures = dict(zip(NAMES, made.ask(FIGURES), strict=True))
    return {
        "incidents": plan.incidents,
        "never_paged": sum(count == 0 for count in opened.values()) + plan.incidents - len(keys),
        "stuck_open": len(book["open"]),
        "waiting": made.ask(WAITING)[0],
        "opened_twice": sum(count > 1 for count in opened.values()),
        "kills": made.kills,
        "crashes": plan.crashes,
        **figures,
        "pager": dict(book["answers"]),
        "plan": asdict(plan),
    }


def holds(found: dict[str, Any]) -> bool:
    return not any(found[name] for name in ("never_paged", "stuck_open", "opened_twice", "waiting", "not_accepted"))


def sentence(found: dict[str, Any]) -> str:
    counts = ("never_paged", "stuck_open", "opened_twice", "kills", "crashes", "attempts", "unknown_outcomes")
    facts = ", ".join(f"{name.replace('_', ' ')} {found[name]}" for name in counts)
    verdict = "held" if holds(found) else "DID NOT HOLD"
    return f"outbox: {verdict} ({found['seconds']:.0f} s; {found['incidents']} incidents; {facts})"


def main() -> int:
    parser = argparse.ArgumentParser(prog="bin/drill outbox", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there, too")
    parser.add_argument("--short", action="store_true", help="few incidents, as the tests have them")
    chosen = parser.parse_args()
    try:
        found = run(SHORT if chosen.short else REAL)
    except endings.ToldToEndError as told:
        return 128 + told.number
    sys.stdout.write(sentence(found) + "\n")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2) + "\n")
    return int(not holds(found))


if __name__ == "__main__":
    sys.exit(main())
