"""A look at the cache that a switch shall point at, before the one of now is left."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from collectors import latest, probe
from collectors.latest import CacheLatest
from collectors.models import NodeFact
from fleet.models import Cache, Node
from switches.models import Switch

# Of the connections that the target takes: beyond it, a restart of the applications would be refused.
CONNECTIONS_FIT = 0.8
# Slower by this factor and this much is worth a word.
SLOWER, SLOWER_SECONDS = 2.0, 0.001
STALE_POLLS = 3


class Check(models.TextChoices):
    REACH = "reach", _("reachable from here, with TLS and credentials")
    POLLED = "polled", _("known by its samples")
    ROLE = "role", _("primaries")
    VERSION = "version", _("version")
    MEMORY = "memory", _("maxmemory")
    POLICY = "policy", _("what it does when it is full")
    CONNECTIONS = "connections", _("connections that it takes")
    LATENCY = "latency", _("time to answer")
    WARMTH = "warmth", _("empty or warm")


OK, WARNING, FAILED, UNKNOWN = "ok", "warning", "failed", "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `data` are the figures of the sentence, which is made when it is read."""

    check: str
    verdict: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"check": str(self.check), "data": dict(self.data)}


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a cache without asking it: its newest summary, and the facts of its primaries."""

    latest: CacheLatest | None = None
    facts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # The longest round trip of its nodes at the newest poll, in seconds.
    slowest: float | None = None

    def fact(self, *names: str) -> str:
        """Return the first of these facts that any primary told, all its values with commas between them."""
        return next((", ".join(sorted(self.facts[name])) for name in names if self.facts.get(name)), "")


def known(cache: Cache) -> Known:
    facts: dict[str, set[str]] = {}
    names = ("valkey_version", "redis_version", "maxmemory_policy")
    rows = NodeFact.objects.filter(node__cache=cache, node__left_at=None, until=None, name__in=names)
    for name, value in rows.filter(node__role=Node.Role.PRIMARY).values_list("name", "value"):
        facts.setdefault(name, set()).add(value)
    kept = {name: frozenset(values) for name, values in facts.items()}
    trips = [node.round_trip_seconds for node in latest.nodes([cache.pk]).values()]
    slowest = max((seconds for seconds in trips if seconds is not None), default=None)
    return Known(latest.caches([cache.pk]).get(cache.pk), kept, slowest)


def look(switch: Switch, target: Cache) -> list[Finding]:
    """Return what is found at a target: first by asking it, which takes up to ten seconds, then from its samples."""
    reach = _reach(target)
    now = known(switch.cache_now) if switch.cache_now else Known()
    return [reach, *of_samples(target, known(target), now)]


def _reach(target: Cache) -> Finding:
    steps = probe.test_connection(target)
    last = steps[-1]
    data = {"sentence": last.sentence, "step": str(last.step), "seconds": round(sum(s.seconds for s in steps), 4)}
    return Finding(Check.REACH, OK if last.ok else FAILED, data)


def of_samples(target: Cache, seen: Known, now: Known) -> Iterator[Finding]:
    """Yield what the samples of the target say, held against the cache of now."""
    newest = seen.latest
    patience = timedelta(seconds=STALE_POLLS * target.poll_interval_seconds)
    if newest is None or newest.at is None or timezone.now() - newest.at > patience:
        yield Finding(Check.POLLED, FAILED)
        return
    yield Finding(Check.POLLED, OK if newest.answering == newest.nodes else WARNING, _counts(newest))
    yield Finding(Check.ROLE, OK if newest.primaries else FAILED, _counts(newest))
    yield _version(seen, now)
    yield _memory(newest, now.latest)
    yield _policy(seen, now)
    yield _connections(newest, now.latest)
    yield _latency(seen, now)
    yield Finding(Check.WARMTH, UNKNOWN if newest.keys is None else OK if newest.keys else WARNING, _keys(newest))


def _counts(newest: CacheLatest) -> dict[str, Any]:
    return {name: getattr(newest, name) for name in ("answering", "nodes", "primaries", "replicas")}


def _keys(newest: CacheLatest) -> dict[str, Any]:
    return {"keys": newest.keys, "hit_ratio": newest.hit_ratio}


def _version(seen: Known, now: Known) -> Finding:
    mine, theirs = seen.fact("valkey_version", "redis_version"), now.fact("valkey_version", "redis_version")
    is_older = bool(mine and theirs) and _number(mine) < _number(theirs)
    return Finding(Check.VERSION, WARNING if is_older else OK if mine else UNKNOWN, {"version": mine, "now": theirs})


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(",")[0].split(".") if part.isdecimal())


def _memory(newest: CacheLatest, now: CacheLatest | None) -> Finding:
    limit, needed = newest.memory_limit_bytes, now.used_memory if now else None
    is_small = bool(limit and needed and limit < needed)
    verdict = UNKNOWN if limit is None else WARNING if is_small else OK
    return Finding(Check.MEMORY, verdict, {"limit": limit, "needed": needed})


def _policy(seen: Known, now: Known) -> Finding:
    mine, theirs = seen.fact("maxmemory_policy"), now.fact("maxmemory_policy")
    differs = bool(mine and theirs) and mine != theirs
    return Finding(Check.POLICY, UNKNOWN if not mine else WARNING if differs else OK, {"policy": mine, "now": theirs})


def _connections(newest: CacheLatest, now: CacheLatest | None) -> Finding:
    used, needed = newest.connected_clients, now.connected_clients if now else None
    limit = newest.fullest_maxclients * newest.nodes if newest.fullest_maxclients else None
    if limit is None or used is None or needed is None:
        return Finding(Check.CONNECTIONS, UNKNOWN, {"limit": limit, "used": used, "needed": needed})
    fits = used + needed <= CONNECTIONS_FIT * limit
    return Finding(Check.CONNECTIONS, OK if fits else WARNING, {"limit": limit, "used": used, "needed": needed})


def _latency(seen: Known, now: Known) -> Finding:
    mine, theirs = seen.slowest, now.slowest
    is_slow = mine is not None and theirs is not None and mine > max(SLOWER * theirs, theirs + SLOWER_SECONDS)
    return Finding(
        Check.LATENCY, UNKNOWN if mine is None else WARNING if is_slow else OK, {"seconds": mine, "now": theirs}
    )
