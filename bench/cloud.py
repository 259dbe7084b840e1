"""Cloud Monitoring: what reading many projects each minute costs, application and Postgres; the service apart."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psutil
from django.conf import settings
from django.db import connection

from bench.cloud_server import cache_id, project_id
from bench.database import own_database
from bench.processes import cpu_seconds
from bench.report import Report, Row
from collectors.cloud import collecting, rollups
from collectors.cloud.catalogue import CloudMetric
from collectors.cloud.feed import CloudFeed
from collectors.cloud.models import CloudInstance, CloudProject, Decision
from collectors.cloud.products import Product
from fleet.models import Cache, Reach
from launcher.checkout import ROOT

BAR, GROWTH_BAR_MIB = 0.25, 16.0
# Until the first answers fill every window, and the allocator has what it needs.
WARM_MINUTES = 12
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is read, and for how many minutes."""

    projects: int
    types: int
    caches: int
    minutes: int

    def __str__(self) -> str:
        return f"{self.projects} projects x {self.types} types x {self.caches} caches"


@dataclass(frozen=True, slots=True)
class Spent:
    """What the measured minutes cost."""

    app_seconds: float
    database_seconds: float
    began_bytes: int
    ended_bytes: int


def run(quick: bool) -> Report:
    scale = Scale(5, 10, 20, 5) if quick else Scale(50, 40, 100, 60)
    report = Report("cloud")
    collecting.COLLECTED, all_types = tuple(_types(scale.types)), collecting.COLLECTED
    try:
        with own_database() as database, _server(scale) as address:
            report.versions["postgres"] = database.version()
            _fill(scale, address)
            spent = _measured(scale, database.process)
            _describe(report, scale, spent)
    finally:
        collecting.COLLECTED = all_types
    return report


def _types(count: int) -> list[CloudMetric]:
    return [metric for metric in collecting.COLLECTED if metric.product == Product.REDIS_CLUSTER][:count]


@contextmanager
def _server(scale: Scale) -> Iterator[str]:
    command = [sys.executable, "-m", "bench.cloud_server", str(scale.types), str(scale.caches)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin
        assert child.stdout
        try:
            yield child.stdout.readline().strip()
        finally:
            child.stdin.close()


def _fill(scale: Scale, address: str) -> None:
    """Make projects and caches that nobody reaches, so that their summaries are made of the service's figures, too."""
    for number in range(scale.projects):
        project = CloudProject.objects.create(project_id=project_id(number), endpoint=address)
        names = [f"p{number}-{cache_id(cache)}" for cache in range(scale.caches)]
        caches = Cache.objects.bulk_create(
            Cache(name=name, address="redis://127.0.0.1:1", reach=Reach.SERVICE) for name in names
        )
        CloudInstance.objects.bulk_create(
            CloudInstance(
                project=project,
                product=Product.REDIS_CLUSTER,
                name=cache.name,
                uid=cache.name,
                region="us-central1",
                short_id=cache_id(place),
                cache=cache,
                decision=Decision.APPROVED,
            )
            for place, cache in enumerate(caches)
        )


def _measured(scale: Scale, database: psutil.Process) -> Spent:
    """Read minute after minute, without waiting for them: the time is given to all that asks for it."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    # What follows a round (judging rules) is measured elsewhere.
    landed, settings.LANDED_TASK = settings.LANDED_TASK, ""
    try:
        collecting.due(now)
        CloudFeed.objects.update(asked_until=now, compared_at=now + timedelta(days=1))
        for _minute in range(WARM_MINUTES):
            now = _minute_of(now)
        me = psutil.Process()
        begun = (time.process_time(), cpu_seconds(database), me.memory_info().rss)
        for _minute in range(scale.minutes):
            now = _minute_of(now)
        ended = (time.process_time(), cpu_seconds(database), me.memory_info().rss)
    finally:
        settings.LANDED_TASK = landed
    return Spent(ended[0] - begun[0], ended[1] - begun[1], begun[2], ended[2])


def _minute_of(now: datetime) -> datetime:
    """Do what one minute brings: a round of every project, and the rollups each five minutes."""
    for feed_id in collecting.due(now):
        collecting.read(feed_id, now)
    if now.minute % 5 == 0:
        rollups.roll_up(now)
    return now + timedelta(minutes=1)


def _describe(report: Report, scale: Scale, spent: Spent) -> None:
    seconds = scale.minutes * 60
    whole = (spent.app_seconds + spent.database_seconds) / seconds
    report.add(Row(f"{scale}, each minute", "cores", whole, bar=BAR, bar_on="ours"))
    report.add(Row("of it the application", "cores", spent.app_seconds / seconds))
    report.add(Row("of it Postgres", "cores", spent.database_seconds / seconds))
    grown = (spent.ended_bytes - spent.began_bytes) / MIB
    title = f"growth of the worker in {scale.minutes} minutes"
    report.add(Row(title, "MiB", grown, bar=GROWTH_BAR_MIB, bar_on="ours"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM cloud_sample")
        rows = int(cursor.fetchone()[0])
        cursor.execute(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'cloud_sample'::regclass"
        )
        size = float(cursor.fetchone()[0] or 0)
        report.add(Row("a row of cloud_sample with its index", "bytes", size / max(rows, 1)))
    _check(scale, rows)
    report.notes.append(
        f"{rows:,} rows, {spent.ended_bytes / MIB:.0f} MiB resident. Minutes follow each other without a wait; the"
        " service is a process of its own that answers from prepared bytes, with the last 300 s hidden."
    )


def _check(scale: Scale, rows: int) -> None:
    """Raise RuntimeError where less was stored than the service told: a cheap round would be an empty one."""
    least = scale.projects * scale.caches * (scale.minutes + WARM_MINUTES)
    if rows < least or CloudFeed.objects.exclude(cause="").exists():
        raise RuntimeError(f"{rows} rows were stored, at least {least} were told")
