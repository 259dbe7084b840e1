"""The walk through one database of one node: page by page, each key counted once its size is final.

What is fetched but not counted yet is kept beside the cursor: after a cut, or in another process, it is
asked about again, so that no page is lost and none counts twice.
"""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

import hiredis

from collectors.failures import from_error_reply
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.asker import Asker, Resting
from collectors.keyscan.details import Detail
from collectors.keyscan.exact import SUSPECT_BYTES, Suspects
from collectors.keyscan.fields import Fields
from collectors.keyscan.guess import guess
from collectors.keyscan.names import is_cut
from collectors.keyscan.wire import END, Pages, memory_usage
from collectors.models import Step
from collectors.source import Reply

SAMPLES, ELEMENT_GUARD, SAMPLE_EVERY = 1_000, 100_000, 50
# Keys of the sample whose details are read together.
SAMPLED_SLOWLY, SAMPLED_STREAMING = 100, 1_000
NEVER = 1 << 62
# Errors about one key that say where it is now: another node counts it.
ELSEWHERE = ("MOVED", "ASK")
PASSING = ("LOADING", "MASTERDOWN", "BUSY", "CLUSTERDOWN")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked about every key. In a `is_single` pass large collections keep what a sample of them says."""

    pages: Pages = field(default_factory=Pages)
    samples: int = SAMPLES
    guard: int = ELEMENT_GUARD
    sample_every: int = SAMPLE_EVERY
    seed: int = 0
    # Read the fields of all keys, not of a sample.
    all_fields: bool = False
    is_filtered: bool = False
    is_single: bool = False

    @property
    def suspect_bytes(self) -> int:
        return NEVER if self.is_single else SUSPECT_BYTES

    @property
    def estimates(self) -> bool:
        return self.is_single and self.samples > 0


class Walk:
    """One database of one node. `run` is what a pipe drives; it may be run again after a failure."""

    def __init__(self, plan: Plan, aggregate: Aggregate) -> None:
        self.plan, self.aggregate = plan, aggregate
        self.fields, self.has_memory = Fields(), True
        self.cursor = b"0"
        self.is_begun = self.is_done = False
        self.unsized: list[list[bytes]] = []
        self.suspects = Suspects(plan.samples, plan.guard)
        self.sampled: list[tuple[bytes, int | None]] = []
        self.visited = self.unreadable = 0
        self.notice: Callable[[Iterable[Detail]], None] = lambda _details: None
        self._memory = memory_usage(plan.samples)
        self._until_sample = plan.seed % plan.sample_every

    def left(self) -> list[bytes]:
        """Return the keys that were fetched and are not counted yet."""
        return [*(key for page in self.unsized for key in page), *self.suspects.held]

    def run(self, asker: Asker) -> Resting:
        yield from self._size_left(asker)
        while not (self.is_begun and self.cursor == END):
            if asker.pace.streams and self.has_memory and not self.plan.all_fields:
                yield from self._stream(asker)
            else:
                yield from self._slice(asker)
            yield from self._look_closer(asker, at_end=False)
        yield from self._size_left(asker)
        yield from self._look_closer(asker, at_end=True)
        yield from self._describe_top(asker)
        self.is_done = True

    def _slice(self, asker: Asker) -> Resting:
        """Ask for the sizes of the last page and for the next page in one round trip."""
        keys = self.unsized[0] if self.unsized else []
        if keys and (self.plan.all_fields or not self.has_memory):
            yield from self._size_left(asker)
            keys = []
        count = asker.pace.keys
        payload = self._memory.about(keys) + self.plan.pages.ask(self.cursor, count)
        replies = yield from asker.slice(payload, len(keys) + 1)
        if keys:
            self._count_first(replies[:-1])
        self._turn(replies[-1], count)

    def _stream(self, asker: Asker) -> Resting:
        """Keep two requests in flight, until something else has to be asked or somebody wants attention."""
        gate = asker.gate
        if gate.wants_attention:
            yield from asker.attend()
        count = asker.pace.keys
        asker.write(self.plan.pages.ask(self.cursor, count))
        self._turn((yield 1)[0], count)
        asked = 0
        began = time.monotonic()
        while self.cursor != END and not gate.wants_attention and not self._is_due(SAMPLED_STREAMING):
            keys = self.unsized[-1]
            asker.write(self.plan.pages.ask(self.cursor, count) + self._memory.about(keys))
            if asked:
                self._count_first((yield asked))
            asked = len(keys)
            self._turn((yield 1)[0], count)
            now = time.monotonic()
            asker.count(asked + 1, now - began)
            began = now
        if asked:
            self._count_first((yield asked))
        yield from self._size_left(asker)

    def _size_left(self, asker: Asker) -> Resting:
        while self.unsized:
            keys = self.unsized[0]
            if not self.has_memory:
                sizes: Sequence[Reply] = yield from guess(asker, keys)
            else:
                sizes = yield from asker.about(self._memory, keys)
            details: list[Detail] = []
            if self.plan.all_fields:
                details = yield from self.fields.read(asker, _readable(keys, sizes))
            self._count_first(sizes)
            self._tell(details)

    def _turn(self, reply: Reply, count: int) -> None:
        """Take in a page of keys. Raise ReadError where it is an error."""
        if isinstance(reply, hiredis.ReplyError):
            raise from_error_reply(str(reply), Step.INFO)
        self.cursor, keys = cast(tuple[bytes, list[bytes]], reply)
        self.is_begun = True
        self.visited += count if self.plan.is_filtered else len(keys)
        if keys:
            self.unsized.append(keys)

    def _count_first(self, replies: Sequence[Reply]) -> None:
        """Count the first page that waits for its sizes; hold back the keys that a sample may misjudge."""
        keys = self.unsized[0]
        try:
            largest = max(cast(Sequence[int], replies))
        except TypeError:
            keys, sizes = self._checked(keys, replies)
            largest = max(filter(None, sizes), default=0)
        else:
            sizes = cast(list[int | None], replies)
        self._sample(keys, sizes)
        if largest >= self.plan.suspect_bytes:
            keys, sizes = self._without_suspects(keys, sizes)
        self.aggregate.add(keys, sizes, inexact=keys if self.plan.estimates or not self.has_memory else ())
        del self.unsized[0]

    def _checked(self, keys: list[bytes], replies: Sequence[Reply]) -> tuple[list[bytes], list[int | None]]:
        """Return keys with their sizes, None for those that are gone, without those that may not be read."""
        kept: list[bytes] = []
        sizes: list[int | None] = []
        for key, reply in zip(keys, replies, strict=True):
            if isinstance(reply, hiredis.ReplyError):
                words = str(reply)
                if words.startswith(PASSING):
                    raise from_error_reply(words, Step.INFO)
                if not words.startswith(ELSEWHERE):
                    self.unreadable += 1
                    continue
                reply = None
            kept.append(key)
            sizes.append(cast(int | None, reply))
        return kept, sizes

    def _without_suspects(self, keys: list[bytes], sizes: list[int | None]) -> tuple[list[bytes], list[int | None]]:
        least = self.plan.suspect_bytes
        pairs = list(zip(keys, sizes, strict=True))
        self.suspects.hold((key, size) for key, size in pairs if size is not None and size >= least)
        rest = [pair for pair in pairs if pair[1] is None or pair[1] < least]
        return [key for key, _ in rest], [size for _, size in rest]

    def _sample(self, keys: Sequence[bytes], sizes: Sequence[int | None]) -> None:
        """Choose every fiftieth key of the walk; the order of SCAN is as good as a draw."""
        if self.plan.all_fields:
            return
        every = self.plan.sample_every
        for index in range(self._until_sample, len(keys), every):
            self.sampled.append((keys[index], sizes[index]))
        self._until_sample = (self._until_sample - len(keys)) % every

    def _is_due(self, most_sampled: int) -> bool:
        return len(self.sampled) >= most_sampled or self.suspects.are_due

    def _look_closer(self, asker: Asker, at_end: bool) -> Resting:
        """Settle the suspects and read the details of the sample, when there are enough of them or no more come."""
        if self.suspects.held and (at_end or self.suspects.are_due):
            settled = yield from self.suspects.settle(asker)
            self.aggregate.add(settled.keys, settled.sizes, inexact=settled.inexact)
            self.notice(settled.details)
        if self.sampled and (at_end or len(self.sampled) >= SAMPLED_SLOWLY):
            self._tell((yield from self.fields.read(asker, self.sampled)))
            self.sampled = []

    def _tell(self, details: Collection[Detail]) -> None:
        if details:
            self.aggregate.detail(details)
            self.notice(details)

    def _describe_top(self, asker: Asker) -> Resting:
        entries = [(name, size) for name, size in self.aggregate.top.entries() if not is_cut(name)]
        details = yield from self.fields.read(asker, entries)
        self.aggregate.annotate(details)
        self.notice(details)


def _readable(keys: Sequence[bytes], sizes: Sequence[Reply]) -> list[tuple[bytes, int | None]]:
    return [(key, size) for key, size in zip(keys, sizes, strict=True) if isinstance(size, int)]
