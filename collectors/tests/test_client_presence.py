"""Who is still connected, line by line."""

import pytest

from collectors.client_presence import Presence


def seen(*lines: str, wanted: frozenset[str] = frozenset({"10.0.0.1", "10.0.0.2:7", "pod-3", "::1"})) -> Presence:
    presence = Presence(wanted, own_address="10.0.0.1:99")
    for line in lines:
        presence.take(line.encode())
    return presence


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("id=1 addr=10.0.0.1:5 name= idle=3 flags=N cmd=get", {"10.0.0.1"}),
        ("id=1 addr=10.0.0.2:7 name= idle=3 flags=N cmd=get", {"10.0.0.2:7"}),
        ("id=1 addr=10.0.0.2:8 name= idle=3 flags=N cmd=get", set()),
        ("id=1 addr=10.9.9.9:8 name=pod-3 idle=3 flags=N cmd=get", {"pod-3"}),
        ("id=1 addr=[::1]:8 name= idle=3 flags=N cmd=get", {"::1"}),
        ("id=1 addr=10.0.0.1:5 name=pod-3 idle=3 flags=N cmd=get", {"10.0.0.1", "pod-3"}),
    ],
)
def test_it_knows_a_client_by_host_port_or_name(line: str, expected: set[str]) -> None:
    presence = seen(line)

    assert (set(presence.present), presence.connections) == (expected, 1)


@pytest.mark.parametrize(
    "line",
    [
        "id=1 addr=10.0.0.1:99 name= idle=0 flags=N cmd=client",
        "id=1 addr=10.0.0.1:5 name=shardwatch idle=0 flags=N cmd=info",
        "id=1 addr=10.0.0.1:5 name= idle=0 flags=S cmd=replconf",
        "id=1 addr=10.0.0.1:5 name= idle=0 flags=M cmd=set",
        "",
        "rubbish",
    ],
    ids=["ours", "named", "replica", "primary", "empty", "rubbish"],
)
def test_what_is_no_applications_does_not_count(line: str) -> None:
    presence = seen(line)

    assert (presence.present, presence.connections) == ({}, 0)


def test_the_connection_that_was_used_last_says_how_long_ago() -> None:
    lines = [f"id=1 addr=10.0.0.1:{idle} name= idle={idle} flags=N cmd={cmd}" for idle, cmd in [(9, "set"), (2, "get")]]

    (found,) = seen(*lines).present.values()

    assert (found.connections, found.idle, found.command) == (2, 2, "get")
