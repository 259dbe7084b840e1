"""The contract of sources: what a server is asked, and how its replies become readings.

A source stands for one command, or a few that belong together. One instance is made for each node and lives
as long as we watch it, so it may remember where things stood in the last reply to read the next one
faster. It never opens a connection, sends, logs, or touches the database; collectors/poll.py does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from collectors.layout import Layout
from collectors.metrics.hot import HOT
from collectors.protocol import Command as Command
from collectors.protocol import Reply as Reply
from collectors.tallies import Tally
from fleet.engines import Engine

Value: TypeAlias = int | float | bool | None


@dataclass(slots=True)
class Standing:
    """What is known of a node's kind so far; it decides which sources are of use."""

    engine: str = Engine.UNKNOWN
    version: tuple[int, ...] = ()
    valkey_version: tuple[int, ...] = ()
    in_cluster: bool | None = None
    reports_limits: bool | None = None
    is_primary: bool | None = None


@dataclass(frozen=True, slots=True)
class ReplicaSeen:
    """A replica as its primary sees it: offset in bytes, and seconds since it acknowledged (None: not told)."""

    host: str
    port: int
    offset: int | None
    lag_seconds: int | None


@dataclass(frozen=True, slots=True)
class SlowCall:
    """An entry of a server's log: usec or bytes of one command, which is kept without its arguments."""

    log: str
    entry_id: int
    started_at: int
    amount: int
    command: str
    arguments: int
    key_prefix: str


@dataclass(frozen=True, slots=True)
class Spike:
    """The longest time, in milliseconds, that an event held a server up within one second (Unix time)."""

    event: str
    at: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """What one slot holds, and what it took since the server began to count; None where it does not count."""

    slot: int
    keys: int | None = None
    cpu_usec: int | None = None
    bytes_in: int | None = None
    bytes_out: int | None = None


@dataclass(slots=True)
class Readings:
    """What one source made of its replies.

    `hot` follows HOT_NAMES, None where this source has nothing to say. `facts` holds only texts that are
    new or changed since the last poll. A `layout` is the whole cache's, as the node sees it. `tallies` are
    counts by kind and name since this source's reply before; the first reply gives none. `slow_calls` and
    `spikes` are those that its reply before did not hold. `slots` is None where nobody asked for them.
    """

    hot: list[Value] | None = None
    detail: dict[str, float] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    replicas: Sequence[ReplicaSeen] = ()
    layout: Layout | None = None
    tallies: dict[str, dict[str, Tally]] = field(default_factory=dict)
    slow_calls: Sequence[SlowCall] = ()
    spikes: Sequence[Spike] = ()
    slots: Sequence[SlotLoad] | None = None


def empty_row() -> list[Value]:
    return [None] * len(HOT)


class Source:
    """Base of the sources. Say in the docstring which command it sends and what that costs the server."""

    # Short name, unique among the sources.
    name: str = ""
    # Servers that answer these commands, and since which version of Redis.
    engines: tuple[str, ...] = (Engine.REDIS, Engine.VALKEY)
    since: tuple[int, ...] = ()
    # True where one answering node speaks for the whole cache.
    once_a_cache: bool = False
    # Asked only where all of these are refused.
    instead_of: tuple[Command, ...] = ()
    # True for the one whose reply tells what kind of server a node is, and how it stands among the others.
    tells_kind: bool = False

    def every(self) -> int:
        """Return the seconds between two runs; 0 is every poll."""
        return 0

    def wanted(self, standing: Standing) -> bool:
        """Return whether a node of this kind is worth asking."""
        return not standing.engine or standing.engine in self.engines

    def commands(self) -> tuple[Command, ...]:
        """Return the commands to send, the same ones from one call of parse to the next."""
        raise NotImplementedError

    def forget(self) -> None:
        """Compare the next reply with none before: the server restarted."""
        return

    def parse(self, replies: Sequence[Reply]) -> Readings:
        """Return the readings in the replies, one reply a command and in their order.

        An error reply is the host's matter: this is not called with one unless other replies are good.
        Whatever cannot be read is left out; it never raises for bad input.
        """
        raise NotImplementedError
