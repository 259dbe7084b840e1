"""Real processes whose clock is wrong by an hour: nothing is paged or ended by it, and nothing is lost."""

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from alerts import database_clock
from alerts.models import Decision, Incident
from alerts.route import Route, Step
from alerts.silence import Silence
from alerts.tests.cast import channel
from alerts.tests.judged import rule
from alerts.tests.peers import Service
from conftest import ValkeyFactory, database_url
from fleet.models import Cache, Node
from launcher.checkout import ROOT
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_SECONDS = 60.0
HOUR, HALF, INTERVAL = 3_600, 1_800, 15
# A worker that does everything once for each line that it reads: it polls, judges, and lets time do its part.
PROGRAM = """
import sys
import django
django.setup()
from alerts import tasks
from collectors import leases, poll
from collectors.pool import Pool
from fleet.models import Cache
pool = Pool()
for line in sys.stdin:
    ids, tick = list(Cache.objects.values_list("pk", flat=True)), poll.current_tick()
    leases.make_missing(ids)
    poll.poll_caches(ids, tick, pool, "worker")
    tasks.evaluate(ids, tick)
    for task in (tasks.sweep, tasks.watch_switches, tasks.self_tests, tasks.send_due):
        task()
    print("done", flush=True)
"""


class Worker:
    """One process and its clock."""

    def __init__(self, folder: Path, pager: Service) -> None:
        self.clock, self.rounds = folder / "clock", 0
        self.clock.write_text("0")
        environment = os.environ | {
            "PYTHONPATH": f"{Path(__file__).parent / 'wrong_clock'}{os.pathsep}{ROOT}",
            "WRONG_CLOCK": str(self.clock),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": database_url(),
            "CELERY_BROKER_URL": "memory://",
            "SHARDWATCH_PAGERDUTY_URL": pager.url,
            "SHARDWATCH_ALLOWED_PRIVATE_HOSTS": "localhost",
        }
        command = [sys.executable, "-P", "-c", PROGRAM]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    def work(self, hours: int = 0) -> None:
        """Let it do a round with its clock so many hours ahead; each round is an interval after the one before."""
        assert self.process.stdin
        assert self.process.stdout
        self.rounds += 1
        self.clock.write_text(str(hours * HOUR + self.rounds * INTERVAL))
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert select.select([self.process.stdout], [], [], PATIENCE_SECONDS)[0], "no round within a minute"
        assert self.process.stdout.readline() == "done\n"

    def settle(self) -> None:
        """Let it find the nodes, and read them."""
        self.work()
        self.work()

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def worker(tmp_path: Path, pagerduty: Service) -> Iterator[Worker]:
    made = Worker(tmp_path, pagerduty)
    yield made
    made.stop()


@pytest.fixture
def server(valkey_server: ValkeyFactory) -> Valkey:
    """A server that is watched, with a rule that pages when it is gone."""
    made = valkey_server()
    Cache.objects.create(name="game", address=made.url, poll_interval_seconds=INTERVAL)
    rule("gone", metric="down", warning=None, critical=0)
    return made


@pytest.fixture
def root(server: Valkey) -> Route:
    """Everything goes to one channel: again after half an hour, and then to a second one as well."""
    made = Route.objects.create(name="root", repeat_seconds=HALF)
    made.channels.add(channel("first"))
    Step.objects.create(route=made, after_seconds=HALF).channels.add(channel("second"))
    return made


Acts = Callable[[], list[str]]


@pytest.fixture
def acts(pagerduty: Service) -> Acts:
    return lambda: [event.json["event_action"] for event in pagerduty.seen]


@pytest.mark.parametrize("hours", [(1, -1), (-1, 1)], ids=["forward then back", "back then forward"])
def test_what_fires_is_neither_told_again_nor_ended_by_a_wrong_clock(
    worker: Worker, root: Route, server: Valkey, acts: Acts, hours: tuple[int, int]
) -> None:
    worker.settle()
    server.kill()
    worker.work()
    assert acts() == ["trigger"]

    for wrong in hours:
        worker.work(wrong)
    server.start()
    for wrong in hours:
        worker.work(wrong)
    assert acts() == ["trigger"]
    assert Incident.objects.open().count() == 1

    worker.work()
    assert acts() == ["trigger", "resolve"]


def test_what_began_under_a_wrong_clock_is_told_once_when_it_is_right(
    worker: Worker, root: Route, server: Valkey, acts: Acts
) -> None:
    worker.settle()
    server.kill()
    for wrong in (1, -1):
        worker.work(wrong)
    assert acts() == []

    for _time in range(2):
        worker.work()

    assert acts() == ["trigger"]


def test_a_silence_lasts_until_its_end_by_the_right_clock(
    worker: Worker, root: Route, server: Valkey, acts: Acts
) -> None:
    now = timezone.now()
    Silence.objects.create(
        matchers=["cache=game"], author="ann", comment="known", starts_at=now, ends_at=now + timedelta(minutes=30)
    )
    worker.settle()
    server.kill()

    for hours in (0, 1, 0):
        worker.work(hours)

    assert acts() == []
    assert set(Decision.objects.values_list("what", flat=True)) == {"silenced"}


def test_a_node_that_fell_silent_under_a_clock_that_was_ahead_is_silent_since_now(
    worker: Worker, root: Route, server: Valkey
) -> None:
    worker.settle()
    server.kill()

    worker.work(1)
    worker.work()

    status = Node.objects.get().status
    assert status.failing_since
    assert status.attempted_at
    assert status.failing_since <= status.attempted_at <= timezone.now() + timedelta(minutes=10)


def test_the_clock_of_alerts_is_the_databases(db: None) -> None:
    assert abs(database_clock.now() - timezone.now()) < timedelta(minutes=1)
