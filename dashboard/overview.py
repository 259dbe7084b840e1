"""The fleet as rows: one cache each, with its health, filtered and sorted as the URL says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from collectors import latest
from collectors.cloud.known import Service, services
from collectors.cloud.latest import standings
from collectors.cloud.service_facts import ServiceFacts
from collectors.latest import CacheLatest
from dashboard import alarms, findings
from dashboard.findings import Finding, State
from dashboard.service_row import kind_of, replicas_of
from dashboard.watched import Watched, nodes_of, recent_events
from fleet.engines import Engine
from fleet.models import Cache, Reach, Topology

HEALTH_WORDS = {
    "unreachable": gettext_lazy("unreachable"),
    "critical": gettext_lazy("critical"),
    "warning": gettext_lazy("warning"),
    "waiting": gettext_lazy("waiting"),
    "ok": pgettext_lazy("health", "ok"),
    "paused": gettext_lazy("paused"),
}
HEALTH_ORDER = {word: place for place, word in enumerate(HEALTH_WORDS)}


@dataclass(frozen=True)
class Row:
    """One cache on the fleet page."""

    cache: Cache
    latest: CacheLatest | None
    findings: Sequence[Finding]
    # Counted where the nodes were read; else a shard has one primary.
    known_shards: int | None = None
    # The instance in Google Cloud that the cache stands for.
    service: Service | None = None

    @property
    def told(self) -> ServiceFacts | None:
        """What the service tells of a cache whose nodes nobody here reaches."""
        return self.service.facts if self.service and self.cache.reach == Reach.SERVICE else None

    @cached_property
    def trouble(self) -> Finding | None:
        """The worst finding that makes the cache less than ok."""
        return next((found for found in self.findings if found.state != State.NOTICE), None)

    @cached_property
    def health(self) -> str:
        if self.cache.is_paused:
            return "paused"
        if self.trouble:
            return str(self.trouble.state)
        return "ok" if self.latest and self.latest.at else "waiting"

    def alarms_about(self, chart: str) -> bool:
        """Whether a serious finding points to this chart."""
        return any(found.chart == chart and found.state != State.NOTICE for found in self.findings)

    @property
    def alarms_about_memory(self) -> bool:
        return self.alarms_about("memory")

    @property
    def alarms_about_connections(self) -> bool:
        return self.alarms_about("connections")

    @property
    def shards(self) -> int:
        if self.told:
            return self.told.shards or 0
        return self.known_shards or (self.latest.primaries if self.latest else 0)

    @property
    def shape(self) -> str:
        """Return engine, topology and size in words, and who tells them where that is the service alone."""
        if self.told:
            size = self._size(self.told.node_count or 0)
            return " · ".join(filter(None, (kind_of(self.told), size, _("as Google tells"))))
        if self.cache.reach == Reach.SERVICE and not self.cache.engine:
            return _("not reported")
        # Django's own get_…_display builds its table anew each time, which shows with hundreds of rows.
        kind = f"{Engine(self.cache.engine).label} {Topology(self.cache.topology).label if self.cache.topology else ''}"
        return " · ".join(filter(None, (kind.strip(), self._size(self.latest.nodes if self.latest else 0))))

    def _size(self, nodes: int) -> str:
        if self.shards > 1 and self.cache.abilities.replication and nodes:
            return _("%(shards)s shards, %(nodes)s nodes") % {"shards": self.shards, "nodes": nodes}
        return ngettext("%(counter)s node", "%(counter)s nodes", nodes) % {"counter": nodes} if nodes else ""

    @property
    def no_figures(self) -> str:
        """Return why the cache has no figures at all."""
        if self.cache.is_paused:
            return _("Polling is paused.")
        if self.trouble:
            return self.trouble.sentence
        if self.cache.reach == Reach.SERVICE:
            return _("The first figures appear within seven minutes: Cloud Monitoring shows its points late.")
        return _("The first figures appear within 15 seconds of adding it.")

    @property
    def health_word(self) -> str:
        return str(HEALTH_WORDS[self.health])

    @property
    def reason(self) -> str:
        if self.health == "waiting":
            return _("no sample yet")
        return self.trouble.reason if self.trouble and not self.cache.is_paused else ""

    @property
    def replication(self) -> tuple[str, str]:
        """Return the state of replication in words, and whether it is a trouble."""
        seen = self.latest
        if seen is None or seen.at is None or not self.cache.abilities.replication:
            return "", ""
        if seen.links_down:
            return _("%s down") % seen.links_down, "critical"
        replicas = self.replicas
        if replicas == 0:
            return _("no replicas"), "none"
        if seen.replication_lag_bytes is not None:
            return _("in sync"), "ok"
        if replicas is None:
            return _("not reported"), "none"
        return ngettext("%s replica", "%s replicas", replicas) % replicas, "ok"

    @property
    def replicas(self) -> int | None:
        """Return how many there are, None where only the service could tell and does not."""
        if self.cache.reach == Reach.SERVICE:
            return replicas_of(self.told) if self.told else None
        return self.latest.replicas if self.latest else None

    @property
    def no_rate(self) -> str:
        """Return why there are no rates, "" where that is not known."""
        return _("waiting for the second sample") if self.waits_for_rates else ""

    @property
    def waits_for_rates(self) -> bool:
        """Whether the newest sample has none before it to compare with: the cache is new, or there was a gap."""
        seen = self.latest
        if seen is None or seen.at is None or seen.commands_per_second is not None:
            return False
        levels, known = seen.spark_used_memory or [], seen.spark_commands_per_second or []
        return len(levels) < 2 or levels[-2] is None or any(value is not None for value in known)

    @property
    def no_limit(self) -> str:
        """Return what it means that no limit of memory is told: of the service, which is not nodes, nothing."""
        return "" if self.cache.reach == Reach.SERVICE else _("no limit")

    @property
    def no_hits(self) -> str:
        """Return why there is no hit ratio."""
        has_rates = self.latest is not None and self.latest.commands_per_second is not None
        return _("no lookups") if has_rates else self.no_rate

    @property
    def labels(self) -> list[str]:
        return [f"{key}={value}" for key, value in sorted(self.cache.labels.items())]

    @property
    def version(self) -> str:
        """Return a text that changes with anything that the row shows."""
        seen = self.latest
        alarms = (self.alarms_about_memory, self.alarms_about_connections, self.shards)
        drawn = (seen.at, seen.answering, seen.nodes, seen.links_down, seen.spark_minute) if seen else ()
        return repr(
            (
                self.cache.pk,
                self.cache.revision,
                self.cache.engine,
                self.cache.topology,
                drawn,
                alarms,
                self.told and self.shape,
                self.replicas,
                self.health,
                self.reason,
            )
        )

    @cached_property
    def searched(self) -> str:
        return " ".join((self.cache.name, self.cache.address, self.cache.engine, *self.labels)).lower()


def read(now: datetime) -> list[Row]:
    """Return all caches. The number of queries does not depend on theirs, nor on their nodes'."""
    caches, summaries = list(Cache.objects.all()), latest.caches()
    uneasy = findings.caches_with_uneasy_nodes()
    nodes = nodes_of([cache.pk for cache in caches if must_look(cache, summaries.get(cache.pk), uneasy)])
    ids = [cache.pk for cache in caches]
    recent, found = recent_events(ids, now), services(ids)
    feeds, fires = standings(found), alarms.of_caches(ids)
    rows = []
    for cache in caches:
        pk = cache.pk
        members, events = nodes.get(pk, ()), recent.get(pk, ())
        watched = Watched(
            cache, now, summaries.get(pk), members, events, found.get(pk), feeds.get(pk), fires.get(pk, ())
        )
        rows.append(Row(cache, watched.latest, findings.of(watched), watched.shards, watched.service))
    return rows


