"""Counters by name: reading them, and what they grew by since the reply before."""

from collections.abc import Iterable, Mapping

from collectors.failures import printable
from collectors.tallies import COUNT_LIMIT, OTHER

# No server has so many; a hostile one is read no further.
LINES_READ, LINE_LIMIT = 1_000, 500
# Names that one node is given in all; what it names beyond is counted as OTHER.
NAMES_EVER = 300
NAME_LIMIT = 40

Counts = tuple[int, ...]


class Names:
    """The names that one node uses, made printable. They are bounded: a node must not fill the table of names."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def of(self, raw: bytes) -> str:
        known = self._known.get(raw)
        if known is not None:
            return known
        if len(self._known) >= NAMES_EVER:
            return OTHER
        self._known[raw] = name = printable(raw, NAME_LIMIT) or OTHER
        return name


class Counters:
    """The counters of one node as they stood in the last reply."""

    def __init__(self) -> None:
        self._before: dict[bytes, tuple[bytes, Counts]] | None = None

    def forget(self) -> None:
        self._before = None

    def grown(self, lines: Iterable[bytes], prefix: bytes, fields: tuple[bytes, ...]) -> dict[bytes, Counts] | None:
        """Return what each counter grew by, None for the first reply.

        A line is `<prefix><name>:<field>=<number>,...`. One number below the earlier one, or a name that is
        gone, means that the server began to count anew: then all of them count from zero.
        """
        before, self._before = self._before, self._read(lines, prefix, fields)
        if before is None:
            return None
        if fell(before, self._before):
            before = {}
        return {
            name: growth
            for name, (line, counts) in self._before.items()
            if (known := before.get(name)) is None or known[0] != line
            if (growth := increase(counts, known[1] if known else ())) is not None
        }

    def _read(
        self, lines: Iterable[bytes], prefix: bytes, fields: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes, Counts]]:
        known, size = self._before or {}, len(prefix)
        found: dict[bytes, tuple[bytes, Counts]] = {}
        for line in lines:
            if not line.startswith(prefix) or len(line) > LINE_LIMIT:
                continue
            if len(found) == LINES_READ:
                break
            name, _, rest = line[size:].rpartition(b":")
            same = known.get(name)
            # Most commands were not called since: their line is the one of the last reply.
            found[name] = same if same and same[0] == rest else (rest, numbers(rest, fields))
        return found


def numbers(text: bytes, fields: tuple[bytes, ...]) -> Counts:
    """Return the named numbers of `a=1,b=2,...`; one that is missing or unreadable is 0."""
    parts = dict(part.partition(b"=")[::2] for part in text.split(b","))
    texts = (parts.get(field, b"") for field in fields)
    return tuple(int(number) if number.isdigit() and len(number) < 20 else 0 for number in texts)


def fell(before: Mapping[bytes, tuple[bytes, Counts]], now: Mapping[bytes, tuple[bytes, Counts]]) -> bool:
    return any(
        name not in now or any(new < old for new, old in zip(now[name][1], counts, strict=True))
        for name, (_, counts) in before.items()
    )


def increase(now: Counts, before: Counts) -> Counts | None:
    """Return the growth, None where it is beyond what any server counts."""
    grown = tuple(new - old for new, old in zip(now, before or (0,) * len(now), strict=True))
    return grown if all(0 <= number < COUNT_LIMIT for number in grown) else None
