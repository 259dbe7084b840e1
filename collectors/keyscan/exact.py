"""Exact sizes: keys that a capped sample may misjudge are held back, looked at, and measured whole.

A hash, set or sorted set of more than SAMPLES elements takes 16 bytes and more for each in its table and its
names alone, so none of them comes out below SUSPECT_BYTES: all others are exact at once.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field

from collectors.keyscan.asker import Asker
from collectors.keyscan.details import Detail
from collectors.keyscan.fields import GONE, STRING, TYPE, count
from collectors.keyscan.wire import memory_usage
from collectors.protocol import Reply

# An element that lies nowhere near another takes up to 0.4 us: of a giant no more than 0.1 ms in one command.
SAMPLES = 150
SUSPECT_BYTES = 16 * SAMPLES
HELD_KEYS, HELD_STREAMING, HELD_BYTES = 100, 2_000, 1 << 20
WHOLE = memory_usage(0)
GIANTS_TOGETHER = 32
STREAM = b"stream"


@dataclass(slots=True)
class Settled:
    """Keys with their final sizes; None is a key that vanished. Those in `inexact` keep an estimate."""

    keys: list[bytes] = field(default_factory=list)
    sizes: list[int | None] = field(default_factory=list)
    inexact: set[bytes] = field(default_factory=set)
    details: list[Detail] = field(default_factory=list)


class Suspects:
    """Keys with their estimates, held back until it is known what they are.

    Their types are asked beside pages of the walk. Strings are exact and go at once; all others wait until there are
    enough to be counted and measured together.
    """

    def __init__(self, samples: int, guard: int) -> None:
        self.held: dict[bytes, int] = {}
        self._samples, self._guard = samples, guard
        # Neither asked nor known; asked; known.
        self._fresh: list[bytes] = []
        self._asked: list[bytes] = []
        self._kinds: dict[bytes, Reply] = {}
        self._weight = 0

    def hold(self, keys: Iterable[tuple[bytes, int]]) -> None:
        for key, size in keys:
            # SCAN may give a key again before it is settled.
            if key not in self.held:
                self._fresh.append(key)
                self._weight += len(key)
            self.held[key] = size

    def ask(self) -> tuple[bytes, int]:
        """Return the question for the types that are not known, packed, and how many replies it gets."""
        self._asked, self._fresh = self._fresh, []
        return TYPE.about(self._asked), len(self._asked)

    def take(self, replies: Sequence[Reply]) -> list[tuple[bytes, int]]:
        """Take in the types that were asked; return the strings, which are held no longer."""
        asked, self._asked = self._asked, []
        self._kinds.update(zip(asked, replies, strict=True))
        return [(key, self._let_go(key)) for key in asked if self._kinds[key] == STRING]

    def _let_go(self, key: bytes) -> int:
        del self._kinds[key]
        self._weight -= len(key)
        return self.held.pop(key)

    def ask_again(self) -> None:
        """Ask anew for what a lost connection took along."""
        self._asked = []
        self._fresh = [key for key in self.held if key not in self._kinds]

    def are_due(self, streams: bool) -> bool:
        """Return whether they should be settled; a stream of requests has to end for it, so it holds more back."""
        enough = HELD_STREAMING if streams else HELD_KEYS
        return len(self._kinds) >= enough or len(self.held) > 2 * enough or self._weight >= HELD_BYTES

    def settle(self, asker: Asker) -> Generator[int | float, list[Reply], Settled]:
        """Return all that are held with their final sizes, and hold none any more."""
        self.ask_again()
        self._kinds.update(zip(self._fresh, (yield from asker.about(TYPE, self._fresh)), strict=True))
        keys = list(self.held)
        kinds = [self._kinds[key] for key in keys]
        counts = yield from count(asker, keys, kinds, but=frozenset((STRING,)))
        elements = {key: number for key, number in counts.items() if isinstance(number, int)}
        sizes: dict[bytes, int | None] = dict(self.held)
        large = [key for key, number in elements.items() if self._samples < number <= self._guard]
        # One a slice: a hash of 100,000 fields keeps the server busy for some milliseconds.
        replies = yield from asker.about(WHOLE, large, at_once=GIANTS_TOGETHER if asker.pace.is_unbraked else 1)
        for key, size in zip(large, replies, strict=True):
            sizes[key] = size if isinstance(size, int) else None
        settled = self._settled(dict(zip(keys, kinds, strict=True)), elements, sizes)
        self.held, self._fresh, self._kinds, self._weight = {}, [], {}, 0
        return settled

    def _settled(
        self, kinds: dict[bytes, Reply], elements: dict[bytes, int], sizes: dict[bytes, int | None]
    ) -> Settled:
        made = Settled()
        for key, kind in kinds.items():
            # Of collections only streams may be empty: one without elements was renamed or deleted meanwhile.
            is_gone = kind == GONE or (elements.get(key) == 0 and kind != STREAM)
            size = None if is_gone else sizes[key]
            made.keys.append(key)
            made.sizes.append(size)
            # Not counted is not known: a module's type, a key that changed its type meanwhile, a refused TYPE.
            if kind != STRING and elements.get(key, self._guard + 1) > self._guard:
                made.inexact.add(key)
            if size is not None and isinstance(kind, bytes):
                made.details.append(Detail(key, size, kind.decode(), elements=elements.get(key)))
        return made
