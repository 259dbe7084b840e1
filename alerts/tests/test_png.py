"""Images that we draw ourselves: read back by the letter of the format."""

import struct
import zlib
from collections.abc import Iterator

from alerts.png import SIGNATURE, Canvas

WHITE, BLUE = (255, 255, 255), (0, 0, 255)


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    assert png.startswith(SIGNATURE)
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        (check,) = struct.unpack(">I", png[at + 8 + length : at + 12 + length])
        assert check == zlib.crc32(kind + content)
        yield kind, content
        at += 12 + length


def rows(png: bytes) -> list[str]:
    """Return the pixels, a text a row and a digit a pixel: the number of its colour."""
    found = dict(chunks(png))
    width, height = struct.unpack(">II", found[b"IHDR"][:8])
    raw = zlib.decompress(found[b"IDAT"])
    assert len(raw) == height * (width + 1)
    return ["".join(map(str, raw[row * (width + 1) + 1 : (row + 1) * (width + 1)])) for row in range(height)]


def test_it_holds_its_size_and_colours() -> None:
    found = dict(chunks(Canvas(3, 2, (WHITE, BLUE)).png()))

    assert list(found) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", found[b"IHDR"]) == (3, 2, 8, 3, 0, 0, 0)
    assert found[b"PLTE"] == bytes((*WHITE, *BLUE))


def test_a_rectangle_is_painted_and_cut_at_the_edges() -> None:
    canvas = Canvas(4, 3, (WHITE, BLUE))

    canvas.fill(2, 1, 9, 9, 1)
    canvas.fill(-9, -9, 1, 1, 1)

    assert rows(canvas.png()) == ["1000", "0011", "0011"]


def test_the_thinnest_rectangle_is_one_pixel() -> None:
    canvas = Canvas(3, 3, (WHITE, BLUE))

    canvas.fill(1, 1, 1, 1, 1)

    assert rows(canvas.png()) == ["000", "010", "000"]


def test_what_lies_outside_changes_nothing() -> None:
    canvas = Canvas(2, 2, (WHITE, BLUE))

    for box in ((5, 0, 9, 1), (-9, 0, -5, 1), (0, 7, 1, 9), (0, -9, 1, -7)):
        canvas.fill(*box, 1)

    assert rows(canvas.png()) == ["00", "00"]


def test_a_line_is_drawn_without_gaps_however_steep() -> None:
    canvas = Canvas(4, 8, (WHITE, BLUE))

    canvas.line((0, 7), (4, 0), 1, 1)

    drawn = rows(canvas.png())
    assert all("1" in row for row in drawn)
    assert all(any(row[column] == "1" for row in drawn) for column in range(4))
