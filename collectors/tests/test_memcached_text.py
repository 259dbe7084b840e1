"""Memcached's text protocol, whole and in pieces."""

from contextlib import suppress

import hiredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.connections import Access
from collectors.dialect import MISSING
from collectors.failures import Cause
from collectors.memcached.text import TextReader, login, opening, pack
from collectors.steps import Step
from collectors.tests.peers import captured

STATS = captured("memcached-1.6/stats.txt")
LIST = b"12\nnode-1.example|10.0.0.1|11211 node-2.example|10.0.0.2|11211\n"
REPLIES: dict[bytes, object] = {
    STATS + b"END\r\n": STATS,
    b"END\r\n": b"",
    b"VERSION 1.6.18\r\n": b"VERSION 1.6.18",
    b"STORED\r\n": b"STORED",
    b"CONFIG cluster 0 %d\r\n%s\r\nEND\r\n" % (len(LIST), LIST): LIST,
}


def all_of(reader: TextReader) -> list[object]:
    return list(iter(reader.gets, MISSING))


@pytest.mark.parametrize("sent", REPLIES, ids=["stats", "nothing", "version", "stored", "config"])
def test_it_reads_a_whole_reply(sent: bytes) -> None:
    reader = TextReader()

    reader.feed(sent)

    assert all_of(reader) == [REPLIES[sent]]


@given(st.lists(st.sampled_from(list(REPLIES)), max_size=4), st.data())
@settings(max_examples=60, deadline=None)
def test_it_reads_replies_in_any_pieces(sent: list[bytes], data: st.DataObject) -> None:
    reader, stream, got = TextReader(), b"".join(sent), list[object]()
    edges = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))

    for start, end in zip([0, *edges], [*edges, len(stream)], strict=True):
        reader.feed(stream[start:end])
        got += all_of(reader)

    assert got == [REPLIES[one] for one in sent]


@pytest.mark.parametrize("words", ["ERROR", "CLIENT_ERROR unauthenticated", "SERVER_ERROR out of memory"])
def test_an_error_is_a_reply_of_its_own_kind(words: str) -> None:
    reader = TextReader()

    reader.feed(words.encode() + b"\r\n")
    (reply,) = all_of(reader)

    assert isinstance(reply, hiredis.ReplyError)
    assert str(reply) == words


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"-ERR unknown command\r\n",
        b"STATISTICS",
        b"CONFIG cluster 0 x\r\n",
        b"CONFIG cluster 0 99999999\r\n",
        b"CONFIG cluster 0 1\r\nabcdefghijkl",
        b"CONFIG " + b"x" * 3_000,
        b"ERROR" + b"x" * 3_000,
        b"\x80\x0b\x00\x00",
    ],
)
def test_it_refuses_what_is_no_reply(sent: bytes) -> None:
    reader = TextReader()
    reader.feed(sent)

    with pytest.raises(hiredis.ProtocolError):
        all_of(reader)


@given(st.binary(max_size=80))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_read_or_refused(sent: bytes) -> None:
    reader = TextReader()
    reader.feed(sent)

    with suppress(hiredis.ProtocolError):
        assert all(isinstance(reply, bytes | hiredis.ReplyError) for reply in all_of(reader))


def test_commands_are_lines() -> None:
    assert pack([("stats",), ("stats", "slabs")]) == b"stats\r\nstats slabs\r\n"


def test_signing_in_sends_user_and_password_as_a_value() -> None:
    command = login(Access(tls=False, username="watch", password="s\u00e9cret"))

    assert command
    assert pack([command]) == "set shardwatch 0 0 13\r\nwatch s\u00e9cret\r\n".encode()


def test_without_credentials_nobody_signs_in() -> None:
    assert login(Access(tls=False)) is None


@pytest.mark.parametrize(
    ("beginning", "cause"),
    [
        (b"-NOAUTH Authentication required.\r\n", Cause.NOT_MEMCACHED),
        (b"$5\r\nhello\r\n", Cause.NOT_MEMCACHED),
        (b"HTTP/1.1 400 Bad Request\r\n", Cause.HTTP),
        (b"\x15\x03\x01\x00\x02", Cause.TLS_EXPECTED),
        (b"220 mail ESMTP\r\n", Cause.GARBAGE),
    ],
)
def test_it_knows_other_servers_by_their_beginning(beginning: bytes, cause: Cause) -> None:
    assert opening(beginning, Step.STATS).cause is cause
