"""TYPE, TTL, encoding, idle time and length of keys: which of them are asked, and what the replies say."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field

from collectors.keyscan.asker import Asker
from collectors.keyscan.details import Detail
from collectors.keyscan.wire import LENGTHS, Question
from collectors.protocol import Reply

TYPE = Question(b"TYPE")
LENGTH = {kind: Question(command) for kind, command in LENGTHS.items()}
QUESTIONS = {
    "type": TYPE,
    "ttl": Question(b"PTTL"),
    "encoding": Question(b"OBJECT", b"ENCODING"),
    "idle": Question(b"OBJECT", b"IDLETIME"),
    "frequency": Question(b"OBJECT", b"FREQ"),
}
# What people may ask for; frequency takes the place of idle where the server counts uses.
NAMES = ("type", "ttl", "idle", "encoding", "len")
STRING, GONE = b"string", b"none"
PTTL_GONE = -2

Sized = tuple[bytes, int | None]


class Block:
    """Keys whose fields are being read, a column of replies for each field."""

    def __init__(self, keys: Iterable[Sized]) -> None:
        there = [(key, size) for key, size in keys if size is not None]
        self.keys = [key for key, _size in there]
        self.sizes = [size for _key, size in there]
        self.columns: dict[str, list[Reply]] = {}

    def groups(self) -> list[tuple[Question, list[int]]]:
        """Return with what the lengths of which keys are asked, by their types."""
        groups: dict[Reply, list[int]] = {}
        for index, kind in enumerate(self.columns.get("type", ())):
            if isinstance(kind, bytes):
                groups.setdefault(kind, []).append(index)
        return [(question, groups[kind]) for kind, question in LENGTH.items() if kind in groups]

    def put_lengths(self, indexes: Iterable[int], replies: Iterable[Reply]) -> None:
        column = self.columns.setdefault("len", [None] * len(self.keys))
        for index, reply in zip(indexes, replies, strict=True):
            column[index] = reply

    def details(self) -> list[Detail]:
        """Return a row for each key that is still there."""
        kinds, expiry = self._texts("type"), self._numbers("ttl")
        others = map(self._numbers, ("idle", "len", "frequency"))
        rows = zip(self.keys, self.sizes, kinds, expiry, self._texts("encoding"), *others, strict=True)
        return [
            Detail(key, size, kind, ttl, idle, encoding, length, uses)
            for key, size, kind, ttl, encoding, idle, length, uses in rows
            if kind != GONE_TEXT and ttl != PTTL_GONE
        ]

    def _texts(self, name: str) -> list[str]:
        column = self.columns.get(name) or [None] * len(self.keys)
        return [reply.decode("utf-8", "replace") if isinstance(reply, bytes) else "" for reply in column]

    def _numbers(self, name: str) -> list[int | None]:
        column = self.columns.get(name) or [None] * len(self.keys)
        return [reply if isinstance(reply, int) else None for reply in column]


GONE_TEXT = GONE.decode()


@dataclass(slots=True)
class Fields:
    """Which fields of keys are read from one node; what it refuses is taken out."""

    names: set[str] = field(default_factory=lambda: set(NAMES))
    # A server that evicts by frequency keeps no idle times.
    counts_uses: bool = False

    def questions(self) -> dict[str, Question]:
        """Return what is asked in the first round. Lengths come after it: they may count as a use of the key."""
        names = self.names | ({"type"} if "len" in self.names else set())
        idle = "frequency" if self.counts_uses else "idle"
        wanted = [idle if name == "idle" else name for name in ("type", "ttl", "encoding", "idle") if name in names]
        return {name: QUESTIONS[name] for name in wanted}

    @property
    def reads_lengths(self) -> bool:
        return "len" in self.names

    def read(self, asker: Asker, keys: Iterable[Sized]) -> Generator[int | float, list[Reply], list[Detail]]:
        """Return the details of keys that are still there. The sizes are those given."""
        block = Block(keys)
        for name, question in self.questions().items():
            block.columns[name] = yield from asker.about(question, block.keys)
        for question, indexes in block.groups() if self.reads_lengths else ():
            replies = yield from asker.about(question, [block.keys[index] for index in indexes])
            block.put_lengths(indexes, replies)
        return block.details()


def count(
    asker: Asker, keys: Sequence[bytes], kinds: Sequence[Reply], but: frozenset[bytes] = frozenset()
) -> Generator[int | float, list[Reply], dict[bytes, Reply]]:
    """Return the numbers of elements (bytes of strings) of keys whose types were read, except for some types."""
    found: dict[bytes, Reply] = {}
    for kind, question in LENGTH.items():
        chosen = [key for key, own in zip(keys, kinds, strict=True) if own == kind and kind not in but]
        replies = yield from asker.about(question, chosen)
        found.update(zip(chosen, replies, strict=True))
    return found
