"""Lines for a terminal: aligned columns, sizes, and progress in redis-cli's own form."""

from collections.abc import Sequence

from collectors.keyscan.names import shown

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
STEP = 1024
NAME_LIMIT = 200


def columns(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Return rows as lines; `sides` has l or r for each column."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(sides))]
    return ["  ".join(_aligned(row, widths, sides)).rstrip() for row in rows]


def _aligned(row: Sequence[str], widths: Sequence[int], sides: str) -> list[str]:
    cells = zip(row, widths, sides, strict=True)
    return [cell.rjust(width) if side == "r" else cell.ljust(width) for cell, width, side in cells]


def size_text(size: float) -> str:
    """Return bytes in the largest unit that leaves a number of at least 1."""
    for unit in UNITS:
        if size < STEP or unit == UNITS[-1]:
            break
        size /= STEP
    return f"{size:,.0f} {unit}" if unit == UNITS[0] else f"{size:,.2f} {unit}"


def biggest(ratio: float, kind: str, key: bytes, size: int) -> str:
    """Return the line that redis-cli prints when it has found a larger key of a type."""
    name = shown(key[:NAME_LIMIT]).replace('"', '\\"')
    return f'[{ratio * 100:05.2f}%] Biggest {kind:<6} found so far "{name}" with {size} bytes'
