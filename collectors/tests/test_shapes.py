"""What is kept of logged commands: never a value, never a whole id."""

import pytest

from collectors.shapes import KEYED, Shape, key_prefix, shape_of


@pytest.mark.parametrize(
    ("words", "shape"),
    [
        ([b"MGET", *[b"player:%d:items" % number for number in range(20)]], Shape("MGET", 20, "player:*")),
        ([b"set", b"session:9f8a7c6b5d4e", b"secret"], Shape("SET", 2, "session:*")),
        ([b"CONFIG", b"SET", b"requirepass", b"hunter2"], Shape("CONFIG SET", 2, "")),
        ([b"memory", b"usage", b"guild:7:members"], Shape("MEMORY USAGE", 1, "guild:*")),
        ([b"EVAL", b"return 'password'", b"1", b"key"], Shape("EVAL", 3, "")),
        ([b"AUTH", b"hunter2"], Shape("AUTH", 1, "")),
        ([b"KEYS", b"player:*"], Shape("KEYS", 1, "")),
        ([b"SOMETHING.NEW", b"key"], Shape("SOMETHING.NEW", 1, "")),
        ([b"<script>alert(1)</script>", b"key"], Shape("?", 1, "")),
        ([b"CONFIG", b"\x00\xff"], Shape("CONFIG", 0, "")),
        ([b"PING"], Shape("PING", 0, "")),
        ([b"GET", b""], Shape("GET", 1, "")),
        ([b"GET", 5], Shape("GET", 1, "")),
        ([], Shape("?", 0, "")),
        (None, Shape("?", 0, "")),
        ([[b"GET"]], Shape("?", 0, "")),
    ],
)
def test_it_keeps_command_number_and_prefix(words: object, shape: Shape) -> None:
    assert shape_of(words) == shape


def test_it_counts_the_words_that_the_server_left_out() -> None:
    words = [b"DEL", *[b"key"] * 30, b"... (470 more arguments)"]

    assert shape_of(words).arguments == 500


def test_a_key_of_that_wording_counts_as_itself() -> None:
    assert shape_of([b"DEL", b"... (470 more arguments)"]).arguments == 1


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        (b"leaderboard:weekly", "leaderboard:weekly"),
        (b"user:profile:81723", "user:profile"),
        (b"{user:81723}:inventory", "{user:*}"),
        (b"cache/v2/item", "cache/v*"),
        (b"job|550e8400-e29b-41d4-a716-446655440000|x", "job|*"),
        (b"token:dGhpcyBpcyBzZWNyZXQgdG9rZW4x", "token:*"),
        (b"a1b2c3d4", "*"),
        (b"mail:someone@example.org", "mail:*"),
        (b"player_inventory_77", "player_inventory_*"),
        ("プレイヤー:12".encode(), "プレイヤー:*"),
        (b"\x00\xff\xfe" * 20, "*"),
        (b"safe:\xe2\x80\xaeevil", "safe:*"),
        (b"x" * 2**20, "*"),
        (b"session:abc... (899 more bytes)", "session:abc"),
        (b":::", ":"),
        (b"", ""),
    ],
)
def test_it_shortens_keys(key: bytes, prefix: str) -> None:
    assert key_prefix(key) == prefix


@pytest.mark.parametrize("command", ["EVAL", "AUTH", "HELLO", "PUBLISH", "KEYS", "SCAN", "CONFIG", "BITOP", "FCALL"])
def test_what_begins_with_no_key_is_not_taken_for_one(command: str) -> None:
    assert command not in KEYED
