"""Memory by prefix: a bounded tree of the parts of names whose sums add up to the whole.

A level with too many different names has ids in it: its light names fold into *. When the tree is full,
what would need a new place is counted as OTHER of the deepest place that is known. A SCAN answers in the
order of hashes, so that families that matter have their place long before that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.keyscan.shapes import LEARNT_FROM, SHAPE_LIMIT, Separators, cut, label, shapes_of

PLACES = 50_000
# So many different names below one place are ids; folding keeps those that are this many times the mean.
FANOUT = 2_000
HEAVY = 4
# Names that wait for separators to be learnt are kept so long.
WAITING_LIMIT = 256
# Shapes of names whose place is remembered.
SHAPES = 50_000
OTHER = b""


class Place:
    """One prefix, and the keys that end at it: those of longer prefixes count at their own places."""

    __slots__ = ("bytes", "children", "is_end", "is_wide", "keys", "largest", "lasting", "sampled")

    def __init__(self, is_end: bool = False) -> None:
        self.keys = self.bytes = self.largest = 0
        # Of the sampled keys whose TTL was read, those that have none.
        self.sampled = self.lasting = 0
        self.children: dict[bytes, Place] = {}
        # Nothing is looked for below OTHER.
        self.is_end = is_end
        self.is_wide = False

    def take(self, other: Place) -> None:
        self.keys += other.keys
        self.bytes += other.bytes
        self.largest = max(self.largest, other.largest)
        self.sampled += other.sampled
        self.lasting += other.lasting

    def to_json(self) -> list[Any]:
        own = [self.keys, self.bytes, self.largest, self.sampled, self.lasting, int(self.is_wide)]
        return [*own, {name.decode("latin-1"): child.to_json() for name, child in self.children.items()}]

    @classmethod
    def of_json(cls, given: Sequence[Any]) -> Place:
        place = cls()
        place.keys, place.bytes, place.largest, place.sampled, place.lasting, wide, children = given
        place.is_wide = bool(wide)
        place.children = {name.encode("latin-1"): cls.of_json(child) for name, child in children.items()}
        return place


@dataclass(frozen=True, slots=True)
class PrefixRow:
    """A prefix with everything below it, `size` in bytes. `parts` are its labels from the top; the whole has none."""

    parts: tuple[bytes, ...]
    keys: int
    size: int
    largest: int
    sampled: int
    lasting: int

    @property
    def prefix(self) -> bytes:
        return b"".join(self.parts)

    @property
    def is_other(self) -> bool:
        return bool(self.parts) and self.parts[-1] == OTHER


class PrefixTree:
    """Keys and bytes by prefix, up to `depth` levels."""

    def __init__(self, depth: int, separators: Separators | None = None) -> None:
        self.depth = depth
        self.separators = separators or Separators()
        self.root = Place()
        self.places = 1
        self._known: dict[bytes, Place] = {}
        # Until separators are known.
        self._waiting: list[tuple[bytes, int]] = []
        self._waiting_notes: list[tuple[bytes, bool]] = []

    def add(self, names: Sequence[bytes], sizes: Sequence[int]) -> None:
        if self.separators.chosen is None:
            self._wait(names, sizes)
            return
        if self._waiting:
            # Another tree learnt the separators meanwhile.
            self.settle()
        known, place_of = self._known.get, self.place_of
        for shape, size in zip(shapes_of(names), sizes, strict=True):
            place = known(shape) or place_of(shape)
            place.keys += 1
            place.bytes += size
            if size > place.largest:
                place.largest = size

    def _wait(self, names: Sequence[bytes], sizes: Sequence[int]) -> None:
        self._waiting.extend((name[:WAITING_LIMIT], size) for name, size in zip(names, sizes, strict=True))
        if len(self._waiting) >= LEARNT_FROM:
            self.settle()

    def settle(self) -> None:
        """Choose separators by the names that there are, and take in what waited for that."""
        if self.separators.chosen is None:
            self.separators.learn([name for name, _size in self._waiting])
        waiting, self._waiting = self._waiting, []
        notes, self._waiting_notes = self._waiting_notes, []
        if waiting:
            self.add([name for name, _size in waiting], [size for _name, size in waiting])
        for name, is_lasting in notes:
            self.note_ttl(name, is_lasting)

    def note_ttl(self, name: bytes, is_lasting: bool) -> None:
        """Count a sampled key whose TTL was read."""
        if self.separators.chosen is None:
            self._waiting_notes.append((name[:WAITING_LIMIT], is_lasting))
            return
        (shape,) = shapes_of([name])
        place = self._known.get(shape) or self.place_of(shape)
        place.sampled += 1
        place.lasting += is_lasting

    def place_of(self, shape: bytes) -> Place:
        """Return where keys of a shape are counted: below the place of its beginning, by its last part."""
        separator = self.separators.of(shape)
        if not separator or shape.count(separator) < self.depth:
            return self._known.get(shape) or self._place(shape, separator)
        head = cut(shape, separator, self.depth)
        place = self._known.get(head) or self._place(head, separator)
        # Half of the room: what lies below the depth may be countless.
        if head in self._known and len(self._known) < SHAPES // 2:
            self._remember(shape, place)
        return place

    def _place(self, shape: bytes, separator: bytes) -> Place:
        above, piece, ending, comes_again = self.root, shape, b"", True
        if separator:
            begins = shape.rfind(separator, 0, -1) + 1
            if begins:
                known = self._known.get(head := shape[:begins])
                above, comes_again = known or self._place(head, separator), known is not None
            ending = separator if shape[-1] == separator[0] else b""
            piece = shape[begins:-1] if ending else shape[begins:]
        part = label(piece)
        place = above.children.get(part + ending)
        if place is None:
            return self._grow(above, part + ending) if shape and not above.is_end else above
        # Shapes with hexadecimal or mixed ids are countless; those that have none come again.
        if comes_again and (part != b"*" or piece.isdigit()):
            self._remember(shape, place)
        return place

    def _remember(self, shape: bytes, place: Place) -> None:
        if len(self._known) < SHAPES and len(shape) <= SHAPE_LIMIT:
            self._known[shape] = place

    def _grow(self, place: Place, part: bytes) -> Place:
        """Return the place below for a part that has none."""
        if place.is_wide:
            return self._child(place, star(part))
        child = self._child(place, part)
        if len(place.children) <= FANOUT:
            return child
        self._fold(place)
        return place.children.get(part) or place.children[star(part)]

    def _child(self, place: Place, part: bytes) -> Place:
        """Return the place below with this name, a new one, or where the tree is full that of OTHER."""
        child = place.children.get(part)
        if child is None:
            part = part if self.places < PLACES else OTHER
            child = place.children.get(part) or Place(is_end=part == OTHER)
            self.places += part not in place.children
            place.children[part] = child
        return child

    def _fold(self, place: Place) -> None:
        """Fold the light names below a place into *."""
        place.is_wide = True
        self._known.clear()
        weights = {part: total(child).keys for part, child in place.children.items()}
        heavy = HEAVY * sum(weights.values()) / len(weights)
        folded = [part for part, keys in weights.items() if keys <= heavy and part not in {star(part), OTHER}]
        for part in folded:
            self._move(place.children.pop(part), place, star(part), is_light=True)

    def _move(self, child: Place, place: Place, part: bytes, is_light: bool = False) -> None:
        """Hang a place that was taken away below another one, merging the two where it has that part."""
        if is_light and place.is_wide and part not in place.children:
            part = star(part)
        there = place.children.get(part)
        if there is None:
            place.children[part] = child
            return
        self.places -= 1
        there.take(child)
        there.is_wide = there.is_wide or child.is_wide
        for name, grandchild in child.children.items():
            self._move(grandchild, there, name, is_light)
        if len(there.children) > FANOUT:
            self._fold(there)

    def merge(self, other: PrefixTree) -> None:
        """Take in another tree and leave it empty; beyond PLACES the lightest places join OTHER."""
        self.settle()
        other.settle()
        root, other.root = other.root, Place()
        self.places += other.places - 1
        other.places = 1
        self._known.clear()
        self.root.take(root)
        self.root.is_wide = self.root.is_wide or root.is_wide
        for part, child in root.children.items():
            self._move(child, self.root, part)
        if len(self.root.children) > FANOUT:
            self._fold(self.root)
        while self.places > PLACES:
            self._prune()

    def _prune(self) -> None:
        """Fold the lightest leaves into OTHER, a quarter more than must go."""
        leaves = [
            (child.bytes, place, part)
            for place in list(walk(self.root))
            for part, child in place.children.items()
            if not child.children and part != OTHER
        ]
        leaves.sort(key=lambda leaf: leaf[0])
        for _bytes, place, part in leaves[: (self.places - PLACES) * 5 // 4 + 1]:
            child = place.children.pop(part)
            self.places -= 1
            self._child(place, OTHER).take(child)

    def rows(self) -> Iterator[PrefixRow]:
        """Return the whole, then every prefix; a place with names below and keys of its own has both."""
        self.settle()
        yield from _rows(self.root, ())

    def to_json(self) -> dict[str, Any]:
        chosen = self.separators.chosen
        if chosen is not None:
            self.settle()
        return {
            "depth": self.depth,
            "separators": None if chosen is None else [separator.decode() for separator in chosen],
            "places": self.places,
            "root": self.root.to_json(),
            "waiting": [[name.decode("latin-1"), size] for name, size in self._waiting],
            "notes": [[name.decode("latin-1"), is_lasting] for name, is_lasting in self._waiting_notes],
        }

    @classmethod
    def of_json(cls, given: dict[str, Any]) -> PrefixTree:
        chosen = given["separators"]
        tree = cls(given["depth"], Separators(None if chosen is None else [text.encode() for text in chosen]))
        tree.root, tree.places = Place.of_json(given["root"]), given["places"]
        tree._waiting = [(name.encode("latin-1"), size) for name, size in given["waiting"]]
        tree._waiting_notes = [(name.encode("latin-1"), is_lasting) for name, is_lasting in given["notes"]]
        return tree


def star(part: bytes) -> bytes:
    """Return the label of folded names: * with the separator that the part ends with."""
    return b"*" + part[-1:] if part[-1:] in {b":", b"/", b"|", b".", b"#", b";", b",", b"_", b"-"} else b"*"


def walk(place: Place) -> Iterator[Place]:
    yield place
    for child in place.children.values():
        yield from walk(child)


def total(place: Place) -> Place:
    """Return the sums of a place and everything below it, without names."""
    whole = Place()
    for part in walk(place):
        whole.take(part)
    return whole


def _rows(place: Place, parts: tuple[bytes, ...]) -> list[PrefixRow]:
    below = [_rows(child, (*parts, part)) for part, child in place.children.items()]
    heads = [rows[0] for rows in below]
    whole = PrefixRow(
        parts,
        place.keys + sum(head.keys for head in heads),
        place.bytes + sum(head.size for head in heads),
        max([place.largest, *(head.largest for head in heads)]),
        place.sampled + sum(head.sampled for head in heads),
        place.lasting + sum(head.lasting for head in heads),
    )
    return [whole, *(row for rows in below for row in rows)]
