"""What a server that speaks Memcached's binary protocol alone says of itself."""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

import hiredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.dialect import MISSING
from collectors.failures import Cause
from collectors.memcached.binary import REQUEST, BinaryReader, look_again
from collectors.tests.peers import Peer, Script, closed_port, hangs_up, says

WORDS = b"Auth failure."
REFUSAL = struct.pack(">BBHBBHLLQ", 0x81, 0x0A, 0, 0, 0, 0x20, len(WORDS), 0, 0) + WORDS
GOOD = struct.pack(">BBHBBHLLQ", 0x81, 0x0A, 0, 0, 0, 0, 0, 0, 0)
PeerAt = Callable[..., Peer]


def asked(reply: bytes) -> Script:
    def script(connection: socket.socket) -> None:
        if connection.recv(len(REQUEST), socket.MSG_WAITALL) == REQUEST:
            connection.sendall(reply)

    return script


def seen_at(port: int) -> Cause | None:
    failure = asyncio.run(look_again(("127.0.0.1", port), None))
    return failure.cause if failure else None


@pytest.mark.parametrize(("reply", "status"), [(REFUSAL, 0x20), (GOOD, 0)], ids=["refusal", "good"])
def test_it_reads_a_status_in_any_pieces(reply: bytes, status: int) -> None:
    reader = BinaryReader()

    for byte in reply[:-1]:
        reader.feed(bytes([byte]))
        assert reader.gets() is MISSING
    reader.feed(reply[-1:])

    assert (reader.gets(), reader.gets()) == (status, MISSING)


@given(st.binary(max_size=80))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_an_answer_or_refused(data: bytes) -> None:
    reader = BinaryReader()

    with suppress(hiredis.ProtocolError):
        reader.feed(data)
        assert reader.gets() is MISSING or data.startswith(b"\x81\x0a")


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        (asked(REFUSAL), Cause.SASL_EXPECTED),
        (asked(GOOD), Cause.BINARY_EXPECTED),
        (asked(REFUSAL[:30]), None),
        (hangs_up, None),
        (says(b"ERROR\r\n"), None),
    ],
    ids=["sasl", "binary", "cut", "hangs up", "text"],
)
def test_it_knows_why_a_server_hung_up(peer: PeerAt, script: Script, cause: Cause | None) -> None:
    assert seen_at(peer(script).port) is cause


def test_a_server_that_is_gone_by_now_tells_nothing() -> None:
    assert seen_at(closed_port()) is None
