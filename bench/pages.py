"""Pages: what a request costs as a multiple of an empty signed-in page, its time, its queries and its bytes."""

import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from django.conf import settings
from django.db import connection

from accounts import people
from accounts.models import Role
from bench import peers
from bench.application import START_SECONDS, application
from bench.database import own_database
from bench.month import DAY
from bench.processes import Meter
from bench.report import Report, Row, quartile_spread
from bench.seeding import DAYS, Seeded, seed
from bench.timing import percentile
from bench.visitor import Person, Visitor, looks
from config.collecting import collect_static
from dashboard.charts import CHARTS
from launcher.waiting import until

EMPTY = "empty page"
FIRST_CHART_AIM, BLOCK_AIM, JSON_AIM = "1 s", "200 ms", "400,000 bytes"
METRICS_A_REQUEST = 20
REFRESH = {"HX-Request": "true"}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    caches: int
    minutes: int
    hours: int
    rounds: int
    requests: int
    charts: int


FULL = Scale(200, 60, 24, 5, 40, 7)
QUICK = Scale(20, 10, 6, 2, 10, 2)


@dataclass(slots=True)
class Measured:
    """One address asked again and again: CPU milliseconds a request in each round, seconds of each request."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    # An empty page is so cheap that the kernel's clock ticks of 10 ms need more of them.
    times: int = 1
    web: list[float] = field(default_factory=list)
    postgres: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    queries: int = 0
    bytes: int = 0

    @property
    def cpu(self) -> list[float]:
        return [web + postgres for web, postgres in zip(self.web, self.postgres, strict=True)]


def run(quick: bool) -> Report:
    scale = QUICK if quick else FULL
    report = Report("pages")
    with ExitStack() as stack:
        database = stack.enter_context(own_database(shared_preload_libraries="pg_stat_statements"))
        report.versions["postgres"] = database.version()
        fleet = seed(scale.caches, scale.minutes, scale.hours)
        person = Person()
        people.add_person(None, person.name, Role.ADMIN, person.password)
        app = stack.enter_context(application(database))
        settings.STATIC_ROOT = Path(app.env["SHARDWATCH_STATIC_ROOT"])
        collect_static()
        app.start("web")
        if not until(lambda: _is_up(app.port), START_SECONDS):
            raise RuntimeError(f"The web server did not start; {app.directory}/web.log says why.")
        visitor = Visitor(app.port)
        visitor.sign_in(person)
        meter = {"web": [app.process("web")], "postgres": [database.process]}
        pages = _pages(fleet)
        _measure(pages, visitor, fleet, lambda: Meter(meter), scale)
        _rows(report, pages)
        _chromium(report, app.port, visitor, scale, fleet.charted.get_absolute_url())
    return report


def _is_up(port: int) -> bool:
    try:
        return bool(Visitor(port).get("/healthz"))
    except (OSError, RuntimeError):
        return False


def _pages(fleet: Seeded) -> dict[str, Measured]:
    charted = fleet.charted.get_absolute_url()
    small = fleet.nodes[0].cache.get_absolute_url()
    series = f"/api/v1/caches/{fleet.charted.name}/series"
    return {
        EMPTY: Measured(f"{charted}delete/", times=6),
        "fleet page": Measured("/"),
        "fleet page, its living part": Measured("/", REFRESH),
        "page of a cache with 5 nodes": Measured(small, times=2),
        "page of a cache with 12 nodes": Measured(charted, times=2),
        "page of a cache, its living part": Measured(charted, REFRESH, times=2),
        **{
            f"series of {name}, {lines}": Measured(f"{series}?{_question(by, metrics, seconds)}")
            for name, seconds in (("24 h", DAY), ("90 d", DAYS * DAY))
            for lines, by, metrics in (("whole cache", "cache", _metrics()), ("12 nodes", "node", ["used_memory"]))
        },
    }


def _metrics() -> list[str]:
    """Return what the page of a cache asks for in one request."""
    return list(dict.fromkeys(line.metric for chart in CHARTS for line in chart.lines))[:METRICS_A_REQUEST]


def _question(by: str, metrics: list[str], seconds: int) -> str:
    now = int(time.time())
    return urlencode({"metric": ",".join(metrics), "from": now - seconds, "to": now, "by": by})


def _measure(
    pages: dict[str, Measured], visitor: Visitor, fleet: Seeded, meter: Callable[[], Meter], scale: Scale
) -> None:
    for page in pages.values():
        # Twice for each of the web server's workers, so that both have their templates and plans.
        for _ in range(8):
            page.bytes = len(visitor.get(page.path, page.headers).body)
        page.queries = _queries_of(visitor, page)
    for number in range(scale.rounds):
        order = list(pages.values())
        fleet.refresh()
        for page in order if number % 2 else reversed(order):
            count = scale.requests * page.times
            measured = meter()
            page.seconds += [visitor.get(page.path, page.headers).seconds for _ in range(count)]
            spent = measured.read()
            page.web.append(spent["web"] * 1000 / count)
            page.postgres.append(spent["postgres"] * 1000 / count)


def _queries_of(visitor: Visitor, page: Measured) -> int:
    """Return the statements that one request makes, as Postgres counts them."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        cursor.execute("SELECT pg_stat_statements_reset()")
        visitor.get(page.path, page.headers)
        cursor.execute(
            "SELECT sum(calls) FROM pg_stat_statements WHERE query NOT LIKE '%%pg_stat_statements%%'"
            " AND query NOT IN ('BEGIN', 'COMMIT')"
        )
        return int(cursor.fetchone()[0])


def _rows(report: Report, pages: dict[str, Measured]) -> None:
    empty = statistics.median(pages[EMPTY].cpu)
    for name, page in pages.items():
        milliseconds = [seconds * 1000 for seconds in page.seconds]
        cpu = statistics.median(page.cpu)
        runs = len(page.cpu)
        report.add(Row(f"{name}: CPU a request", "ms", cpu, runs=runs, spread=quartile_spread(page.cpu)))
        if name != EMPTY:
            report.add(Row(f"{name}: CPU, in empty pages", "x", cpu / empty, runs=runs))
        for share in (0.5, 0.95, 0.99):
            taken = percentile(milliseconds, share)
            report.add(Row(f"{name}: p{share * 100:.0f}", "ms", taken, runs=len(milliseconds)))
        report.add(Row(f"{name}: queries", "", page.queries))
        report.add(Row(f"{name}: sent", "bytes", page.bytes))
        report.notes.append(
            f"{name}: web {statistics.median(page.web):.2f} ms, Postgres {statistics.median(page.postgres):.2f} ms"
        )


def _chromium(report: Report, port: int, visitor: Visitor, scale: Scale, path: str) -> None:
    program = peers.program("chromium", "chromium-browser", "google-chrome")
    if program is None:
        report.add(Row("first chart painted in Chromium", "s", None, note="Chromium not installed"))
        return
    seen = looks(program, port, visitor.cookies, f"{path}?span={DAY}", scale.charts)
    runs = len(seen)
    for name, unit, taken, aim in (
        ("first chart painted in Chromium", "s", [look.first_chart_seconds for look in seen], FIRST_CHART_AIM),
        ("all panels of 24 h, longest block of the main thread", "ms", [look.longest_ms for look in seen], BLOCK_AIM),
        ("all panels of 24 h, JSON sent", "bytes", [look.json_bytes for look in seen], JSON_AIM),
    ):
        median, spread = statistics.median(taken), quartile_spread(taken)
        report.add(Row(name, unit, median, runs=runs, spread=spread, note=f"aim {aim}"))
