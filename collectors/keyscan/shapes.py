"""The shape of a key's name: where it is separated, and which parts of it are ids.

Digits are what most ids are made of, and runs of them collapse at the speed of C over a whole batch.
Of names of one shape only the first is taken apart.
"""

from collections.abc import Sequence

ZERO = ord("0")
DIGITS = bytes.maketrans(b"123456789", b"000000000")
# In the order in which one is preferred where two are equally common.
CANDIDATES = (b":", b"/", b"|", b".", b"#", b";", b",", b"_", b"-")
# Names looked at before separators are chosen, and the share of them that makes one.
LEARNT_FROM = 1_000
COMMON = 0.05
# Shapes over this length are not remembered.
SHAPE_LIMIT = 128
# A part of a name is kept up to this many bytes.
LABEL_LIMIT = 64
HEXADECIMAL = b"0abcdefABCDEF-"
# An id has a digit and so many letters of hexadecimal, or so many runs of digits in so long a name.
HEXADECIMAL_LETTERS = 3
MIXED_RUNS = 3
MIXED_LEAST = 8


class Separators:
    """What separates the parts of names; one instance may serve the walks of all nodes of a scan."""

    def __init__(self, chosen: Sequence[bytes] | None = None) -> None:
        self.chosen: tuple[bytes, ...] | None = None
        self._codes: tuple[tuple[int, bytes], ...] = ()
        if chosen is not None:
            self.choose(chosen)

    def choose(self, chosen: Sequence[bytes]) -> None:
        self.chosen = tuple(chosen)
        self._codes = tuple((separator[0], separator) for separator in chosen)

    def learn(self, names: Sequence[bytes]) -> None:
        """Choose the commonest, then the commonest of the names that have none of those chosen."""
        left, chosen = list(names), []
        while left:
            counts = {candidate: sum(candidate in name for name in left) for candidate in CANDIDATES}
            best = max(CANDIDATES, key=lambda candidate: counts[candidate])
            if counts[best] < max(COMMON * len(names), 1):
                break
            chosen.append(best)
            left = [name for name in left if best not in name]
        self.choose(chosen)

    def of(self, name: bytes) -> bytes:
        """Return the separator that a name is taken apart by; empty where it has none."""
        for code, separator in self._codes:
            if code in name:
                return separator
        return b""


def cut(shape: bytes, separator: bytes, depth: int) -> bytes:
    """Return a shape without what is deeper than so many parts."""
    if not separator or shape.count(separator) < depth:
        return shape
    return separator.join(shape.split(separator, depth)[:depth]) + separator


def shapes_of(names: Sequence[bytes]) -> list[bytes]:
    """Return names with every run of digits as 0; very long runs may be left as more than one."""
    joined = b"\n".join(names)
    if len(joined) > 256 * len(names):
        return [shape_of(name[:1024]) for name in names]
    shapes = collapse(joined).split(b"\n")
    return shapes if len(shapes) == len(names) else [shape_of(name) for name in names]


def shape_of(name: bytes) -> bytes:
    return collapse(name)


def collapse(text: bytes) -> bytes:
    # Once: collapsing runs wholly would cost twice what the few shapes more do.
    return text.translate(DIGITS).replace(b"000", b"0")


def label(piece: bytes) -> bytes:
    """Return a part of a shape with ids as *: the whole of it where it looks like one, else its digits.

    Shapes of one name may differ in how long their runs of digits are; their labels must not.
    """
    if not piece.translate(None, HEXADECIMAL):
        letters = len(piece.translate(None, b"0"))
        if letters < len(piece) and (not letters or letters >= HEXADECIMAL_LETTERS):
            return b"*"
    # A number is found at once; bytes in bytes first raise and catch an exception.
    if ZERO not in piece:
        return piece if len(piece) <= LABEL_LIMIT else piece[: LABEL_LIMIT - 1] + b"*"
    while piece.find(b"00") >= 0:
        piece = piece.replace(b"00", b"0")
    is_mixed = len(piece) >= MIXED_LEAST and piece.count(b"0") >= MIXED_RUNS
    return b"*" if is_mixed else piece[:LABEL_LIMIT].replace(b"0", b"*")
