"""Small images in few colours, as PNG: what programs that read mail show, and SVG is not."""

import struct
import zlib
from collections.abc import Sequence

Colour = tuple[int, int, int]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
EIGHT_BITS, PALETTE = 8, 3


class Canvas:
    """Pixels that name their colour in a palette; the first colour is the background."""

    def __init__(self, width: int, height: int, palette: Sequence[Colour]) -> None:
        self.width, self.height, self.palette = width, height, palette
        self.pixels = bytearray(width * height)

    def fill(self, left: float, top: float, right: float, bottom: float, colour: int) -> None:
        """Paint a rectangle, at least one pixel of it; what lies outside is left out."""
        first, last = max(round(left), 0), min(max(round(right), round(left) + 1), self.width)
        for row in range(max(round(top), 0), min(max(round(bottom), round(top) + 1), self.height)):
            start = row * self.width
            self.pixels[start + first : start + last] = bytes([colour]) * max(last - first, 0)

    def line(self, start: tuple[float, float], end: tuple[float, float], thick: float, colour: int) -> None:
        """Paint a line from left to right, column by column."""
        (x0, y0), (x1, y1) = start, end
        columns = max(round(x1 - x0), 1)
        for column in range(columns):
            here, there = (y0 + (y1 - y0) * step / columns for step in (column, column + 1))
            low, high = min(here, there), max(here, there)
            self.fill(x0 + column, low - thick / 2, x0 + column + thick / 2, high + thick / 2, colour)

    def png(self) -> bytes:
        header = struct.pack(">IIBBBBB", self.width, self.height, EIGHT_BITS, PALETTE, 0, 0, 0)
        # Each row begins with the number of its filter: none.
        rows = b"".join(b"\0" + self.pixels[at : at + self.width] for at in range(0, len(self.pixels), self.width))
        colours = bytes(part for colour in self.palette for part in colour)
        parts = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
        return SIGNATURE + b"".join(chunk(kind, content) for kind, content in parts)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