def must_look(cache: Cache, summary: CacheLatest | None, uneasy: set[int]) -> bool:
    if cache.is_paused:
        return False
    return summary is None or cache.pk in uneasy or findings.deserves_a_look(summary)


def figure(name: str) -> Callable[[Row], Any]:
    return lambda row: getattr(row.latest, name, None)


SORTS: dict[str, Callable[[Row], Any]] = {
    "health": lambda row: -HEALTH_ORDER[row.health],
    "name": lambda row: row.cache.name,
    "memory": figure("memory_used_ratio"),
    "cpu": figure("cpu_ratio"),
    "connections": figure("connections_used_ratio"),
    "commands": figure("commands_per_second"),
    "hits": figure("hit_ratio"),
    "evictions": figure("evicted_keys_per_second"),
    "replication": figure("replication_lag_bytes"),
    "age": figure("at"),
}
# What one click on a heading should show first: the highest figure, but the first name.
DESCENDING_FIRST = frozenset(SORTS) - {"name", "hits", "age"}
DEFAULT_SORT = "-health"
FINDINGS_SHOWN = 6


@dataclass(frozen=True)
class Query:
    """What the URL asks of the fleet page. Unknown values fall back to the defaults."""

    text: str = ""
    label: str = ""
    state: str = ""
    sort: str = DEFAULT_SORT
    view: str = "table"
    all_findings: bool = False

    @classmethod
    def of(cls, given: QueryDict) -> Query:
        sort = given.get("sort", DEFAULT_SORT)
        return cls(
            text=given.get("q", "").strip()[:100],
            label=given.get("label", "")[:200],
            state=given.get("state", "") if given.get("state", "") in {*HEALTH_WORDS, "attention"} else "",
            sort=sort if sort.removeprefix("-") in SORTS else DEFAULT_SORT,
            view="tiles" if given.get("view") == "tiles" else "table",
            all_findings=given.get("findings") == "all",
        )

    @property
    def kept(self) -> list[tuple[str, str]]:
        """Return the parts beside text and label that differ from their defaults."""
        parts = [
            ("state", self.state),
            ("sort", "" if self.sort == DEFAULT_SORT else self.sort),
            ("view", "" if self.view == "table" else self.view),
            ("findings", "all" if self.all_findings else ""),
        ]
        return [(name, value) for name, value in parts if value]

    def url(self, **changes: object) -> str:
        """Return the query string of this query with some parts changed; defaults are left out."""
        merged = {"q": self.text, "label": self.label, **dict(self.kept), **changes}
        return "?" + urlencode({name: value for name, value in merged.items() if value})

    @property
    def table_url(self) -> str:
        return self.url(view="")

    @property
    def tiles_url(self) -> str:
        return self.url(view="tiles")

    def sort_url(self, name: str) -> str:
        first, other = (f"-{name}", name) if name in DESCENDING_FIRST else (name, f"-{name}")
        return self.url(sort=other if self.sort == first else first)

    @property
    def is_filtered(self) -> bool:
        return bool(self.text or self.label or self.state)

    def matches(self, row: Row) -> bool:
        """Whether the row fits the text and the label; the state is counted over those that do."""
        words = self.text.lower().split()
        return all(word in row.searched for word in words) and (not self.label or self.label in row.labels)

    def fits_state(self, row: Row) -> bool:
        if self.state == "attention":
            return row.trouble is not None and row.health != "paused"
        return not self.state or row.health == self.state

    def sorted(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows in order; those without a figure come last, equal ones by name."""
        measure, backwards = SORTS[self.sort.removeprefix("-")], self.sort.startswith("-")
        by_name = sorted(rows, key=lambda row: row.cache.name)
        known = [row for row in by_name if measure(row) is not None]
        unknown = [row for row in by_name if measure(row) is None]
        return sorted(known, key=measure, reverse=backwards) + unknown
