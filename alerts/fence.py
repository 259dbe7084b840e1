"""A fence around code of others in a process of its own: what it may reach, and that it leaves this machine alone.

Python itself asks before each connection, file and program (audit events), whatever package wants it.
"""

import errno
import os
import socket
import sys
import zoneinfo
from dataclasses import dataclass, field
from typing import Any, NoReturn

from alerts.reach import Reach

CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
PROGRAMS = frozenset(
    {
        "ctypes.dlopen",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    }
)
# Modules are read when they are first needed, time zones by their names; nobody's settings and keys are there.
READABLE = tuple(os.path.join(root, "") for root in (sys.prefix, sys.base_prefix, *zoneinfo.TZPATH))  # noqa: PTH118
WRITING = os.O_WRONLY | os.O_RDWR
resolve = socket.getaddrinfo


@dataclass
class Fence:
    """What is let through, and what was not: `refused` is a host, `forbidden` a file or an act."""

    reach: Reach
    refused: str = ""
    forbidden: str = ""
    # Addresses with their ports that belong to names which were allowed.
    _open: set[tuple[str, int]] = field(default_factory=set)

    def close(self) -> None:
        """Hold this process within the fence from now on; it cannot be taken away again."""
        sys.dont_write_bytecode = True
        socket.getaddrinfo = self.resolve
        sys.addaudithook(self.watch)

    def resolve(self, host: Any, port: Any, *rest: Any, **given: Any) -> list[Any]:
        """Return those addresses of a host that may be reached. Raise PermissionError where there is none."""
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
        found = [
            entry
            for entry in resolve(host, port, *rest, **given)
            if self.reach.allows(name, int(entry[4][1]), str(entry[4][0]))
        ]
        if not found:
            self._refuse(name)
        self._open |= {(str(entry[4][0]), int(entry[4][1])) for entry in found}
        return found

    def watch(self, event: str, given: tuple[Any, ...]) -> None:
        """Raise PermissionError at what the process may not do."""
        if event in CONNECTS:
            self._check_address(given[-1])
        elif event == "open":
            self._check_file(given[0], given[2])
        elif event in PROGRAMS:
            self._forbid(event)

    def _check_address(self, address: Any) -> None:
        # A message on a connection that is there names no address.
        if address is None:
            return
        if not isinstance(address, tuple):
            self._forbid("unix socket")
        text, port = str(address[0]), int(address[1])
        if (text, port) in self._open:
            return
        try:
            is_allowed = self.reach.allows("", port, text)
        except ValueError:
            # A name, which the system would resolve past us.
            is_allowed = False
        if not is_allowed:
            self._refuse(text)

    def _check_file(self, path: Any, flags: Any) -> None:
        if isinstance(path, int):
            return
        text = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - called for each file
        if not text.startswith(READABLE) or (flags or 0) & WRITING:
            self._forbid(text)

    def _refuse(self, host: str) -> NoReturn:
        self.refused = self.refused or host
        raise PermissionError(errno.EACCES, "This address is not allowed.")

    def _forbid(self, act: str) -> NoReturn:
        self.forbidden = self.forbidden or act
        raise PermissionError(errno.EACCES, "This is not allowed here.")
