"""Lines of client lists: groups, bounds, hostile names; and the reader that never holds a list whole."""

import asyncio

import pytest

from collectors.client_list import BYS, GROUPS, LABEL_LIMIT, ROWS_BY, ClientList, idle_band, network_of
from collectors.failures import Cause, ReadError
from collectors.line_reply import LINE_LIMIT, LineReply

LINE = (
    "id={number} addr={addr} laddr=127.0.0.1:6379 fd=8 name={name} age={age} idle={idle} flags={flags} db=0 qbuf={qbuf}"
    " qbuf-free=20448 omem={omem} tot-mem=2000 events=r cmd=hgetall user={user} resp=2 lib-name={library} lib-ver=1.2"
)


def line(number: int = 1, **given: object) -> bytes:
    known: dict[str, object] = {
        "addr": f"10.1.{number % 200}.7:5000",
        "name": "shop",
        "age": 100,
        "idle": 5,
        "flags": "N",
    }
    known |= {"qbuf": 10, "omem": 0, "user": "default", "library": "phpredis"}
    return LINE.format(number=number, **known | given).encode()


def seen(*lines: bytes, own_address: str = "", own_name: str = "") -> ClientList:
    found = ClientList(own_address, own_name)
    for one in lines:
        found.take(one)
    return found


def test_it_groups_in_every_way() -> None:
    groups = seen(line(1), line(2, name="mail", idle=700, qbuf=30), line(1, idle=20)).groups()

    assert groups["name"] == [["shop", 2, 20, 0, 4000, 20], ["mail", 1, 30, 0, 2000, 700]]
    assert groups["user"] == [["default", 3, 50, 0, 6000, 700]]
    assert groups["library"][0][:2] == ["phpredis 1.2", 3]
    assert groups["command"][0][:2] == ["hgetall", 3]
    assert [row[:2] for row in groups["network"]] == [["10.1.1.0/24", 2], ["10.1.2.0/24", 1]]
    assert {row[0] for row in groups["idle"]} == {"0-10 s", "10-60 s", "10-60 min"}


def test_it_counts_our_own_and_replication_apart() -> None:
    found = seen(
        line(1, addr="10.0.0.9:41"),
        line(2, name="shardwatch"),
        line(3, flags="S"),
        line(4, flags="M"),
        line(5),
        own_address="10.0.0.9:41",
        own_name="shardwatch",
    )

    assert (found.connections, found.own, found.replication) == (1, 2, 2)


def test_it_adds_up_what_is_beyond_the_bound() -> None:
    found = seen(*[line(number, name=f"worker-{number}") for number in range(5_000)], *[line(1, name="big")] * 3)

    rows = found.groups()["name"]

    assert len(rows) == GROUPS + 1
    assert rows[-1][0] is None
    assert sum(row[1] for row in rows) == 5_003
    assert sum(row[2] for row in rows) == 50_030


def test_it_keeps_the_largest_idlest_and_oldest_rows() -> None:
    found = seen(*[line(number, age=number, idle=2_000 - number) for number in range(2_000)])

    ages = {row[5] for row in found.rows()}

    assert ages >= {0, 199, 1_999, 1_800}
    assert len(found.rows()) <= 3 * ROWS_BY
    assert 1_000 not in ages or len(ages) > 2 * ROWS_BY


def test_connections_over_one_unix_socket_stay_apart() -> None:
    found = seen(*[line(number, addr="/run/valkey.sock:0") for number in range(20)])

    assert found.groups()["network"] == [["unix socket", 20, 200, 0, 40_000, 5]]
    assert len(found.rows()) == 20


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "name=x",
        "\u202eevil",
        "a\x07b\x1b[31m",
        "x" * 100_000,
        "=" * 50,
        "日本語",
        "'\";--",
    ],
)
def test_hostile_names_are_cut_and_harmless(name: str) -> None:
    (row,) = seen(line(1, name=name, library=name, user=name)).groups()["name"]

    assert len(row[0]) <= LABEL_LIMIT
    assert row[0].isprintable()
    assert row[1:3] == [1, 10]


@pytest.mark.parametrize("junk", [b"", b"\r", b"OK", b"\x00\xff" * 50, b"addr", b"id=1 name=x", b"=" * 10_000])
def test_it_passes_over_what_is_no_client(junk: bytes) -> None:
    assert seen(junk).connections == 0


def test_numbers_that_are_none_are_not_reported() -> None:
    found = seen(b"addr=1.2.3.4:5 qbuf=many omem=-3 tot-mem= idle=" + b"9" * 40)

    assert found.groups()["name"] == [["", 1, None, None, None, None]]
    assert found.groups()["idle"][0][0] == idle_band(None) == ""


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.1.2.3:5000", "10.1.2.0/24"),
        ("[2001:db8:1:2:3::4]:5000", "2001:db8:1:2::/64"),
        ("[::ffff:10.1.2.3]:5000", "10.1.2.0/24"),
        ("[fe80::1%eth0]:1", "fe80::/64"),
        ("/run/valkey.sock:0", "unix socket"),
        ("somewhere:7", "somewhere"),
        ("", ""),
    ],
)
def test_it_names_networks(address: str, network: str) -> None:
    assert network_of(address) == network


def stream(*chunks: bytes) -> tuple[list[bytes], int]:
    """Return the lines that a reader hands over for these chunks, and the bytes it counted."""
    lines: list[bytes] = []

    async def run() -> int:
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        reader = LineReply(lines.append, done)
        for chunk in chunks:
            reader.data_received(chunk)
        reader.connection_lost(None)
        return await done

    return lines, asyncio.run(run())


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_the_reader_takes_chunks_of_any_size(size: int) -> None:
    reply = b"$11\r\nab\ncd\nefgh\n\r\n"

    lines, counted = stream(*[reply[start : start + size] for start in range(0, len(reply), size)])

    assert (lines, counted) == ([b"ab", b"cd", b"efgh", b""], 11)


def test_the_reader_keeps_the_beginning_of_an_endless_line() -> None:
    lines, _ = stream(b"$1000004\r\n", *[b"x" * 1000] * 1000, b"\nab\n")

    assert [len(found) for found in lines] == [LINE_LIMIT, 2, 0]


@pytest.mark.parametrize(
    ("chunks", "cause"),
    [
        ([b"-NOPERM this user has no permissions\r\n"], Cause.NO_PERMISSION),
        ([b"+OK\r\n"], Cause.GARBAGE),
        ([b"$-1\r\n"], Cause.GARBAGE),
        ([b"$99999999999999\r\n"], Cause.TOO_LONG),
        ([b"$" + b"9" * 5000], Cause.GARBAGE),
        ([b"x" * 5000], Cause.GARBAGE),
        ([b"$100\r\nid=1"], Cause.CUT),
        ([], Cause.CUT),
    ],
)
def test_the_reader_says_what_is_wrong(chunks: list[bytes], cause: Cause) -> None:
    with pytest.raises(ReadError) as caught:
        stream(*chunks)

    assert caught.value.cause is cause


def test_every_grouping_has_its_rows() -> None:
    assert set(seen(line()).groups()) == set(BYS)
