"""From one node's replies to its readings: what poll.py does with each answer, without the database."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import hiredis

from collectors.failures import Cause, ReadError, from_error_reply
from collectors.layout import Layout
from collectors.metrics.hot import HOT_INDEX
from collectors.models import Step
from collectors.rates import RATE_GAP_SECONDS
from collectors.rounds import Answer
from collectors.source import Command, Readings, Reply, SlotLoad, SlowCall, Spike, Value, empty_row
from collectors.tallies import NodeTallies, Tally
from collectors.targets import Target

READ_AFTER, ROUND_TRIP = HOT_INDEX["read_after_ms"], HOT_INDEX["round_trip_seconds"]
USED_MEMORY, MAXCLIENTS, OFFSET = HOT_INDEX["used_memory"], HOT_INDEX["maxclients"], HOT_INDEX["master_repl_offset"]
STATE_OK, KNOWN_NODES = HOT_INDEX["cluster_state_ok"], HOT_INDEX["cluster_known_nodes"]
EPOCH, IS_PRIMARY = HOT_INDEX["cluster_current_epoch"], HOT_INDEX["is_primary"]
# One of these facts is in every answer that tells a server's kind.
VERSIONS = frozenset({"redis_version", "memcached_version"})
# A delay beyond this is a clock that was set while the poll ran.
READ_AFTER_LIMIT_MS = 600_000


@dataclass(slots=True)
class Digest:
    """What one answer came to. `is_unsettled` says that the layout should be asked for anew."""

    target: Target
    row: list[Value] = field(default_factory=empty_row)
    detail: dict[str, float] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    failure: ReadError | None = None
    layout: Layout | None = None
    is_unsettled: bool = False
    # Counts by kind and name, and over how many seconds each kind was counted.
    tallies: dict[str, dict[str, Tally]] = field(default_factory=dict)
    counted_seconds: dict[str, int] = field(default_factory=dict)
    slow_calls: list[SlowCall] = field(default_factory=list)
    spikes: list[Spike] = field(default_factory=list)
    slots: Sequence[SlotLoad] | None = None

    def node_tallies(self, tick: int) -> list[NodeTallies]:
        at, is_primary = datetime.fromtimestamp(tick, UTC), self.row[IS_PRIMARY] is not False
        return [
            NodeTallies(self.target.node_id, at, self.counted_seconds[kind], kind, by_name, is_primary)
            for kind, by_name in self.tallies.items()
        ]


def digest(answer: Answer, tick: int, offset_seconds: float) -> Digest:
    """Return the readings in an answer; `offset_seconds` is how long after its tick the round began."""
    target, made = answer.request.target, Digest(answer.request.target)
    made.failure = answer.failure or _failure(target, answer.request.plan.commands, answer.replies)
    if made.failure and made.failure.cause is Cause.TOO_LONG:
        target.postpone(answer.request.plan.sources, tick)
    if made.failure is None:
        _take_in(made, answer, tick)
    if made.failure is None and target.is_endpoint and made.layout is None:
        made.failure = ReadError(target.step, Cause.NO_NODE_LIST, answer.replies[0])
    if made.failure is None:
        read_after = int((offset_seconds + answer.after_seconds) * 1000)
        made.row[READ_AFTER] = read_after if 0 <= read_after <= READ_AFTER_LIMIT_MS else None
        made.row[ROUND_TRIP] = answer.round_trip_seconds
    made.is_unsettled |= (made.failure is None) != (target.failure is None)
    return made


def _failure(target: Target, commands: Sequence[Command], replies: Sequence[Reply]) -> ReadError | None:
    """Return why the vital command failed, None where it did not; remember which commands the node lets us run."""
    failure = None
    for command, reply in zip(commands, replies, strict=True):
        target.support.note(command, reply)
        if command == target.vital and isinstance(reply, hiredis.ReplyError):
            failure = from_error_reply(target.way.access.redact(str(reply)), target.step)
            if target.is_endpoint and failure.cause is Cause.ERROR_REPLY:
                failure = ReadError(target.step, Cause.NO_NODE_LIST, failure.words)
        elif command == target.vital and not isinstance(reply, bytes):
            failure = ReadError(target.step, target.way.dialect.nonsense)
    return failure


def _take_in(made: Digest, answer: Answer, tick: int) -> None:
    target, plan = made.target, answer.request.plan
    for source, places in zip(plan.sources, plan.places, strict=True):
        own = [answer.replies[place] for place in places]
        seconds = target.ran(source, tick)
        if all(isinstance(reply, hiredis.ReplyError) for reply in own):
            target.note_layout(source, has_told=False)
            continue
        readings = source.parse(own)
        if source.once_a_cache:
            target.note_layout(source, has_told=readings.layout is not None)
        if readings.hot is not None:
            _merge(made, readings.hot, carried=source.every() > 0)
        made.detail.update(readings.detail)
        made.facts.update(readings.facts)
        made.layout = made.layout or readings.layout
        made.slow_calls += readings.slow_calls
        made.spikes += readings.spikes
        made.slots = made.slots if readings.slots is None else readings.slots
        if readings.tallies:
            _count(made, readings.tallies, seconds, source.every())
        if source.tells_kind:
            _know(made, readings)
    for slot, value in target.carried.items():
        if made.row[slot] is None:
            made.row[slot] = value


def _merge(made: Digest, row: list[Value], carried: bool) -> None:
    """Put a source's numbers into the row. What is asked for rarely stands for the polls in between too."""
    if carried:
        made.target.carried.update({slot: value for slot, value in enumerate(row) if value is not None})
    elif made.row[USED_MEMORY] is None:
        made.row = row
    else:
        made.row = [mine if mine is not None else other for mine, other in zip(made.row, row, strict=True)]


