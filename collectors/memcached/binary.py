"""Memcached's binary protocol, as far as it tells why a server hangs up on a line of text.

A server with SASL (-S) or bound to this protocol (-B binary) says no word to others, just like one that wants TLS.
"""

import ssl
import struct

import hiredis

from collectors.connections import Link, ask, attach, reach, resolve
from collectors.dialect import MISSING, Dialect
from collectors.failures import Cause, ReadError, from_opening
from collectors.protocol import Command
from collectors.steps import Step

NOTHING: Command = ("noop",)
REQUEST, ANSWER = b"\x80\x0a" + bytes(22), b"\x81\x0a"
HEADER_BYTES, STATUS_PLACE = 24, 6
LOGIN_WANTED = 0x20


class BinaryReader:
    """Reads the status of answers to REQUEST."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def gets(self) -> object:
        """Return a status, MISSING while an answer is not whole. Raise hiredis.ProtocolError for what is none."""
        buffer = self._buffer
        if not ANSWER.startswith(buffer[:2]):
            raise hiredis.ProtocolError("not the binary protocol")
        if len(buffer) < HEADER_BYTES:
            return MISSING
        status, size = struct.unpack_from(">HL", buffer, STATUS_PLACE)
        if len(buffer) < HEADER_BYTES + size:
            return MISSING
        self._buffer = buffer[HEADER_BYTES + size :]
        return status


BINARY = Dialect(
    BinaryReader,
    lambda _commands: REQUEST,
    lambda _access: None,
    from_opening,
    Cause.CUT,
    NOTHING,
    Step.AUTH,
    Cause.NOT_STATS,
)


async def look_again(place: tuple[str, int], tls: ssl.SSLObject | None) -> ReadError | None:
    """Return why a server that hung up on us did so; None where it does not speak the binary protocol either."""
    host, port = place
    context, name = (tls.context, tls.server_hostname or host) if tls else (None, host)
    link: Link | None = None
    try:
        link = await attach(await reach(await resolve(host, port)), name, context, BINARY)
        (status,) = await ask(link, [NOTHING], Step.AUTH)
    except ReadError:
        return None
    finally:
        if link:
            link.close()
    return ReadError(Step.AUTH, Cause.SASL_EXPECTED if status == LOGIN_WANTED else Cause.BINARY_EXPECTED)
