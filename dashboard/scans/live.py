"""How far a running scan is, in numbers and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from collectors import failures
from collectors.failures import Cause
from collectors.keyscan.guards import Hold, HoldCause
from collectors.keyscan.models import Scan, ScanChange, ScanShard, ScanState
from collectors.keyscan.reasons import Reason, words
from dashboard.scans.naming import Naming
from dashboard.templatetags.units import percent

# Progress older than this is no news any more: the worker was lost, or the database away.
STALE = timedelta(seconds=10)
EASED = 0.999


@dataclass(frozen=True, slots=True)
class ShardLine:
    """One node of a running scan."""

    shard: ScanShard
    words: str
    is_held: bool

    @property
    def progress(self) -> Mapping[str, Any]:
        told: Mapping[str, Any] = self.shard.progress
        return told

    @property
    def ratio(self) -> float:
        return self.shard.ratio


@dataclass(frozen=True, slots=True)
class Biggest:
    type: str
    name: str
    size: int
    shard: int


@dataclass(frozen=True, slots=True)
class Live:
    """The whole scan: sums over shards; the slowest shard says when it ends."""

    lines: Sequence[ShardLine]
    biggest: Sequence[Biggest]
    keys: int
    total: int
    bytes: int
    keys_per_second: float
    commands_per_second: float
    busy_ratio: float | None
    seconds_left: float | None
    is_stale: bool

    @property
    def ratio(self) -> float:
        if all(line.shard.state == "done" for line in self.lines):
            return 1.0
        return min(self.keys / self.total, 0.9999) if self.total else 0.0


def live(scan: Scan, now: datetime, naming: Naming) -> Live:
    shards = list(scan.shards.all())
    moving = [shard for shard in shards if shard.progress and shard.state not in {"done", "failed", "stopped"}]
    newest = max((shard.progress_at for shard in shards if shard.progress_at), default=None)
    left = [shard.progress["seconds_left"] for shard in moving if shard.progress.get("seconds_left") is not None]
    return Live(
        [ShardLine(shard, shard_words(shard), shard.state == "held" or is_unwatched(shard)) for shard in shards],
        biggest(shards, naming),
        sum(shard.keys for shard in shards),
        sum(shard.total for shard in shards),
        sum(shard.bytes for shard in shards),
        sum(shard.progress["keys_per_second"] for shard in moving),
        sum(shard.progress["commands_per_second"] for shard in moving),
        max((shard.progress["busy_ratio"] for shard in moving), default=None),
        max(left, default=None),
        scan.state == ScanState.RUNNING and newest is not None and now - newest > STALE,
    )


def biggest(shards: Sequence[ScanShard], naming: Naming) -> list[Biggest]:
    """Return the largest key of each type so far, over all shards."""
    found: dict[str, Biggest] = {}
    for shard in shards:
        for kind, name, size in shard.progress.get("biggest", []):
            if kind not in found or size > found[kind].size:
                found[kind] = Biggest(kind, naming.text(name), size, shard.number)
    return sorted(found.values(), key=lambda one: -one.size)


def shard_words(shard: ScanShard) -> str:
    """Return what a shard's walk is at, in a sentence."""
    progress, hold = shard.progress, hold_words(shard.progress.get("hold"))
    if shard.state == "held" and hold:
        return _("held up: %(why)s") % {"why": hold}
    if shard.state == "walking":
        if is_unwatched(shard):
            return _("walking without guards: they get no connection of their own, so nothing holds the scan up")
        ease = progress.get("ease", 1.0)
        if ease < EASED:
            return _("slowed down to %(share)s of its speed after a guard") % {"share": percent(ease)}
        return _("walking")
    if shard.state in {"failed", "reconnecting"} and shard.failed_cause:
        text = _("failed: %(why)s") if shard.state == "failed" else _("connecting again: %(why)s")
        return text % {"why": failure_words(shard)}
    return STATES.get(shard.state, lambda: shard.state)()


def is_unwatched(shard: ScanShard) -> bool:
    """Return whether a walk goes on though its guards cannot see the node."""
    return shard.state == "walking" and bool(shard.progress.get("is_blind"))


STATES = {
    "waiting": lambda: _("waiting"),
    "paused": lambda: _("paused"),
    "reconnecting": lambda: _("connecting again"),
    "done": lambda: _("done"),
    "failed": lambda: _("failed"),
    "stopped": lambda: _("stopped"),
}


def hold_words(hold: Mapping[str, Any] | None) -> str:
    if not hold:
        return ""
    try:
        return Hold(HoldCause(hold["cause"]), hold["value"], hold["limit"]).words()
    except (ValueError, KeyError):
        return ""


def failure_words(shard: ScanShard) -> str:
    try:
        sentence = failures.SENTENCES[Cause(shard.failed_cause)]
    except (ValueError, KeyError):
        return shard.failed_cause
    return str(sentence) % {"words": shard.failed_words} if "%(words)s" in str(sentence) else str(sentence)


def change_words(change: ScanChange) -> str:
    """Return a change of a scan in words: the state it came to, and why."""
    data = {**change.data}
    if change.cause == Reason.BRAKE:
        data["brake"] = brake_word(str(data.get("brake", "")))
    reason = words(change.cause, data)
    return _("%(state)s: %(reason)s") % {"state": change.get_state_display(), "reason": reason} if reason else ""


def brake_word(brake: str) -> str:
    return {"gentle": _("gentle"), "brisk": _("brisk"), "fast": _("fast")}.get(brake, brake)
