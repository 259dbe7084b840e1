"""A treemap laid out on the server: rectangles whose areas are bytes, as square as they can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.scans.found import PrefixLine

# Width to height, as the page draws it on a desk.
ASPECT = 2.6
# Smaller ones would be specks: they are drawn as one.
LEAST_SHARE = 0.004
MOST = 40


@dataclass(frozen=True, slots=True)
class Tile:
    """One rectangle, in percent of the picture; `line` is None for what is too small to be drawn by itself."""

    line: PrefixLine | None
    x: float
    y: float
    width: float
    height: float
    share: float
    shade: int

    @property
    def has_text(self) -> bool:
        return self.width >= 8 and self.height >= 9


def tiles(lines: Sequence[PrefixLine]) -> list[Tile]:
    """Return the rectangles of a level; those of the smallest families are one."""
    whole = sum(line.row.size for line in lines)
    if not whole:
        return []
    drawn = [line for line in lines[:MOST] if line.row.size >= whole * LEAST_SHARE]
    rest = whole - sum(line.row.size for line in drawn)
    sizes = [line.row.size / whole for line in drawn] + ([rest / whole] if rest else [])
    shown: list[PrefixLine | None] = [*drawn, *([None] if rest else [])]
    return [
        Tile(line, x / ASPECT * 100, y * 100, width / ASPECT * 100, height * 100, size, number % 8 + 1)
        for number, (line, size, (x, y, width, height)) in enumerate(
            zip(shown, sizes, squarified([size * ASPECT for size in sizes], ASPECT, 1.0), strict=True)
        )
    ]


Box = tuple[float, float, float, float]


def squarified(areas: Sequence[float], width: float, height: float) -> list[Box]:
    """Return x, y, width and height of rectangles with these areas, which fill a box (Bruls, Huizing, van Wijk)."""
    boxes: list[Box] = []
    x = y = 0.0
    left = list(areas)
    while left:
        side = min(width, height)
        row = best_row(left, side)
        depth = sum(row) / side if side else 0.0
        boxes += laid_out(row, x, y, depth, is_column=width >= height)
        if width >= height:
            x, width = x + depth, max(width - depth, 0.0)
        else:
            y, height = y + depth, max(height - depth, 0.0)
        del left[: len(row)]
    return boxes


def best_row(areas: Sequence[float], side: float) -> list[float]:
    """Return as many of the first areas as make each other squarer along a side."""
    row = [areas[0]]
    for area in areas[1:]:
        if worst(row, side) < worst([*row, area], side):
            break
        row.append(area)
    return row


def worst(row: Sequence[float], side: float) -> float:
    whole = sum(row)
    if not whole or not side or not min(row):
        return float("inf")
    return max(side**2 * max(row) / whole**2, whole**2 / (side**2 * min(row)))


def laid_out(row: Sequence[float], x: float, y: float, depth: float, is_column: bool) -> list[Box]:
    boxes: list[Box] = []
    for area in row:
        length = area / depth if depth else 0.0
        boxes.append((x, y, depth, length) if is_column else (x, y, length, depth))
        x, y = (x, y + length) if is_column else (x + length, y)
    return boxes
