"""TYPE, TTL, encoding, idle time and length of keys: which of them are asked, and what the replies say."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.keyscan.asker import Asker
from collectors.keyscan.details import Detail
from collectors.keyscan.wire import LENGTHS, Question
from collectors.source import Reply

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

    def read(self, asker: Asker, keys: Sequence[Sized]) -> Generator[int | float, list[Reply], list[Detail]]:
        """Return the details of keys that are still there. The sizes are those given."""
        there = [(key, size) for key, size in keys if size is not None]
        names = [key for key, _ in there]
        columns: dict[str, list[Reply]] = {}
        for name, question in self.questions().items():
            columns[name] = yield from asker.about(question, names)
        lengths: Mapping[bytes, Reply] = {}
        if "len" in self.names and "type" in columns:
            lengths = yield from count(asker, names, columns["type"])
        return [
            _detail(key, size, {name: replies[index] for name, replies in columns.items()}, lengths.get(key))
            for index, (key, size) in enumerate(there)
            if not _is_gone(columns, index)
        ]


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


def _is_gone(columns: Mapping[str, Sequence[Reply]], index: int) -> bool:
    return any(
        (name == "type" and replies[index] == GONE) or (name == "ttl" and replies[index] == PTTL_GONE)
        for name, replies in columns.items()
    )


def _detail(key: bytes, size: int, row: Mapping[str, Reply], length: Reply) -> Detail:
    return Detail(
        key,
        size,
        type=_text(row.get("type")),
        ttl_ms=_number(row.get("ttl")),
        idle=_number(row.get("idle")),
        encoding=_text(row.get("encoding")),
        elements=_number(length),
        frequency=_number(row.get("frequency")),
    )


def _text(reply: Reply) -> str:
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else ""


def _number(reply: Reply) -> int | None:
    return reply if isinstance(reply, int) else None
