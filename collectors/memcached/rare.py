"""What is asked of a Memcached every few minutes only: its settings, and its connections where it tells them."""

from collections.abc import Sequence

from django.conf import settings

from collectors.memcached.conns import CONNS, SINCE_LAST, clients_in
from collectors.memcached.lines import AFTER, BEFORE
from collectors.memcached.stats import numbers_by_name
from collectors.metrics.catalogue import Column
from collectors.metrics.hot import HOT_INDEX
from collectors.metrics.memcached import MEMCACHED_DETAIL
from collectors.protocol import lines_of
from collectors.source import Command, Readings, Reply, Source, empty_row
from collectors.sources.fields import TOPS
from fleet.engines import Engine

SETTINGS: Command = ("stats", "settings")
DETAIL_FIELDS = {metric.name.encode(): metric.name for metric in MEMCACHED_DETAIL if metric.section == "settings"}
# Redis' words for what a full server does: -M makes a Memcached refuse instead of evicting.
POLICIES = {b"on": "allkeys-lru", b"off": "noeviction"}
IDLE_SECONDS = 300


class MemcachedSettings(Source):
    """`stats settings`: limits, and what a full server does. Some 2 kB."""

    name = "memcached_settings"
    engines = (Engine.MEMCACHED,)

    def __init__(self) -> None:
        self._policy = ""

    def every(self) -> int:
        return int(settings.DETAIL_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return (SETTINGS,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        lines = lines_of(replies[0])
        values = dict(line.removeprefix(BEFORE).partition(AFTER)[::2] for line in reversed(lines))
        row, limit = empty_row(), values.get(b"maxconns", b"")
        if limit.isdigit() and len(limit) < 11 and int(limit) <= TOPS[Column.INT4]:
            row[HOT_INDEX["maxclients"]] = int(limit)
        policy, before = POLICIES.get(values.get(b"evictions", b""), ""), self._policy
        self._policy = policy or before
        facts = {"maxmemory_policy": policy} if policy and policy != before else {}
        return Readings(row, numbers_by_name(lines, DETAIL_FIELDS), facts)


class MemcachedConns(Source):
    """`stats conns`: how many connections do nothing. About 200 bytes a connection; some services refuse it."""

    name = "memcached_conns"
    engines = (Engine.MEMCACHED,)

    def every(self) -> int:
        return int(settings.DETAIL_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return (CONNS,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        idle = idle_seconds(lines_of(replies[0]))
        if not idle:
            return Readings()
        waiting = sum(seconds >= IDLE_SECONDS for seconds in idle)
        return Readings(detail={"conns_idle": float(waiting), "conns_longest_idle": float(max(idle))})


def idle_seconds(lines: Sequence[bytes]) -> list[int]:
    """Return the seconds since each client's last command."""
    told = (client.get(SINCE_LAST, b"") for client in clients_in(lines))
    return [int(text) for text in told if text.isdigit() and len(text) < 11]
