"""The command that bin/up supervises, beside the running fleet."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from google.api_core import exceptions
from pytest_django.fixtures import Settings

from alerts import evaluate, pack
from alerts.alert import Alert
from alerts.models import Incident
from collectors.cloud import collecting, discovery
from collectors.cloud.feed import CloudFeed
from collectors.cloud.known import services
from collectors.cloud.latest import latest_of, standings
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.products import Product
from conftest import needed_program
from dashboard.findings.projects import of_projects
from demo.cloud import project, running
from demo.layout import DemoError, Home, read_json
from demo.tests.cloud import CONNECTED, SECONDS, BareClients, aggregation, asking
from demo.tests.conftest import Demo
from fleet.models import Cache
from launcher.valkey import HOST, free_port
from launcher.waiting import until

# The command writes to the tests' database, which only this mark brings about.
pytestmark = pytest.mark.django_db
READY_SECONDS = 60.0


def port_of(demo: Demo) -> int:
    return int(read_json(demo.home.path / "cloud.json").get("port", 0))


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


@pytest.fixture
def cloud(demo: Demo) -> Iterator[BareClients]:
    """Clients of the demo's own Google Cloud, which all tests here share."""
    if not demo.home.is_running("cloud"):
        demo.start("cloud_emulator", "--register", "--delay", "0")
    assert until(lambda: listens(port_of(demo)), READY_SECONDS), demo.said("cloud_emulator")
    clients = BareClients(f"{HOST}:{port_of(demo)}")
    yield clients
    clients.close()


def listed(cloud: BareClients, product: Product) -> list[Any]:
    return list(cloud.list(product)(parent=f"projects/{project.PROJECT}/locations/-", timeout=SECONDS))


def test_it_has_one_instance_of_each_product(cloud: BareClients) -> None:
    needed_program("memcached")

    found = {product: [one.name.rsplit("/", 1)[-1] for one in listed(cloud, product)] for product in Product}

    assert found == {
        Product.REDIS: ["sessions"],
        Product.REDIS_CLUSTER: ["game"],
        Product.VALKEY: ["far-away"],
        Product.MEMCACHED: ["pages"],
    }


def test_its_endpoints_are_those_of_the_fleet(demo: Demo, cloud: BareClients) -> None:
    (sessions,) = listed(cloud, Product.REDIS)
    (game,) = listed(cloud, Product.REDIS_CLUSTER)

    assert (sessions.host, sessions.port) == (HOST, demo.member("session-1").port)
    assert [end.port for end in game.discovery_endpoints] == [demo.member("game-1").port]
    assert (game.shard_count, game.replica_count) == (3, 1)


def test_its_memcached_tells_the_version_that_runs(cloud: BareClients) -> None:
    needed_program("memcached")

    (pages,) = listed(cloud, Product.MEMCACHED)

    assert re.fullmatch(r"memcached-1\.\d+\.\d+", pages.memcache_full_version)


def test_it_plans_maintenance_for_a_day_to_come(cloud: BareClients) -> None:
    (sessions,) = listed(cloud, Product.REDIS)

    schedule = sessions.maintenance_schedule
    assert schedule.start_time.weekday() == project.WINDOW_DAY
    assert schedule.start_time < schedule.end_time < schedule.schedule_deadline_time


def test_it_serves_what_the_fleet_says(demo: Demo, cloud: BareClients) -> None:
    def told() -> float:
        wish = aggregation("ALIGN_MAX", "REDUCE_MAX", ("resource.labels.node_id",))
        request = asking(CONNECTED, end=time.time(), name=f"projects/{project.PROJECT}", aggregation=wish)
        found = [series.points[0].value.int64_value for series in cloud.metrics.list_time_series(request=request)]
        return max(found, default=0)

    assert until(lambda: told() > 0, READY_SECONDS)
    assert 0 < told() <= demo.info("session-1")["maxclients"]


def test_it_registers_its_project(demo: Demo, cloud: BareClients) -> None:
    assert until(lambda: CloudProject.objects.filter(is_demo=True).exists(), 10)

    registered = CloudProject.objects.get(is_demo=True)
    assert (registered.project_id, registered.endpoint) == (project.PROJECT, f"{HOST}:{port_of(demo)}")


def test_it_is_unplugged_by_a_trouble_until_stop(demo: Demo, cloud: BareClients) -> None:
    status, said = demo.ran("demo_trouble", "unplug")

    assert (status, "answers nobody any more" in said) == (0, True)
    assert not listens(port_of(demo))
    with pytest.raises(exceptions.ServiceUnavailable):
        cloud.redis.get_instance(name=project.name_of("instances", "sessions"), timeout=1)
    assert demo.ran("demo_trouble", "stop")[0] == 0
    assert until(lambda: listens(port_of(demo)), 10)


MINUTE = timedelta(minutes=1)


