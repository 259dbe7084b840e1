"""Names: how scans keep and show them, where they are taken apart, and which parts are ids."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.keyscan.names import KEPT, LIMIT, bounded, is_cut, shown
from collectors.keyscan.shapes import LABEL_LIMIT, Separators, collapse, cut, label, shapes_of


def test_it_keeps_names_up_to_the_limit_as_they_are() -> None:
    assert bounded(b"a" * LIMIT) == b"a" * LIMIT
    assert not is_cut(b"a" * LIMIT)


def test_it_keeps_of_a_long_name_its_beginning_its_length_and_a_hash() -> None:
    name = bounded(b"a" * 524_288)

    assert name.startswith(b"a" * KEPT + b"...(524288 bytes, ")
    assert len(name) < LIMIT
    assert is_cut(name)


def test_it_tells_long_names_with_the_same_beginning_apart() -> None:
    assert bounded(b"a" * 2_000 + b"x") != bounded(b"a" * 2_000 + b"y")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (b"user:1", "user:1"),
        ("ключ".encode(), "ключ"),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"a\nb\r\x00", "a\\x0ab\\x0d\\x00"),
        (b"\x1b[31mred", "\\x1b[31mred"),
        ("\u202egnp.exe".encode(), "\\xe2\\x80\\xaegnp.exe"),
        (b"<script>", "<script>"),
        (b"", ""),
    ],
)
def test_it_shows_what_cannot_be_printed_as_bytes(name: bytes, text: str) -> None:
    assert shown(name) == text


@given(st.binary(max_size=40))
def test_it_shows_any_name_in_one_printable_line(name: bytes) -> None:
    assert shown(name).isprintable()


def test_it_learns_the_commonest_separator() -> None:
    separators = Separators()

    separators.learn([b"user_cache:%d" % number for number in range(100)])

    assert separators.chosen == (b":",)
    assert separators.of(b"user_cache:7") == b":"


def test_it_learns_another_separator_from_names_without_the_first() -> None:
    separators = Separators()

    separators.learn([b"a:%d" % n for n in range(60)] + [b"img/%d" % n for n in range(40)] + [b"rare|x"])

    assert separators.chosen == (b":", b"/")
    assert separators.of(b"img/7") == b"/"


@pytest.mark.parametrize("names", [[], [b"plain", b"names"], [b""]])
def test_it_learns_no_separator_where_names_have_none(names: list[bytes]) -> None:
    separators = Separators()

    separators.learn(names)

    assert separators.chosen == ()
    assert separators.of(b"a:b") == b""


@pytest.mark.parametrize(
    ("shape", "depth", "expected"),
    [(b"a:b:c", 3, b"a:b:c"), (b"a:b:c", 2, b"a:b:"), (b"a:b:", 2, b"a:b:"), (b"a:::::", 3, b"a:::"), (b"a", 1, b"a")],
)
def test_it_cuts_off_what_is_too_deep(shape: bytes, depth: int, expected: bytes) -> None:
    assert cut(shape, b":", depth) == expected


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (b"12345", b"*"),
        (b"user", b"user"),
        (b"user42", b"user*"),
        (b"page2of10", b"page*of*"),
        (b"{42}", b"{*}"),
        (b"550e8400-e29b-41d4-a716-446655440000", b"*"),
        (b"d41d8cd98f00b204e9800998ecf8427e", b"*"),
        (b"2024-01-15", b"*-*-*"),
        (b"a1b2c3d4", b"*"),
        (b"Zx81kd92Lq7pT", b"*"),
        (b"feed", b"feed"),
        (b"v2", b"v*"),
        (b"", b""),
        (b"\xff\x00", b"\xff\x00"),
    ],
)
def test_it_takes_ids_for_one(piece: bytes, expected: bytes) -> None:
    assert label(collapse(piece)) == expected


def test_it_cuts_a_long_part() -> None:
    assert label(b"x" * 500) == b"x" * (LABEL_LIMIT - 1) + b"*"


@given(st.text("ab0Z-", min_size=1, max_size=12), st.lists(st.integers(1, 10**30), min_size=12, max_size=12))
def test_it_gives_names_that_differ_in_their_numbers_one_label(pattern: str, numbers: list[int]) -> None:
    pattern = re.sub("0+", "0", pattern)
    filled = "".join(str(numbers[at]) if c == "0" else c for at, c in enumerate(pattern))

    assert label(collapse(filled.encode())) == label(pattern.encode())


@given(st.lists(st.binary(max_size=300), max_size=30))
def test_it_shapes_every_name_of_a_batch_whatever_its_bytes(names: list[bytes]) -> None:
    assert [collapse(name) for name in names] == shapes_of(names)


def test_it_does_not_copy_giant_names() -> None:
    shapes = shapes_of([b"x" * 524_288, b"a:1"])

    assert [len(shape) for shape in shapes] == [1_024, 3]
