"""How evenly a cache is used, as its page and the API show it: shards, slots, keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import AuditEntry, User
from collectors import hot_keys, slot_readings
from collectors.causes import sentence_of
from collectors.cloud.known import services
from collectors.hot_key_looks import HotKey
from collectors.hot_key_reading import KEYS_KEPT
from collectors.keyscan.reasons import Reason, words
from collectors.models import HotKeyReading
from collectors.slot_readings import HotSlot
from collectors.sources.slots import REDIS_SINCE, VALKEY_SINCE
from collectors.targets import version_of
from dashboard.refusals import Refusal, refusals
from dashboard.templatetags.units import duration, grouped
from dashboard.watched import WatchedNode, nodes_of
from fleet.models import Cache, Reach, Topology

COMMANDS = ("CLUSTER SLOT-STATS", "HOTKEYS START", "OBJECT FREQ")
MEASURES = (
    "keys",
    "used_memory",
    "commands_per_second",
    "main_thread_cpu_ratio",
    "connected_clients",
    "network_output_bytes_per_second",
)
SLOTS_SHOWN, KEYS_SHOWN = 40, 50


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a shard; `factor` is how many times the mean of all shards it is."""

    value: float | None
    factor: float | None


@dataclass(frozen=True, slots=True)
class ShardLoad:
    """A shard by its primary; `figures` follow MEASURES."""

    primary: WatchedNode
    slots: int
    figures: Sequence[Figure]


@dataclass(frozen=True, slots=True)
class SlotRow:
    primary: WatchedNode
    load: HotSlot

    @property
    def key_share(self) -> float | None:
        """Return this slot's part of the keys of its node, 0 to 1."""
        keys = self.primary.value("keys")
        return min(self.load.keys / keys, 1.0) if keys and self.load.keys is not None else None


@dataclass(frozen=True, slots=True)
class KeyRow:
    primary: WatchedNode
    key: HotKey


@dataclass(frozen=True, slots=True)
class KeyLookAt:
    """How the last look at one primary went; `reading` is None before the first."""

    primary: WatchedNode
    reading: HotKeyReading | None

    @property
    def failure(self) -> str:
        """Return why nothing was read, in the active language."""
        return sentence_of(self.reading.failed_cause, self.reading.failed_words) if self.reading else ""


@dataclass(frozen=True, slots=True)
class Balance:
    """One cache now. Where there is nothing to show, `slots_absent` and `keys_absent` say why."""

    shards: Sequence[ShardLoad]
    slots: Sequence[SlotRow]
    slots_absent: str
    looks: Sequence[KeyLookAt]
    keys: Sequence[KeyRow]
    keys_absent: str
    refused: Sequence[Refusal]

    @property
    def counts_time(self) -> bool:
        return any(row.load.counts_time for row in self.slots)

    @property
    def slot_seconds(self) -> float:
        """Return over how long the rates of slots are."""
        return max((row.load.seconds for row in self.slots), default=0.0)

    @property
    def is_tracked(self) -> bool:
        return any(row.key.frequency is None for row in self.keys)

    @property
    def read_at(self) -> datetime | None:
        return max((look.reading.read_at for look in self.looks if look.reading), default=None)


def balance_of(cache: Cache, now: datetime | None = None) -> Balance:
    moment = now or timezone.now()
    nodes = nodes_of([cache.pk]).get(cache.pk, [])
    primaries = {node.node.pk: node for node in nodes if node.is_primary}
    slots = [SlotRow(primaries[load.node_id], load) for load in slot_readings.hot_slots(primaries, moment)]
    kept = HotKeyReading.objects.filter(read_at__gt=moment - KEYS_KEPT).in_bulk(list(primaries))
    looks = [KeyLookAt(node, kept.get(pk)) for pk, node in primaries.items()]
    refused = refusals([node.node.pk for node in nodes], COMMANDS)
    return Balance(
        shard_loads(list(primaries.values())),
        sorted(slots, key=lambda row: (row.load.time_share or 0, row.load.keys or 0), reverse=True)[:SLOTS_SHOWN],
        "" if slots else why_no_slots(cache, list(primaries.values()), refused),
        looks,
        hottest(looks),
        why_no_keys(cache, list(primaries.values())),
        refused,
    )