def _count(made: Digest, tallies: dict[str, dict[str, Tally]], seconds: int | None, every: int) -> None:
    """Add up counts of several sources. Over a long gap nobody knows how they were spread: they are left out."""
    if not seconds or not 0 < seconds <= max(RATE_GAP_SECONDS, 2 * every):
        return
    for kind, by_name in tallies.items():
        made.counted_seconds.setdefault(kind, seconds)
        counted = made.tallies.setdefault(kind, {})
        for name, tally in by_name.items():
            counted.setdefault(name, Tally()).add(tally)


def _know(made: Digest, readings: Readings) -> None:
    """Learn what kind of node this is, and whether its place among the others changed."""
    target = made.target
    if readings.facts:
        target.learn(readings.facts)
        if "run_id" in readings.facts:
            target.forget()
        made.is_unsettled |= bool({"role", "master_host", "master_port", "run_id"} & readings.facts.keys())
    if target.texts.get("redis_mode") == "sentinel":
        made.failure = ReadError(Step.INFO, Cause.SENTINEL)
    elif made.row[USED_MEMORY] is None and VERSIONS.isdisjoint(target.texts):
        made.failure = ReadError(target.step, target.way.dialect.nonsense)
    target.standing.reports_limits = made.row[MAXCLIENTS] is not None
    is_primary = made.row[IS_PRIMARY]
    target.standing.is_primary = None if is_primary is None else bool(is_primary)
    before = {(replica.host, replica.port) for replica in target.replicas}
    made.is_unsettled |= before != {(replica.host, replica.port) for replica in readings.replicas}
    target.replicas = readings.replicas


def settle(made: Digest) -> None:
    """Bring the target up to its digest: how it did, and how well it can speak for its cluster."""
    target, row = made.target, made.row
    target.failure = made.failure
    if made.failure is None:
        target.failing_since, target.has_answered = None, True
        rank = (int(bool(row[STATE_OK])), int(row[KNOWN_NODES] or 0), int(row[EPOCH] or 0))
        made.is_unsettled |= bool(target.rank) and target.rank[1:] != rank[1:]
        target.rank = rank
        return
    target.mark_failing()
    # A server that is stuck keeps its one connection.
    if made.failure.step in {Step.AUTH, Step.CONNECT} and made.failure.cause is not Cause.SILENT:
        target.drop_soon()
