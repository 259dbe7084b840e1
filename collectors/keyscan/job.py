"""What all nodes of one scan have in common."""

import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from collectors.connections import Access
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.control import Control
from collectors.keyscan.details import Detail
from collectors.keyscan.fields import NAMES
from collectors.keyscan.guards import Limits
from collectors.keyscan.targets import Target
from collectors.keyscan.walk import Plan


class UnservedError(Exception):
    """Slots are with nodes that may not be scanned."""


# How long nothing may come of a node before it is given up.
PATIENCE_SECONDS = 60.0


def stay(target: Target) -> Target:
    return target


def overlook(_details: Iterable[Detail]) -> None:
    return


@dataclass(slots=True)
class Job:
    """`relocate` says where the shard of a lost node is served now, `survey` which nodes there are now: slots may
    have moved during the scan. Both are called in a thread of their own and may raise ReadError, `survey` also
    UnservedError.

    Without `limits` the guards are set as the brake in use has them.
    """

    access: Access
    context: ssl.SSLContext | None
    plan: Plan
    control: Control
    make_aggregate: Callable[[Target, int], Aggregate]
    wanted: frozenset[str] = frozenset(NAMES)
    relocate: Callable[[Target], Target | None] = stay
    survey: Callable[[], Sequence[Target]] | None = None
    patience_seconds: float = PATIENCE_SECONDS
    limits: Limits | None = None
    # Without it a node that turns out to be a primary is left alone until a replica is there.
    may_use_primary: bool = True
    # Told of every key whose type was read.
    notice: Callable[[Iterable[Detail]], None] = overlook
