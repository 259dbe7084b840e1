"""A double of a MySQL server, as far as signing in and one list of variables go over the wire."""

import hashlib
import socket
import ssl
import struct
from collections.abc import Mapping

from collectors.tests.peers import Script

SALT = b"abcdefgh12345678abcd"
CAPABILITIES = 0x00000001 | 0x00000200 | 0x00002000 | 0x00008000 | 0x00080000
SPEAKS_TLS = 0x00000800
OK = b"\x00\x00\x00\x02\x00\x00\x00"
EOF = b"\xfe\x00\x00\x02\x00"
TEXT_COLUMN = 0xFD


def packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def lenenc(text: bytes) -> bytes:
    return bytes([len(text)]) + text if len(text) < 251 else b"\xfc" + struct.pack("<H", len(text)) + text


def column(name: bytes) -> bytes:
    names = b"".join(map(lenenc, (b"def", b"", b"", b"", name, name)))
    return names + b"\x0c" + struct.pack("<HIBHB", 33, 1_024, TEXT_COLUMN, 0, 0) + b"\x00\x00"


def greeting(more: int = 0) -> bytes:
    low, high = (CAPABILITIES | more) & 0xFFFF, CAPABILITIES >> 16
    head = b"\x0a8.0.36\x00" + struct.pack("<I", 7) + SALT[:8] + b"\x00" + struct.pack("<HBH", low, 33, 2)
    tail = struct.pack("<HB", high, 21) + b"\x00" * 10 + SALT[8:] + b"\x00mysql_native_password\x00"
    return packet(0, head + tail)


def scramble(password: str) -> bytes:
    once = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    twice = hashlib.sha1(once, usedforsecurity=False).digest()
    mask = hashlib.sha1(SALT + twice, usedforsecurity=False).digest()
    return bytes(a ^ b for a, b in zip(once, mask, strict=True))


def error(number: int, code: int, words: str) -> bytes:
    return packet(number, b"\xff" + struct.pack("<H", code) + b"#28000" + words.encode())


def result(variables: Mapping[str, str]) -> bytes:
    rows = [lenenc(name.encode()) + lenenc(value.encode()) for name, value in variables.items()]
    parts = [b"\x02", column(b"Variable_name"), column(b"Value"), EOF, *rows, EOF]
    return b"".join(packet(number, part) for number, part in enumerate(parts, start=1))


def exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes, fewer at the end; not one more, as a TLS handshake may follow."""
    data = b""
    while len(data) < size and (part := connection.recv(size - len(data))):
        data += part
    return data


def received(connection: socket.socket) -> bytes:
    head = exactly(connection, 4)
    return exactly(connection, int.from_bytes(head[:3], "little")) if len(head) == 4 else b""


def mysql(
    variables: Mapping[str, str],
    word: str = "secret",
    asked: list[str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Script:
    """Return the script of a server that knows these variables and this password, over TLS where it has a context."""

    def script(connection: socket.socket) -> None:
        connection.sendall(greeting(SPEAKS_TLS if tls else 0))
        login = received(connection)
        if tls:
            connection = tls.wrap_socket(connection, server_side=True)
            login = received(connection)
        number = 3 if tls else 2
        if scramble(word) not in login:
            connection.sendall(error(number, 1045, "Access denied for user 'watch'@'10.0.0.1' (using password: YES)"))
            return
        connection.sendall(packet(number, OK))
        while (sent := received(connection))[:1] == b"\x03":
            if asked is not None:
                asked.append(sent[1:].decode())
            connection.sendall(result(variables) if sent[1:].startswith(b"SHOW") else packet(1, OK))

    return script
