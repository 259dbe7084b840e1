"""Reading numbers out of `name:value` lines at the price of a glance.

The lines of INFO stand in the same place from poll to poll. So a reader learns once which line holds which
field and later only checks that the line still begins with the name; when one does not, it learns anew.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from collectors.metrics.catalogue import Column, Metric
from collectors.protocol import lines_of as lines_of
from collectors.source import Value

TOPS = {Column.INT8: 2**63 - 1, Column.INT4: 2**31 - 1, Column.INT2: 2**15 - 1}
# The largest value that four bytes of floating point hold.
FLOAT4_TOP = 3.4028234e38


class Field(NamedTuple):
    """Where a number goes: its slot among the hot metrics, its largest value, or how to read its text."""

    slot: int
    top: int
    read: Callable[[bytes], Value] | None = None


class Place(NamedTuple):
    line: int
    prefix: bytes
    size: int
    field: Field


def field_of(slot: int, metric: Metric) -> Field:
    """Return how a hot metric is read from INFO's text."""
    if metric.column is Column.FLOAT4:
        return Field(slot, 0, ratio)
    if metric.column is Column.BOOL:
        return Field(slot, 0, claim)
    if metric.scale != 1:
        return Field(slot, 0, microseconds)
    return Field(slot, TOPS[metric.column or Column.INT8])


def claim(text: bytes) -> Value:
    """Return 1 as true and 0 as false."""
    return {b"1": True, b"0": False}.get(text)


def words(true: bytes, false: bytes) -> Callable[[bytes], Value]:
    """Return a reader of a field that says one of two words."""
    return {true: True, false: False}.get


def ratio(text: bytes) -> Value:
    number = float(text)
    return number if 0 <= number <= FLOAT4_TOP else None


def microseconds(text: bytes) -> Value:
    """Return seconds with a fraction as whole microseconds; six digits are taken exactly."""
    whole, _, fraction = text.partition(b".")
    number = int(whole + fraction) if len(fraction) == 6 else round(float(text) * 1e6)
    return number if 0 <= number <= TOPS[Column.INT8] else None


def plain_number(text: bytes) -> float | None:
    """Return a finite number, None for anything else."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


class FieldReader:
    """Fills hot rows from lines. Fields are named as the server names them; of repeated ones the first counts.

    A name stands between `before` and `after`.
    """

    def __init__(self, fields: Mapping[bytes, Field], before: bytes = b"", after: bytes = b":") -> None:
        self._fields, self._before, self._after = fields, before, after
        self._length = -1
        self._whole: list[tuple[int, int, bytes, int, int]] = []
        self._other: list[Place] = []

    def fill(self, lines: Sequence[bytes], row: list[Value]) -> None:
        """Write into `row` what the lines hold. Numbers out of bounds or unreadable stay None."""
        if len(lines) != self._length or not self._try_fill(lines, row):
            self._learn(lines)
            self._try_fill(lines, row)

    def _learn(self, lines: Sequence[bytes]) -> None:
        self._length, self._whole, self._other = len(lines), [], []
        missing = dict(self._fields)
        for index, line in enumerate(lines):
            name, found, _ = line.removeprefix(self._before).partition(self._after)
            if found and (field := missing.pop(name, None)):
                prefix = self._before + name + self._after
                if field.read:
                    self._other.append(Place(index, prefix, len(prefix), field))
                else:
                    self._whole.append((field.slot, index, prefix, len(prefix), field.top))

    def _try_fill(self, lines: Sequence[bytes], row: list[Value]) -> bool:
        """Return False as soon as a line is not where it was."""
        for slot, index, prefix, size, top in self._whole:
            line = lines[index]
            if not line.startswith(prefix):
                return False
            try:
                number = int(line[size:])
            except ValueError:
                row[slot] = None
                continue
            row[slot] = number if 0 <= number <= top else None
        return all(self._fill_other(lines, row, place) for place in self._other)

    @staticmethod
    def _fill_other(lines: Sequence[bytes], row: list[Value], place: Place) -> bool:
        line = lines[place.line]
        if not line.startswith(place.prefix):
            return False
        try:
            row[place.field.slot] = place.field.read(line[place.size :]) if place.field.read else None
        except (ValueError, OverflowError):
            row[place.field.slot] = None
        return True