class Watch:
    """The demo's project as workers keep it: listed, read and judged, at minutes that a test makes pass."""

    def __init__(self) -> None:
        self.project = CloudProject.objects.get(is_demo=True)
        # Aligned figures end with a whole minute, and the first ones may be younger than the last of those.
        self.at = timezone.now().replace(second=0, microsecond=0) + MINUTE

    def listed(self) -> bool:
        assert discovery.discover(self.project.pk, is_asked=True)
        self.project.refresh_from_db()
        return all(state["ok"] for state in self.project.state.values())

    def read(self) -> CloudFeed:
        for feed_id in collecting.due(self.at):
            collecting.read(feed_id, self.at)
        # As each commit does; a test is one transaction.
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS cloud_landing")
        return CloudFeed.objects.get(project_id=project.PROJECT)

    def judged(self) -> set[str]:
        """Return which rules have an alert that is not over."""
        ids = list(Cache.objects.filter(cloud__project=self.project).values_list("pk", flat=True))
        evaluate.evaluate(ids, int(self.at.timestamp()))
        return set(Alert.objects.exclude(state="resolved").values_list("rule_key", flat=True))

    def pass_minutes(self, *steps: int) -> set[str]:
        """Read and judge after each of so many minutes; return the rules that had an alert meanwhile."""
        alerted = set[str]()
        for minutes in steps:
            self.at += minutes * MINUTE
            self.read()
            alerted |= self.judged()
        return alerted


@pytest.fixture
def watch(demo: Demo, cloud: BareClients, settings: Settings) -> Watch:
    """The demo's project once figures of all its products are in, judged by the default rules."""
    settings.CLOUD_RETRY_SECONDS, settings.ALERT_SKEW_SECONDS = 0.05, 86_400
    pack.install()
    assert until(lambda: CloudProject.objects.filter(is_demo=True).exists(), 10)
    made = Watch()
    assert made.listed()
    fed = CloudInstance.objects.present().filter(cache__isnull=False)

    def all_told() -> bool:
        CloudFeed.objects.update(due_at=made.at)
        return bool(made.read().newest_at) and set(latest_of([one.cache_id or 0 for one in fed], made.at)) == {
            one.cache_id for one in fed
        }

    assert until(all_told, READY_SECONDS)
    return made


def test_unplugged_it_leaves_findings_and_no_alert_and_plugged_in_neither(demo: Demo, watch: Watch) -> None:
    before, incidents = watch.judged(), Incident.objects.count()
    assert of_projects(timezone.now()) == []

    assert demo.ran("demo_trouble", "unplug")[0] == 0
    listed, alerted = watch.listed(), watch.pass_minutes(1, 2, 4, 6, 8, 10)
    (told,) = of_projects(timezone.now() + 3 * MINUTE)
    far = Cache.objects.get(cloud__short_id="far-away")
    standing = standings(services([far.pk]))[far.pk]
    assert demo.ran("demo_trouble", "stop")[0] == 0
    assert until(watch.listed, 20)

    assert (listed, alerted - before, Incident.objects.count()) == (False, set(), incidents)
    assert "not listed since" in told.sentence
    assert "Google cannot be reached from here" in told.sentence
    assert standing.is_away(watch.at)
    assert of_projects(timezone.now() + 3 * MINUTE) == []
    # The listing that succeeded has the figures read before their pause is over.
    assert (watch.read().cause, standings(services([far.pk]))[far.pk].failing_since) == ("", None)


def test_it_cannot_be_unplugged_where_it_does_not_run(own_demo: Demo) -> None:
    with own_demo.home.claim("fleet"):
        status, said = own_demo.ran("demo_trouble", "unplug")

    assert (status, "does not run" in said) == (1, True)


def test_it_refuses_a_second_one_for_the_same_fleet(demo: Demo, cloud: BareClients) -> None:
    over = threading.Event()
    over.set()

    with pytest.raises(DemoError, match="runs already"):
        running.run(demo.home, 0, over, print)


def test_another_one_serves_the_same_fleet_on_a_port_of_ones_own(demo: Demo) -> None:
    port, over, said = free_port(), threading.Event(), list[str]()
    serving = threading.Thread(target=running.serve, args=(demo.home, port, 300.0, over, said.append))
    serving.start()

    assert until(lambda: listens(port), 10)
    clients = BareClients(f"{HOST}:{port}")
    names = [listed(clients, product) != [] for product in Product]
    clients.close()
    over.set()
    serving.join(10)
    assert names == [True, True, True, False]
    assert said == [f"demo-project is served on {HOST}:{port}, points are hidden for 300 s"]


def test_it_names_the_port_that_another_program_took(demo: Demo) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(DemoError, match=f"Port {port} is taken"):
            running.serve(demo.home, port, 0, threading.Event(), print)


def test_it_keeps_its_ports_and_the_birth_of_its_instances(own_demo: Demo) -> None:
    own_demo.home.path.mkdir(exist_ok=True)

    first, again = running.Settled.of(own_demo.home), running.Settled.of(own_demo.home)

    assert (first.is_first, again.is_first) == (True, False)
    assert (again.port, again.page_cache, again.born) == (first.port, first.page_cache, first.born)


def test_it_takes_another_port_where_its_own_was_taken(own_demo: Demo) -> None:
    home: Home = own_demo.home
    first = running.Settled.of(home)

    with socket.create_server((HOST, first.port)):
        moved = running.Settled.of(home)

    assert moved.port != first.port
    assert running.Settled.of(home).port == moved.port
