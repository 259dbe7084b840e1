"""Texts of megabytes are read in bounded memory, and what was read of them is right."""

import tracemalloc
from collections.abc import Callable

import pytest

from collectors.metrics.hot import HOT_INDEX
from collectors.protocol import TEXT_LIMIT_BYTES, lines_of
from collectors.source import Source
from collectors.sources.cluster import ClusterDetail, ClusterInfo
from collectors.sources.commandstats import Commandstats
from collectors.sources.errorstats import Errorstats
from collectors.sources.info import Info, InfoDetail

MEGABYTES = 2**20
SOURCES = [Info, InfoDetail, Commandstats, Errorstats, ClusterInfo, ClusterDetail]
HOSTILE = {
    "short lines": b"ab\r\n" * (5 * MEGABYTES // 4),
    "one line": b"used_memory:" + b"1" * 5 * MEGABYTES,
    "line feeds": b"\n" * 5 * MEGABYTES,
    "carriage returns": b"\r" * 5 * MEGABYTES,
    "commands": b"".join(b"cmdstat_%d:calls=1\r\n" % number for number in range(200_000)),
    "errors": b"# Errorstats\r\n" + b"".join(b"errorstat_%d:count=1\r\n" % number for number in range(200_000)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("make", SOURCES)
def test_a_text_of_megabytes_takes_little_memory(make: Callable[[], Source], text: bytes) -> None:
    source = make()
    tracemalloc.start()
    try:
        source.parse([text])
        source.parse([text])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    # The text itself is not counted; a section of it may be copied once.
    assert peak < len(text) + 40 * MEGABYTES


def test_what_fits_is_read() -> None:
    text = b"used_memory:7\r\n" + b"filler:1\r\n" * MEGABYTES

    row = Info().parse([text]).hot

    assert row is not None
    assert row[HOT_INDEX["used_memory"]] == 7


def test_a_number_at_the_limit_is_left_out_rather_than_cut() -> None:
    text = b"x" * (TEXT_LIMIT_BYTES - 16) + b"\r\nused_memory:123456789\r\n"

    row = Info().parse([text]).hot

    assert row is not None
    assert row[HOT_INDEX["used_memory"]] is None


@pytest.mark.parametrize("size", [TEXT_LIMIT_BYTES - 1, TEXT_LIMIT_BYTES])
def test_a_text_up_to_the_limit_is_read_whole(size: int) -> None:
    text = b"a" * (size - 2) + b"\nb"

    assert lines_of(text) == [b"a" * (size - 2), b"b"]


@pytest.mark.parametrize("reply", [None, 7, [b"a"]])
def test_other_replies_have_no_lines(reply: object) -> None:
    assert lines_of(reply) == []  # type: ignore[arg-type]
