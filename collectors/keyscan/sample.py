"""A seeded sample of the keys of a walk; what is asked about them rides along with the walk's own requests."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from collectors.keyscan.details import Detail
from collectors.keyscan.fields import Block, Fields, Sized
from collectors.keyscan.wire import Question
from collectors.protocol import Reply


@dataclass(slots=True)
class _Request:
    """What one request asks: fields of fresh keys, then lengths of those whose types are known."""

    fresh: Block
    typed: Block | None
    questions: dict[str, Question]
    lengths: list[tuple[Question, list[int]]] = field(default_factory=list)

    @property
    def payload(self) -> bytes:
        parts = [question.about(self.fresh.keys) for question in self.questions.values()]
        if self.typed:
            keys = self.typed.keys
            parts += [question.about([keys[index] for index in indexes]) for question, indexes in self.lengths]
        return b"".join(parts)

    @property
    def count(self) -> int:
        return len(self.questions) * len(self.fresh.keys) + sum(len(indexes) for _question, indexes in self.lengths)

    def take(self, replies: Sequence[Reply]) -> None:
        start, size = 0, len(self.fresh.keys)
        for name in self.questions:
            self.fresh.columns[name] = list(replies[start : start + size])
            start += size
        for _question, indexes in self.lengths:
            if self.typed:
                self.typed.put_lengths(indexes, replies[start : start + len(indexes)])
            start += len(indexes)


class Sample:
    """Keys are asked for their fields in one request and for their length, which depends on the type, in the next."""

    def __init__(self, every: int, seed: int) -> None:
        self._every = every
        self._until_next = seed % every
        self._fresh: list[Sized] = []
        self._typed: Block | None = None
        self._asked: _Request | None = None
        # Through without a question, and not told yet.
        self._done: list[Detail] = []

    def choose(self, keys: Sequence[bytes], sizes: Sequence[int | None]) -> None:
        """Take every so manieth key; the order of SCAN is as good as a draw."""
        start = self._until_next
        self._until_next = (start - len(keys)) % self._every
        self._fresh += zip(keys[start :: self._every], sizes[start :: self._every], strict=True)

    def __bool__(self) -> bool:
        """Return whether keys wait for questions or answers."""
        return bool(self._fresh or self._typed or self._asked or self._done)

    def ask(self, fields: Fields) -> tuple[bytes, int]:
        """Return the questions that are due, packed, with their number; none while others are under way."""
        if self._asked or not (self._fresh or self._typed):
            return b"", 0
        request = _Request(Block(self._fresh), self._typed, fields.questions())
        if self._typed and fields.reads_lengths:
            request.lengths = self._typed.groups()
        self._fresh, self._typed, self._asked = [], None, request
        if not request.count:
            self._done += self.take(())
            return b"", 0
        return request.payload, request.count

    def take(self, replies: Sequence[Reply]) -> list[Detail]:
        """Take in the replies to what was asked; return the details of keys that are through."""
        request, self._asked = self._asked, None
        done, self._done = self._done, []
        if request is None:
            return done
        request.take(replies)
        self._typed = request.fresh if request.fresh.keys else None
        return [*done, *(request.typed.details() if request.typed else ())]

    def ask_again(self) -> None:
        """Ask anew for what a lost connection took along."""
        if self._asked:
            asked, self._asked = self._asked, None
            blocks = [asked.fresh, *([asked.typed] if asked.typed else [])]
            self._fresh += [pair for block in blocks for pair in zip(block.keys, block.sizes, strict=True)]
