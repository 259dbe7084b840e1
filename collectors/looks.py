"""Looking at nodes beside the polls, over connections that are opened for it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import hiredis

from collectors.capabilities import Support
from collectors.connections import SETNAME, Link, ask, log_in, open_link
from collectors.failures import Cause, ReadError
from collectors.source import Command
from collectors.targets import NodeRow, Way


@asynccontextmanager
async def opened(node: NodeRow, way: Way, support: Support) -> AsyncIterator[Link]:
    """Yield a connection that is logged in, and named where the node knows names and allows that. Raise ReadError."""
    if way.broken:
        raise way.broken
    link = await open_link(node.host, node.port, way.context, way.dialect)
    try:
        await log_in(link, way.access)
        if way.dialect.names_connections and not support.is_refused(SETNAME):
            (reply,) = await ask(link, [SETNAME])
            support.note(SETNAME, reply)
        yield link
    finally:
        link.close()


@contextmanager
def noted(support: Support, command: Command) -> Iterator[None]:
    """Remember whether a node allows the command that the block asks it for."""
    try:
        yield
    except ReadError as failure:
        if failure.cause in {Cause.NO_PERMISSION, Cause.ERROR_REPLY}:
            support.note(command, hiredis.ReplyError(failure.words))
        raise
    support.note(command, b"")
