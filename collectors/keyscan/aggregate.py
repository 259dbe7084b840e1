"""What one walk over the keys of a node adds up to, in bounded memory: largest keys, prefixes, sizes, details.

`add` is the hot path: it is given a page of SCAN with sizes that are final.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from collectors.keyscan.details import OTHER_TYPES, TYPES, Detail, Details
from collectors.keyscan.histograms import Histogram
from collectors.keyscan.names import bounded
from collectors.keyscan.prefixes import PrefixTree
from collectors.keyscan.repeats import Repeats
from collectors.keyscan.shapes import Separators
from collectors.keyscan.top import Top

FORM = 1


class UnreadableStateError(ValueError):
    """A checkpoint is damaged, or of another version: the walk begins anew."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One of the largest keys; one that is not exact was estimated by the server from a part of its elements."""

    name: bytes
    size: int
    is_exact: bool
    detail: Detail | None


class Aggregate:
    """One node's walk so far, or the sum of several. `depth` 0 leaves prefixes out."""

    def __init__(self, top: int = 100, depth: int = 6, seed: int = 0, separators: Separators | None = None) -> None:
        self.keys = self.bytes = self.vanished = 0
        self.seed = seed
        # Whether details were read of every key, not of a sample.
        self.is_full = False
        self.top = Top(top)
        self.by_elements = Top(top)
        self.by_type: dict[str, Top] = {}
        self.sizes = Histogram()
        self.prefixes = PrefixTree(depth, separators)
        self.details = Details()
        self._repeats = Repeats()
        self._inexact: set[bytes] = set()
        self._notes: dict[bytes, Detail] = {}

    @property
    def floor(self) -> int:
        """Return the least size that may still be one of the largest."""
        return self.top.floor

    @property
    def repeats(self) -> float:
        return self._repeats.estimate

    def add(self, keys: list[bytes], sizes: list[int | None], inexact: Collection[bytes] = ()) -> None:
        """Take in keys with their sizes in bytes; None stands for a key that was gone before it was measured."""
        try:
            self.bytes += sum(sizes)  # type: ignore[arg-type]
        except TypeError:
            self._add_some(keys, sizes, inexact)
            return
        self._take(keys, sizes, inexact)  # type: ignore[arg-type]

    def _add_some(self, keys: list[bytes], sizes: list[int | None], inexact: Collection[bytes]) -> None:
        present = [(key, size) for key, size in zip(keys, sizes, strict=True) if size is not None]
        self.vanished += len(keys) - len(present)
        self.bytes += sum(size for _key, size in present)
        self._take([key for key, _size in present], [size for _key, size in present], inexact)

    def _take(self, keys: list[bytes], sizes: list[int], inexact: Collection[bytes]) -> None:
        if not keys:
            return
        self.keys += len(keys)
        self.top.add(keys, sizes)
        self.sizes.add(sizes)
        self._repeats.add(keys)
        if self.prefixes.depth:
            self.prefixes.add(keys, sizes)
        if inexact:
            self._inexact.update(map(bounded, inexact))
            self._tidy()

    def detail(self, rows: Iterable[Detail]) -> None:
        """Take in what else was read of keys of the sample, or of every key."""
        rows = list(rows)
        self.details.add(rows, None if self.is_full else self.top.holds)
        for row in rows:
            if row.ttl_ms is not None and self.prefixes.depth:
                self.prefixes.note_ttl(row.key, row.ttl_ms < 0)
        self._rank(rows)

    def annotate(self, rows: Iterable[Detail]) -> None:
        """Take in what else was read of the largest keys; shares of all keys are not reckoned with it."""
        self._rank(list(rows))

    def _rank(self, rows: list[Detail]) -> None:
        by_kind: dict[str, list[tuple[bytes, int]]] = {}
        counted = []
        for row in rows:
            if self._is_small(row):
                continue
            name = bounded(row.key)
            if row.type:
                by_kind.setdefault(row.type, []).append((name, row.size))
            if row.elements is not None and row.type != "string":
                counted.append((name, row.elements))
            self._notes[name] = row if len(name) == len(row.key) else replace(row, key=name)
        for kind, pairs in by_kind.items():
            known = kind if kind in self.by_type or len(self.by_type) < TYPES else OTHER_TYPES
            self.by_type.setdefault(known, Top(self.top.limit)).add(*zip(*pairs, strict=True))
        if counted:
            self.by_elements.add(*zip(*counted, strict=True))
        self._tidy()

    def _is_small(self, row: Detail) -> bool:
        """Return whether a key gets into no ranking: its type's lets in all that may be among the largest of all."""
        top = self.by_type.get(row.type)
        is_short = row.elements is None or row.type == "string" or row.elements < self.by_elements.floor
        return is_short and top is not None and row.size < top.floor

    def _tidy(self) -> None:
        """Forget notes of keys that are in no ranking any more."""
        if len(self._notes) + len(self._inexact) > 4 * (self.top.limit + 256) * (2 + len(self.by_type)):
            self._inexact = {name for name in self._inexact if name in self.top}
            rankings = [self.top, self.by_elements, *self.by_type.values()]
            self._notes = {name: row for name, row in self._notes.items() if any(name in top for top in rankings)}

    def entries(self, kind: str = "") -> list[Entry]:
        """Return the largest keys of all, or of one type as far down as it is known that none is missing."""
        if not kind:
            return [self._entry(name, size) for name, size in self.top.entries()]
        ranked = self.by_type.get(kind, Top(0)).entries()
        # The type is known of all keys that are among the largest; of those below, of a sample only.
        least = 0 if self.is_full else self.floor
        return [self._entry(name, size) for name, size in ranked if size >= least]

    def longest(self) -> list[Entry]:
        """Return the keys with most elements among those whose length was read."""
        notes = (self._notes[name] for name, _elements in self.by_elements.entries())
        return [self._entry(bounded(note.key), note.size) for note in notes]

    def _entry(self, name: bytes, size: int) -> Entry:
        return Entry(name, size, name not in self._inexact, self._notes.get(name))

    def merge(self, other: Aggregate) -> None:
        """Take in another node's walk; its tree of prefixes is empty afterwards."""
        self.keys += other.keys
        self.bytes += other.bytes
        self.vanished += other.vanished
        self.is_full = self.is_full and other.is_full
        self.top.merge(other.top)
        self.by_elements.merge(other.by_elements)
        for kind, top in other.by_type.items():
            self.by_type.setdefault(kind, Top(self.top.limit)).merge(top)
        self.sizes.merge(other.sizes)
        self.details.merge(other.details)
        self.prefixes.merge(other.prefixes)
        self._repeats.merge(other._repeats)
        self._inexact |= other._inexact
        self._notes |= other._notes
        self._tidy()

    def state(self) -> bytes:
        """Return all of it as a checkpoint of bounded size."""
        plain = {name: getattr(self, name) for name in ("keys", "bytes", "vanished", "seed", "is_full")}
        parts = {name: getattr(self, name).to_json() for name in ("top", "by_elements", "sizes", "prefixes", "details")}
        names = {
            "form": FORM,
            "by_type": {kind: top.to_json() for kind, top in self.by_type.items()},
            "repeats": self._repeats.to_json(),
            "inexact": [name.decode("latin-1") for name in self._inexact],
            "notes": [note_to_json(name, row) for name, row in self._notes.items()],
        }
        return zlib.compress(orjson.dumps({**plain, **parts, **names}), 1)

    @classmethod
    def from_state(cls, data: bytes) -> Aggregate:
        """Return what `state` wrote down. Raise UnreadableStateError where it did not."""
        try:
            given = orjson.loads(zlib.decompress(data))
            if given["form"] != FORM:
                raise UnreadableStateError(f"form {given['form']}")
            return cls._of_json(given)
        except (zlib.error, orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise UnreadableStateError(str(error)) from error

    @classmethod
    def _of_json(cls, given: dict[str, Any]) -> Aggregate:
        whole = cls(seed=given["seed"])
        for name in ("keys", "bytes", "vanished", "is_full"):
            setattr(whole, name, given[name])
        whole.top, whole.by_elements = Top.of_json(given["top"]), Top.of_json(given["by_elements"])
        whole.by_type = {kind: Top.of_json(top) for kind, top in given["by_type"].items()}
        whole.sizes, whole.details = Histogram.of_json(given["sizes"]), Details.of_json(given["details"])
        whole.prefixes = PrefixTree.of_json(given["prefixes"])
        whole._repeats = Repeats.of_json(given["repeats"])
        whole._inexact = {name.encode("latin-1") for name in given["inexact"]}
        whole._notes = dict(map(note_of_json, given["notes"]))
        return whole


def note_to_json(name: bytes, row: Detail) -> list[Any]:
    return [name.decode("latin-1"), {**asdict(row), "key": bounded(row.key).decode("latin-1")}]


def note_of_json(given: list[Any]) -> tuple[bytes, Detail]:
    name, row = given
    return name.encode("latin-1"), Detail(**{**row, "key": row["key"].encode("latin-1")})
