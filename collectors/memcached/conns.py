"""`stats conns`: the connections of a Memcached, one by one, and as lines of a client list.

One of its threads writes about 140 bytes a connection, 2 usec each; the others serve on. Names, users and the size of
buffers are not told.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from collectors.memcached.lines import AFTER, BEFORE
from collectors.protocol import Command

CONNS: Command = ("stats", "conns")
SINCE_LAST, STATE, LISTENING = b"secs_since_last_cmd", b"state", b"conn_listening"
UNIX, UDP = b"unix", b"udp"


def clients_in(lines: Sequence[bytes]) -> list[dict[bytes, bytes]]:
    """Return the fields of each connection; those that listen are no clients."""
    found: dict[bytes, dict[bytes, bytes]] = defaultdict(dict)
    for line in lines:
        number, _, rest = line.removeprefix(BEFORE).partition(b":")
        field, _, text = rest.partition(AFTER)
        if number.isdigit() and text:
            found[number][field] = text
    return [fields for fields in found.values() if fields.get(STATE) != LISTENING]


def client_lines(reply: bytes) -> Iterator[bytes]:
    """Yield each client as CLIENT LIST would tell it, so that one reader serves both."""
    for fields in clients_in(reply.splitlines()):
        kind, _, place = fields.get(b"addr", b"").partition(b":")
        if kind == UNIX:
            place = b"unix:/"
        # A UDP socket serves everybody; nobody holds it.
        if not place or kind.startswith(UDP) or b" " in place:
            continue
        state = fields.get(STATE, b"").removeprefix(b"conn_").split(b" ")[0]
        idle = fields.get(SINCE_LAST, b"").split(b" ")[0]
        yield b"addr=%s idle=%s cmd=%s" % (place, idle, state)