def shard_loads(primaries: Sequence[WatchedNode]) -> list[ShardLoad]:
    """Return the shards in their order, each figure beside its relation to the mean of those that report it."""
    columns = [figures_of([primary.value(measure) for primary in primaries]) for measure in MEASURES]
    return [
        ShardLoad(
            primary, primary.node.shard.slot_count() if primary.node.shard else 0, [column[place] for column in columns]
        )
        for place, primary in enumerate(primaries)
    ]


def figures_of(values: Sequence[float | None]) -> list[Figure]:
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if len(known) > 1 else 0
    return [Figure(value, value / mean if value is not None and mean else None) for value in values]


def hottest(looks: Sequence[KeyLookAt]) -> list[KeyRow]:
    rows = [KeyRow(look.primary, HotKey(*row)) for look in looks if look.reading for row in look.reading.rows]
    return sorted(rows, key=lambda row: (row.key.time_share or 0, row.key.frequency or 0), reverse=True)[:KEYS_SHOWN]


def why_no_slots(cache: Cache, primaries: Sequence[WatchedNode], refused: Sequence[Refusal]) -> str:
    if cache.reach == Reach.SERVICE:
        return why_no_slots_from_here(cache)
    if cache.topology != Topology.CLUSTER:
        return _("Only clusters divide their keys into slots.")
    if any(refusal.command == COMMANDS[0] for refusal in refused):
        return _("The servers refuse CLUSTER SLOT-STATS.")
    if primaries and not any(tells_slots(primary.facts) for primary in primaries):
        return _("These servers cannot tell: Valkey 8.0, Redis 8.2 or later is needed.")
    return _("Not read yet: slots are read every %s.") % duration(settings.SLOTS_INTERVAL_SECONDS)


def why_no_slots_from_here(cache: Cache) -> str:
    """Say what Google tells of the slots of a cache whose nodes are not read."""
    service = services([cache.pk]).get(cache.pk)
    if service and not service.facts.is_cluster:
        return _("Only clusters divide their keys into slots.")
    unread = _("The nodes are not reached from here, and only they can tell how their slots are used.")
    if service is None or service.facts.shards is None:
        return unread
    words = ngettext(
        "Google tells of %(count)s shard that shares the slots.",
        "Google tells of %(count)s shards that share the slots.",
        service.facts.shards,
    )
    return f"{unread} {words % {'count': grouped(service.facts.shards)}}"


def tells_slots(facts: dict[str, str]) -> bool:
    if valkey := facts.get("valkey_version"):
        return version_of(valkey) >= VALKEY_SINCE
    return version_of(facts.get("redis_version", "")) >= REDIS_SINCE


def why_no_keys(cache: Cache, primaries: Sequence[WatchedNode]) -> str:
    """Return why no key's use can be told, empty where it can."""
    if cache.reach == Reach.SERVICE:
        return _("The nodes are not reached from here, and only they can tell which keys are used most.")
    if any(hot_keys.can_track(primary.facts) or hot_keys.counts_frequency(primary.facts) for primary in primaries):
        return ""
    policies = sorted({policy for primary in primaries if (policy := primary.facts.get("maxmemory_policy"))})
    return _(
        "These servers do not count how often a key is used. They do with the maxmemory-policy allkeys-lfu or"
        " volatile-lfu (now: %(policies)s), or as Redis 8.6 or later, which counts on demand."
    ) % {"policies": ", ".join(policies) or _("not reported")}


def look_now(by: User, cache: Cache) -> str:
    """Look for hot keys on demand; return why that is not possible now, "" where somebody looked."""
    if cache.is_paused:
        return words(Reason.PAUSED_CACHE, {})
    if cache.reach == Reach.SERVICE:
        return why_no_keys(cache, ())
    if not hot_keys.look(cache.pk):
        return _("The keys were looked at just now, or are being looked at. Wait ten seconds.")
    AuditEntry.record(by, "hot-keys.look", cache.name)
    return ""
