"""The launcher's few words of the Redis protocol, against answers of all kinds."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher import resp


def read(answer: bytes) -> resp.Reply:
    return resp._read(io.BytesIO(answer))


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (b"+OK\r\n", "OK"),
        (b"+\r\n", ""),
        (b":0\r\n", 0),
        (b":-5\r\n", -5),
        (b":9223372036854775807\r\n", 2**63 - 1),
        (b"$5\r\na\r\nbc\r\n", "a\r\nbc"),
        (b"$0\r\n\r\n", ""),
        (b"$-1\r\n", None),
        (b"$3\r\n\xe7\xa7\x98\r\n", "秘"),
        (b"$1\r\n\xff\r\n", "\N{REPLACEMENT CHARACTER}"),
        (b"*0\r\n", []),
        (b"*2\r\n$1\r\na\r\n*1\r\n:7\r\n", ["a", [7]]),
    ],
)
def test_it_reads_an_answer(answer: bytes, reply: resp.Reply) -> None:
    assert read(answer) == reply


@pytest.mark.parametrize("words", ["NOAUTH Authentication required.", "ERR", ""])
def test_an_error_is_raised_with_its_words(words: str) -> None:
    with pytest.raises(resp.ReplyError) as caught:
        read(f"-{words}\r\n".encode())

    assert str(caught.value) == words


def test_an_error_within_a_list_is_an_error() -> None:
    with pytest.raises(resp.ReplyError, match="EXECABORT"):
        read(b"*2\r\n+OK\r\n-EXECABORT\r\n")


@pytest.mark.parametrize("answer", [b"", b"+OK", b"+OK\n", b"$5\r\nab", b"*2\r\n+OK\r\n", b"$3\r\n"])
def test_a_connection_that_ends_early_is_no_answer(answer: bytes) -> None:
    with pytest.raises(ConnectionError):
        read(answer)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n", b"\x15\x03\r\n", b"\r\n", b"$x\r\n", b":\r\n"])
def test_another_kind_of_server_is_no_answer(answer: bytes) -> None:
    with pytest.raises(ConnectionError):
        read(answer)


@given(st.lists(st.one_of(st.integers(), st.text(st.characters(codec="utf-8"), max_size=8)), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_what_it_sends_reads_back_as_words(words: list[str | int]) -> None:
    assert read(resp._encode(tuple(words))) == [str(word) for word in words]
