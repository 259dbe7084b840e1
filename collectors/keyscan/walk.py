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
from collectors.keyscan.exact import SAMPLES, SUSPECT_BYTES, Suspects
from collectors.keyscan.fields import NAMES, STRING, Fields
from collectors.keyscan.guess import guess
from collectors.keyscan.names import is_cut
from collectors.keyscan.sample import Sample
from collectors.keyscan.wire import END, Pages, memory_usage
from collectors.protocol import Reply
from collectors.steps import Step

ELEMENT_GUARD, SAMPLE_EVERY = 100_000, 50
NEVER = 1 << 62
# Details are added up in lots: one by one costs several times as much.
TOLD_TOGETHER = 50
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
    # What is read of the sample, and whether it is read of all keys instead.
    sampled: frozenset[str] = frozenset(NAMES)
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
        self.sample = Sample(plan.sample_every, plan.seed)
        self._details: list[Detail] = []
        # Replies that are due beside those to a page: about the sample, and about suspects.
        self._riders: tuple[int, int] | None = None
        self.visited = self.unreadable = self.moved = 0
        self.notice: Callable[[Iterable[Detail]], None] = lambda _details: None
        self._memory = memory_usage(plan.samples)

    def left(self) -> list[bytes]:
        """Return the keys that were fetched and are not counted yet."""
        return [*(key for page in self.unsized for key in page), *self.suspects.held]

    @property
    def sampled(self) -> Fields:
        return Fields(self.fields.names & self.plan.sampled, self.fields.counts_uses)

    @property
    def samples_fields(self) -> bool:
        return not self.plan.all_fields and bool(self.sampled.questions())

    def run(self, asker: Asker) -> Resting:
        self.sample.ask_again()
        self.suspects.ask_again()
        self._riders = None
        yield from self._size_left(asker)
        while not (self.is_begun and self.cursor == END):
            if asker.pace.streams and self.has_memory and not self.plan.all_fields:
                yield from self._stream(asker)
            else:
                yield from self._slice(asker)
            if self.suspects.are_due(asker.pace.streams):
                yield from self._settle(asker)
        yield from self._size_left(asker)
        if self.suspects.held:
            yield from self._settle(asker)
        yield from self._finish_sample(asker)
        yield from self._describe_top(asker)
        self.is_done = True

    def _slice(self, asker: Asker) -> Resting:
        """Ask for the sizes of the last page and for the next page in one round trip."""
        if self.unsized and (self.plan.all_fields or not self.has_memory):
            yield from self._size_left(asker)
        keys = self.unsized[0] if self.unsized else []
        pages = asker.pace.keys
        extra, more = self._ride()
        payload = self._memory.about(keys) + self.plan.pages.ask(self.cursor, pages) + extra
        replies = yield from asker.slice(payload, len(keys) + 1 + more)
        page = replies.pop(len(keys))
        self._take(len(keys), replies)
        self._turn(page, pages)

    def _stream(self, asker: Asker) -> Resting:
        """Keep two requests in flight, until something else has to be asked or somebody wants attention."""
        if asker.gate.wants_attention:
            yield from asker.attend()
        # Left over from a slower brake.
        yield from self._size_left(asker)
        pages = asker.pace.keys
        asker.write(self.plan.pages.ask(self.cursor, pages))
        keys = self._turn((yield 1)[0], pages)
        waiting = asked = arrived = 0
        replies: list[Reply] = []
        began = time.monotonic()
        while self.cursor != END and not self._is_interrupted(asker):
            extra, more = self._ride()
            asker.write(self.plan.pages.ask(self.cursor, pages) + self._memory.about(keys) + extra)
            # Adding up comes after the write: the server works meanwhile.
            self._take(arrived, replies)
            replies = yield waiting + 1
            arrived, asked, waiting = asked, len(keys), len(keys) + more
            keys = self._turn(replies.pop(), pages)
            now = time.monotonic()
            asker.count(waiting + 1, now - began)
            began = now
        self._take(arrived, replies)
        if waiting:
            self._take(asked, (yield waiting))
        yield from self._size_left(asker)

    def _is_interrupted(self, asker: Asker) -> bool:
        return asker.gate.wants_attention or self.suspects.are_due(streams=True)

    def _ride(self) -> tuple[bytes, int]:
        """Return what is asked beside a page, packed, and how many replies it gets; one such question at a time."""
        if self._riders is not None:
            return b"", 0
        (sample, more), (types, count) = self.sample.ask(self.sampled), self.suspects.ask()
        self._riders = (more, count) if more + count else None
        return sample + types, more + count

    def _take(self, asked: int, replies: list[Reply]) -> None:
        """Take in the sizes of the first page that waits for them, then what was asked beside."""
        if asked:
            self._count_first(replies[:asked])
        if self._riders is not None and len(replies) > asked:
            more, _count = self._riders
            self._riders = None
            self._tell(self.sample.take(replies[asked : asked + more]))
            self._clear(self.suspects.take(replies[asked + more :]))

    def _clear(self, strings: list[tuple[bytes, int]]) -> None:
        """Count suspects that turned out to be strings."""
        if strings:
            self.aggregate.add([key for key, _size in strings], [size for _key, size in strings])
            floor = self.aggregate.floor
            details = [Detail(key, size, STRING.decode()) for key, size in strings if size >= floor]
            self.aggregate.annotate(details)
            self.notice(details)

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

    def _turn(self, reply: Reply, count: int) -> list[bytes]:
        """Take in a page and return its keys. Raise ReadError where it is an error."""
        if isinstance(reply, hiredis.ReplyError):
            raise from_error_reply(str(reply), Step.INFO)
        self.cursor, keys = cast(tuple[bytes, list[bytes]], reply)
        self.is_begun = True
        self.visited += count if self.plan.is_filtered else len(keys)
        if keys:
            self.unsized.append(keys)
        return keys

    def _count_first(self, replies: Sequence[Reply]) -> None:
        """Count the first page that waits for its sizes; hold back the keys that a sample may misjudge."""
        keys, least = self.unsized[0], self.plan.suspect_bytes if self.has_memory else NEVER
        try:
            large = [index for index, size in enumerate(cast(Sequence[int], replies)) if size >= least]
        except TypeError:
            keys, sizes = self._checked(keys, replies)
            large = [index for index, size in enumerate(sizes) if size is not None and size >= least]
        else:
            sizes = cast(list[int | None], replies)
        if self.samples_fields:
            self.sample.choose(keys, sizes)
        self._hold_suspects(keys, sizes, large)
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
                self.moved += 1
                reply = None
            kept.append(key)
            sizes.append(cast(int | None, reply))
        return kept, sizes

    def _hold_suspects(self, keys: list[bytes], sizes: list[int | None], large: Sequence[int]) -> None:
        """Take the keys out of a page that a sample may misjudge; `large` says which they are."""
        self.suspects.hold((keys[index], cast(int, sizes[index])) for index in large)
        # They are few: to take them out one by one costs less than to make new lists of all others.
        for index in reversed(large):
            del keys[index], sizes[index]

    def _settle(self, asker: Asker) -> Resting:
        """Measure the suspects."""
        settled = yield from self.suspects.settle(asker)
        self.aggregate.add(settled.keys, settled.sizes, inexact=settled.inexact)
        self.aggregate.annotate(settled.details)
        self.notice(settled.details)

    def _finish_sample(self, asker: Asker) -> Resting:
        while self.sample:
            payload, count = self.sample.ask(self.sampled)
            replies = (yield from asker.slice(payload, count, adapt=False)) if count else []
            self._tell(self.sample.take(replies))
        self._pass_on()

    def _tell(self, details: Collection[Detail]) -> None:
        self._details += details
        if len(self._details) >= TOLD_TOGETHER:
            self._pass_on()

    def _pass_on(self) -> None:
        details, self._details = self._details, []
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
