"""What differs on the wire between kinds of servers; connections, rounds and polls are the same for all of them."""

import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from collectors.failures import Cause, ReadError
from collectors.protocol import Command
from collectors.steps import Step

if TYPE_CHECKING:
    from collectors.connections import Access

# What a reader returns while a reply is not whole yet.
MISSING = object()


class Reader(Protocol):
    """Cuts what a server sends into replies; both methods may raise hiredis.HiredisError for what is none."""

    def feed(self, data: bytes) -> None:
        """Take in what came."""

    def gets(self) -> Any:
        """Return the next whole reply, MISSING where there is none; an error reply as hiredis.ReplyError."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One protocol: how commands are written, replies are read, and what failures mean."""

    reader: Callable[[], Reader]
    pack: Callable[[Sequence[Command]], bytes]
    # The command that signs in, None where no credentials are set.
    login: Callable[["Access"], Command | None]
    # What a beginning outside of the protocol means.
    opening: Callable[[bytes, Step], ReadError]
    # Likely when a server hangs up before its first word.
    closed_at_once: Cause
    # The command that every poll sends, and its step: a node that fails at it failed.
    vital: Command
    step: Step
    # Its answer came, and is none of its kind.
    nonsense: Cause
    # Refused until one has signed in. A server that answers it would take our credentials for data, and keep them.
    door: Command | None = None
    # Asks the server at an IP address and port once more why it hung up, where that may have several reasons.
    look_again: Callable[[tuple[str, int], ssl.SSLObject | None], Awaitable[ReadError | None]] | None = None
    names_connections: bool = True
    # Tells who is connected.
    connection_list: Command = ("CLIENT", "LIST")
    # Makes the lines of a client list of its whole reply. None: the reply is such a list, and is read as it comes.
    client_lines: Callable[[bytes], Iterable[bytes]] | None = None
