"""Scripted servers that speak Memcached's text protocol."""

import socket
from collections.abc import Mapping
from pathlib import Path

from collectors.tests.peers import Script


def answers(replies: Mapping[str, bytes], seen: list[str] | None = None) -> Script:
    """Return a script that answers each line by the first beginning that fits; any other one is an error."""

    def script(connection: socket.socket) -> None:
        for raw in connection.makefile("rb"):
            line = raw.decode("utf-8", "replace").strip()
            if seen is not None:
                seen.append(line)
            connection.sendall(next((reply for name, reply in replies.items() if line.startswith(name)), b"ERROR\r\n"))

    return script


def open_to_all(directory: Path) -> None:
    """Let a server that dropped its rights read the files in a directory of a test."""
    for folder in (directory, *list(directory.parents)[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    for file in directory.iterdir():
        file.chmod(file.stat().st_mode | 0o044)


def node_list(version: object, *entries: str) -> bytes:
    """Return the reply to `config get cluster`."""
    value = f"{version}\n{' '.join(entries)}\n".encode()
    return b"CONFIG cluster 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
