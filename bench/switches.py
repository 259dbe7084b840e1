"""Switches: what a read costs beside a constant and a Django view, how soon changes are applied, heartbeats."""

import asyncio
import http.client
import json
import os
import re
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import psutil

from accounts import people
from accounts.models import Role, User
from bench import peers
from bench.application import START_SECONDS, Application, application
from bench.database import Database, own_database
from bench.processes import Meter
from bench.report import Report, Row, compared
from bench.switch_readers import Reader, run_all
from bench.timing import turns
from fleet.models import Cache
from launcher import children, processes, valkey
from launcher.checkout import PYTHON, ROOT
from launcher.waiting import until
from switches import changing, client_keys
from switches.changing import Why
from switches.models import Instance, Switch

KEY, SWITCHES = "bench-0", 20
CONSTANT_BAR, VIEW_BAR = 2.0, 0.2
PACE, P99_AIM_MS = 5_000, 10
PHP_BAR = 1.0
TTL_SECONDS, REQUEST_SECONDS = 5, 0.1
# docs/switches.md publishes it: the longest time between polls, a slow answer, one request.
APPLIED_BAR_SECONDS = TTL_SECONDS * 1.2 + 0.3 + REQUEST_SECONDS
PATIENCE_SECONDS = 120.0
WHY = Why("bench")
PATHS = {
    f"/api/v1/switches/{KEY}": "one switch",
    "/api/v1/switches": f"{SWITCHES} switches",
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    rounds: int
    requests: int
    view_requests: int
    paced_seconds: int
    changes: int
    readers: int
    pods: int
    pods_seconds: int


FULL = Scale(5, 10_000, 2_000, 10, 3, 200, 1_000, 20)
QUICK = Scale(2, 2_000, 500, 3, 1, 50, 100, 8)


@dataclass(frozen=True, slots=True)
class Server:
    """A web server with one of the applications."""

    port: int
    process: psutil.Process

    def microseconds(self, requests: int, path: str, *headers: str) -> float:
        """Return the CPU time of one request."""
        meter = Meter({"web": [self.process]})
        hey(["-n", str(requests), "-c", "8"], self.port, path, *headers)
        return meter.read()["web"] / requests * 1e6


def run(quick: bool) -> Report:
    if peers.program("hey") is None:
        raise RuntimeError("hey, the load generator, is not installed (on Debian and Ubuntu: apt install hey).")
    scale, report = QUICK if quick else FULL, Report("switches")
    with own_database() as database, application(database, {"SHARDWATCH_SWITCHES_COPY": ""}) as app:
        report.versions["postgres"] = database.version()
        user, token = seed()
        with served(app, "product", "config.wsgi:application") as product:
            read_costs(report, scale, app, product, token)
            paced(report, scale, product, token)
            applied(report, scale, product, token, user)
            heartbeats(report, scale, product, token, database)
    php_read(report)
    return report


def seed() -> tuple[User, str]:
    """Make switches and a client key; return who may change them, and the key's text."""
    user = people.add_person(None, "bench", Role.OPERATOR, None)
    cache = Cache.objects.create(name="bench", address="redis://10.0.0.5:6379")
    for number in range(SWITCHES):
        changing.create(user, f"bench-{number}", {"cache_now": cache, "ttl_seconds": TTL_SECONDS}, WHY)
    return user, client_keys.issue(user, "bench", [])[1]


@contextmanager
def served(app: Application, name: str, target: str, **env: str) -> Iterator[Server]:
    """Run an application under the web server as bin/up starts it."""
    port = valkey.free_port()
    command = processes.command("web", data=str(app.directory), host="127.0.0.1", port=port)
    command[0] = str(PYTHON.with_name(command[0]))
    log = os.open(app.directory / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    child = children.spawn([*command[:-1], target], log=log, env={**app.env, **env}, cwd=ROOT)
    os.close(log)
    try:
        # Every worker has to have answered once: the first request of each reads the switches.
        if not until(lambda: not valkey.is_free(port), START_SECONDS):
            raise RuntimeError(f"The server of {target} did not start within {START_SECONDS:g} s.")
        yield Server(port, psutil.Process(child.pid))
    finally:
        children.stop(child)


def hey(options: list[str], port: int, path: str, *headers: str) -> str:
    """Send requests with kept connections; return what hey says. Raise RuntimeError unless all are 200 or 304."""
    given = [part for header in headers for part in ("-H", header)]
    command = ["hey", *options, *given, f"http://127.0.0.1:{port}{path}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    statuses = set(re.findall(r"^\s+\[(\d+)\]\s+\d+ responses", said, re.MULTILINE))
    if not statuses <= {"200", "304"} or "Error distribution" in said:
        raise RuntimeError(f"{path} was answered {', '.join(sorted(statuses))}:\n{said[-500:]}")
    return said


def read_costs(report: Report, scale: Scale, app: Application, product: Server, token: str) -> None:
    """Add the CPU of reads beside a constant of the same size and beside a view that reads one row."""
    key = f"X-API-Key: {token}"
    sizes = {path: look(product, path, key) for path in PATHS}
    with (
        served(app, "constant", "bench.constant:application") as constant,
        served(app, "view", "config.wsgi:behind", DJANGO_SETTINGS_MODULE="bench.plain_settings") as view,
    ):
        hey(["-n", "200", "-c", "8"], view.port, f"/switches/{KEY}")
        many = scale.requests
        ways = {
            "view": partial(view.microseconds, scale.view_requests, f"/switches/{KEY}"),
            "constant 304": partial(constant.microseconds, many, "/?0"),
        }
        for path, (size, etag) in sizes.items():
            ways[f"{path} 200"] = partial(product.microseconds, many, path, key)
            ways[f"{path} 304"] = partial(product.microseconds, many, path, key, f"If-None-Match: {etag}")
            ways[f"{path} constant 200"] = partial(constant.microseconds, many, f"/?{size}")
        taken = turns(ways, scale.rounds)
    for path, name in PATHS.items():
        for status, peer in (("200", f"{path} constant 200"), ("304", "constant 304")):
            ours = taken[f"{path} {status}"]
            report.add(compared(f"{name}, {status}: CPU beside a constant", "us", ours, taken[peer], CONSTANT_BAR))
            report.add(compared(f"{name}, {status}: CPU beside a Django view", "us", ours, taken["view"], VIEW_BAR))


def look(server: Server, path: str, header: str) -> tuple[int, str]:
    """Return the size and the ETag of an answer, once every worker has made it."""
    hey(["-n", "200", "-c", "8"], server.port, path, header)
    name, _, value = header.partition(": ")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path, headers={name: value})
    reply = connection.getresponse()
    return len(reply.read()), str(reply.headers["ETag"])


def paced(report: Report, scale: Scale, product: Server, token: str) -> None:
    """Add how long answers take at a fixed rate, with all cores shared with the load generator."""
    links = 50
    options = ["-z", f"{scale.paced_seconds}s", "-c", str(links), "-q", str(PACE // links)]
    said = hey(options, product.port, f"/api/v1/switches/{KEY}", f"X-API-Key: {token}")
    # hey leaves out a line of its distribution where too few requests were that slow.
    found = dict(re.findall(r"(\d+)% in ([\d.]+) secs", said))
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    load = f"{float(rate[1]) if rate else 0:,.0f}/s reached, load average {os.getloadavg()[0]:.1f}"
    for share in ("50", "99"):
        milliseconds = float(found[share]) * 1000 if share in found else None
        aim = f"aim {P99_AIM_MS} ms; " if share == "99" else ""
        report.add(Row(f"p{share} at {PACE:,} requests a second", "ms", milliseconds, note=aim + load))


def applied(report: Report, scale: Scale, product: Server, token: str, user: User) -> None:
    """Add how long it takes from the commit until readers that poll have seen the change."""
    readers = [Reader(product.port, KEY, token, f"pod-{number}") for number in range(scale.readers)]
    delays: list[float] = []
    with running(readers) as everybody:
        for number in range(scale.changes):
            before = Switch.objects.get(key=KEY)
            act = changing.turn_off if before.can_use else changing.turn_on
            revision = act(before, user, WHY, before.revision).revision
            committed = time.time()
            if not everybody(partial(has_seen, revision)):
                raise RuntimeError(f"Change {number + 1} did not reach every reader.")
            delays += [reader.seen[revision] - committed for reader in readers]
    note = f"{scale.readers} readers, every {TTL_SECONDS} s +-20 %, {scale.changes} changes"
    report.add(Row("commit to applied, median", "s", statistics.median(delays), runs=len(delays), note=note))
    worst = Row("commit to applied, worst", "s", max(delays), runs=len(delays), bar=APPLIED_BAR_SECONDS, bar_on="ours")
    report.add(worst)


def has_seen(revision: int, reader: Reader) -> bool:
    return revision in reader.seen


def php_read(report: Report) -> None:
    """Add what the PHP client adds to one cache operation."""
    measure, php = "PHP: a look at the switch", peers.program("php")
    command = [php or "php", "-d", "apc.enable_cli=1", str(ROOT / "clients" / "php" / "bench" / "read.php")]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120) if php else None
    if said is None or said.returncode:
        report.add(Row(measure, "us", None, note="php with APCu is not installed"))
        return
    found = json.loads(said.stdout)
    note = "in steady state, APCu on" if found["apcu"] else "APCu is off"
    report.add(Row(measure, "us", found["read_microseconds"], runs=5, bar=PHP_BAR, bar_on="ours", note=note))


def heartbeats(report: Report, scale: Scale, product: Server, token: str, database: Database) -> None:
    """Add what a fleet of pods that poll and report costs, in cores."""
    readers = [Reader(product.port, KEY, token, f"pod-{number}", reports=True) for number in range(scale.pods)]
    with running(readers) as everybody:
        if not everybody(lambda reader: bool(reader.seen)):
            raise RuntimeError("Some pods were never answered.")
        meter, began = Meter({"web": [product.process], "postgres": [database.process]}), time.monotonic()
        time.sleep(scale.pods_seconds)
        spent, seconds = meter.read(), time.monotonic() - began
    rows = Instance.objects.count()
    for name, cpu in spent.items():
        note = f"{scale.pods:,} pods poll and report every {TTL_SECONDS} s; {rows:,} rows"
        report.add(Row(f"heartbeats: CPU of {name}", "ms/s", cpu / seconds * 1000, note=note))


@contextmanager
def running(readers: list[Reader]) -> Iterator[Callable[[Callable[[Reader], bool]], bool]]:
    """Let readers poll in a thread; yield what waits until all of them fit a claim."""
    ended, failures = threading.Event(), list[BaseException]()

    def poll() -> None:
        try:
            asyncio.run(run_all(readers, ended.is_set))
        except Exception as error:
            failures.append(error)

    def everybody(claim: Callable[[Reader], bool]) -> bool:
        return until(lambda: failures or all(map(claim, readers)), PATIENCE_SECONDS) and not failures

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        if not everybody(lambda reader: bool(reader.seen)):
            raise RuntimeError(f"The readers failed: {failures}")
        yield everybody
    finally:
        ended.set()
        thread.join(2 * TTL_SECONDS)
    if failures:
        raise failures[0]
