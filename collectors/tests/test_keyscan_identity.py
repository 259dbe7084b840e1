"""Whether a node still shows the keys whose scan began."""

import socket
from collections.abc import Callable

import pytest

from collectors.keyscan import part
from collectors.keyscan.identity import Identity, identity_of
from collectors.keyscan.progress import State
from collectors.keyscan.scan import Scan
from collectors.keyscan.targets import Target
from collectors.tests.keyscan import found_in, job
from collectors.tests.peers import OK, Peer, Script, bulk, commands

PRIMARY = Identity("run", "master")
REPLICA = Identity("run", "slave", "history")
CUT_OFF = Identity("run", "slave")
UP, DOWN = "master_link_status:up", "master_link_status:down"


def info(*lines: str) -> dict[str, str]:
    return dict(line.split(":") for line in lines)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("run_id:run", "role:master", "master_replid:history"), PRIMARY),
        (("run_id:run", "role:slave", "master_replid:history", UP), REPLICA),
        (("run_id:run", "role:slave", "master_replid:history", DOWN), CUT_OFF),
        ((), Identity()),
    ],
)
def test_it_knows_what_a_node_copies(lines: tuple[str, ...], expected: Identity) -> None:
    assert identity_of(info(*lines)) == expected


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (PRIMARY, Identity("other", "master")),
        (PRIMARY, REPLICA),
        (PRIMARY, CUT_OFF),
        (REPLICA, PRIMARY),
        (REPLICA, Identity("run", "slave", "another history")),
        # A new replica still had its own keys; now the copy has come.
        (CUT_OFF, REPLICA),
    ],
)
def test_it_tells_another_from_the_one_before(before: Identity, now: Identity) -> None:
    assert before.is_another(now)
    assert not before.is_same(now)


@pytest.mark.parametrize(("before", "now"), [(PRIMARY, PRIMARY), (REPLICA, REPLICA), (REPLICA, CUT_OFF)])
def test_it_takes_a_lost_link_for_no_change(before: Identity, now: Identity) -> None:
    assert before.is_same(now)
    assert not before.is_another(now)


@pytest.mark.parametrize(("before", "now"), [(PRIMARY, Identity()), (Identity(), PRIMARY), (Identity(), Identity())])
def test_it_claims_nothing_of_who_does_not_tell(before: Identity, now: Identity) -> None:
    assert not before.is_another(now)
    assert not before.is_same(now)


REPLIES = {
    "SCAN": b"*2\r\n" + bulk(b"0") + b"*1\r\n" + bulk(b"key"),
    "MEMORY": b":70\r\n",
    "TYPE": b"+string\r\n",
    "PTTL": b":-1\r\n",
    "OBJECT": bulk(b"raw"),
    "STRLEN": b":20\r\n",
    "CLIENT": OK,
    "PING": b"+PONG\r\n",
}


def tells(*infos: bytes) -> Script:
    """Return a script with one key that tells a scan this of itself, one after the other; guards learn nothing."""
    left = list(infos)

    def script(connection: socket.socket) -> None:
        is_guard = False
        for words in commands(connection):
            is_guard = is_guard or words[0] == "PING"
            if words[0] == "INFO" and not is_guard:
                reply = bulk(left.pop(0) if len(left) > 1 else left[0])
            else:
                reply = REPLIES.get(words[0], b"-ERR unknown command\r\n")
            connection.sendall(reply)

    return script


def shown(role: str, source: str = "", link: str = "up") -> bytes:
    lines = ["run_id:run", f"role:{role}", f"master_replid:{source}", f"master_link_status:{link}", "db0:keys=1"]
    return "\r\n".join(lines).encode()


PeerFactory = Callable[[Script], Peer]


def scanned(peer: PeerFactory, *infos: bytes, saved: bytes | None = None) -> Scan:
    """Return a scan that has run to its end, of a node that shows itself like this."""
    scan = Scan(job(), [Target("127.0.0.1", peer(tells(*infos)).port)])
    if saved:
        scan.resume({scan.nodes[0].target.label: saved})
    scan.run()
    return scan


def checkpoint_of(scan: Scan) -> bytes:
    saved = scan.checkpoint(scan.nodes[0].target.label)
    assert saved is not None
    return saved


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (shown("master"), shown("slave", "history")),
        (shown("slave", "own", link="down"), shown("slave", "history")),
        (shown("slave", "history"), shown("slave", "another")),
    ],
    ids=["new replica", "copy came", "other primary"],
)
def test_it_begins_anew_when_the_last_look_shows_another(peer: PeerFactory, before: bytes, now: bytes) -> None:
    scan = scanned(peer, before, now)

    assert (scan.nodes[0].state, scan.nodes[0].restarts) == (State.DONE, 1)
    assert found_in(scan).keys == 1


def test_it_ends_though_the_link_was_lost_meanwhile(peer: PeerFactory) -> None:
    scan = scanned(peer, shown("slave", "history"), shown("slave", "history", link="down"))

    assert (scan.nodes[0].state, scan.nodes[0].reconnects) == (State.DONE, 0)


def test_it_ends_where_nobody_says_who_answers(peer: PeerFactory) -> None:
    scan = scanned(peer, b"")

    assert (scan.nodes[0].state, scan.nodes[0].reconnects) == (State.DONE, 0)


def test_it_keeps_in_checkpoints_what_a_replica_copies(peer: PeerFactory) -> None:
    saved = checkpoint_of(scanned(peer, shown("slave", "history")))

    assert part.load(job(), saved).identity == REPLICA


def test_it_goes_on_from_a_checkpoint_while_the_link_is_down(peer: PeerFactory) -> None:
    saved = checkpoint_of(scanned(peer, shown("slave", "history")))

    scan = scanned(peer, shown("slave", "history", link="down"), shown("slave", "history"), saved=saved)

    assert (scan.nodes[0].state, scan.nodes[0].restarts, found_in(scan).keys) == (State.DONE, 0, 1)


def test_it_throws_a_checkpoint_of_another_history_away(peer: PeerFactory) -> None:
    saved = checkpoint_of(scanned(peer, shown("slave", "history")))

    scan = scanned(peer, shown("slave", "another"), saved=saved)

    assert (scan.nodes[0].state, scan.nodes[0].restarts, found_in(scan).keys) == (State.DONE, 1, 1)


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [
        (Identity("a", "slave"), Identity("a", "slave"), True),
        (Identity("a", "slave", "h"), Identity("a", "slave"), False),
        (Identity("a", "slave"), Identity("a", "slave", "h"), False),
        (Identity("a", "master"), Identity("a", "master"), False),
    ],
)
def test_a_replica_without_a_link_is_no_copy(known: Identity, now: Identity, expected: bool) -> None:
    assert known.lacks_copy(now) == expected
