"""One database of one node, and the checkpoint that another process can go on from."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from collectors.keyscan.abilities import Abilities
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.fields import Fields
from collectors.keyscan.identity import Identity
from collectors.keyscan.job import Job
from collectors.keyscan.targets import Target
from collectors.keyscan.walk import Walk


@dataclass(slots=True)
class Part:
    """`total` is how many keys the server counted when the walk began."""

    db: int
    total: int
    walk: Walk

    @classmethod
    def begin(cls, job: Job, target: Target, found: Abilities, db: int, total: int) -> "Part":
        part = cls(db, total, Walk(job.plan, job.make_aggregate(target, db)))
        part.allow(job, found)
        return part

    def allow(self, job: Job, found: Abilities) -> None:
        """Ask only for what the node was found to allow."""
        self.walk.fields = Fields(set(job.wanted & found.fields), found.counts_uses)
        self.walk.has_memory = found.has_memory
        self.walk.notice = lambda details: job.notice(details)

    @property
    def aggregate(self) -> Aggregate:
        return self.walk.aggregate

    def header(self) -> dict[str, Any]:
        walk = self.walk
        left = [key.decode("latin-1") for key in walk.left()]
        return {
            "db": self.db,
            "total": self.total,
            "cursor": walk.cursor.decode(),
            "begun": walk.is_begun,
            "done": walk.is_done,
            "visited": walk.visited,
            "unreadable": walk.unreadable,
            "left": left,
        }

    @classmethod
    def restored(cls, job: Job, header: dict[str, Any], state: bytes) -> "Part":
        walk = Walk(job.plan, Aggregate.from_state(state))
        walk.cursor = header["cursor"].encode()
        walk.is_begun, walk.is_done = header["begun"], header["done"]
        walk.visited, walk.unreadable = header["visited"], header["unreadable"]
        if header["left"]:
            walk.unsized = [[key.encode("latin-1") for key in header["left"]]]
        return cls(header["db"], header["total"], walk)


@dataclass(frozen=True, slots=True)
class Saved:
    """What is kept of a node's scan: whose cursors they are, and the parts."""

    identity: Identity
    parts: Sequence[Part]


def dump(identity: Identity, parts: Iterable[Part]) -> bytes:
    """Return a checkpoint: lengths and headers as one line of JSON, then the aggregates as they dump themselves."""
    headers, states = [], []
    for part in parts:
        state = part.aggregate.state()
        headers.append({**part.header(), "bytes": len(state)})
        states.append(state)
    line = json.dumps({**asdict(identity), "parts": headers}).encode()
    return b"\n".join((line, b"".join(states)))


def load(job: Job, data: bytes) -> Saved:
    """Return what `dump` wrote. Raise ValueError or KeyError where it is something else."""
    line, _newline, rest = data.partition(b"\n")
    head = json.loads(line)
    parts, start = [], 0
    for header in head["parts"]:
        parts.append(Part.restored(job, header, rest[start : start + header["bytes"]]))
        start += header["bytes"]
    return Saved(Identity(head["run_id"], head["role"], head["source"]), parts)
