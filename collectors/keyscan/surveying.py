"""Where the shards of a scanned cluster are: as the cluster itself tells it now, ahead of the next poll."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import IntegrityError, connection, transaction

from collectors.backlog import AWAY
from collectors.connections import Access
from collectors.failures import Cause, ReadError
from collectors.keyscan.choosing import Known, shards_of
from collectors.keyscan.job import UnservedError
from collectors.keyscan.models import Scan, ScanShard
from collectors.keyscan.targets import Target, layout_of, serving
from collectors.layout import REPLICA, Layout, SeenNode, SeenShard, Slots
from collectors.steps import Step
from fleet.addresses import Address
from fleet.models import Cache

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Home:
    """A shard of the cluster with the node that is scanned for it, None where none may be."""

    number: int
    slots: Slots
    node: SeenNode | None
    node_id: int | None

    @property
    def target(self) -> Target | None:
        if self.node is None:
            return None
        is_replica = self.node.role == REPLICA
        return Target(self.node.host, self.node.port, str(self.number), is_replica, self.node_id, self.slots)


class Surveyor:
    """Looks again where one scan's shards are, and writes it into their rows. Called in threads of the engine's."""

    def __init__(self, scan: Scan, shards: list[ScanShard], access: Access) -> None:
        self.scan, self.shards, self.access = scan, shards, access

    def survey(self) -> list[Target]:
        """Return a node for each shard there is now.

        Raise ReadError where no server tells, UnservedError where slots are with nodes that may not be scanned.
        """
        try:
            with own_connection():
                return self._survey()
        except AWAY as error:
            raise ReadError(Step.LAYOUT, Cause.SILENT, error) from error

    def _survey(self) -> list[Target]:
        homes = self._homes()
        found = [target for home in homes if (target := home.target or self._walked(home))]
        if len(found) < len(homes):
            raise UnservedError
        numbers = {home.number for home in homes}
        for shard in [shard for shard in self.shards if shard.number not in numbers]:
            self.shards.remove(shard)
            shard.delete()
        for target in found:
            self._write(target)
        return found

    def _walked(self, home: Home) -> Target | None:
        """Return what was scanned for a shard that has no such node any more, where it has the same slots as then."""
        shard = next((one for one in self.shards if one.number == home.number and slots_of(one) == home.slots), None)
        if shard is None:
            return None
        host, port = place_of(shard)
        return Target(host, port, str(shard.number), shard.is_replica, shard.node_id, home.slots)

    def relocate(self, target: Target) -> Target | None:
        """Return who may be scanned for a lost node's slots; None where nobody. Raise ReadError as survey does."""
        try:
            with own_connection():
                found = serving(target, [other for home in self._homes() if (other := home.target)])
                if found is None or found.label == target.label:
                    return None
                self._write(found)
                return found
        except (UnservedError, *AWAY):
            return None

    def _homes(self) -> list[Home]:
        cache = Cache.objects.get(pk=self.scan.cache_id)
        layout = asyncio.run(layout_of(self._addresses(cache), self.access)) or Layout("", ())
        known = {(one.node.host, one.node.port): one for group in shards_of(cache).values() for one in group}
        homes: list[Home] = []
        for seen in layout.shards:
            if seen.slots:
                homes.append(self._home(seen, known, homes))
        return homes

    def _addresses(self, cache: Cache) -> list[Address]:
        seeds = cache.seeds()
        scanned = [Address(*place_of(shard), self.access.tls) for shard in self.shards]
        return [*seeds, *scanned]

    def _home(self, seen: SeenShard, known: Mapping[Place, Known], others: Sequence[Home]) -> Home:
        number = self._number(seen, known, others)
        node = self._chosen(seen, number, known)
        row = known.get((node.host, node.port)) if node else None
        return Home(number, seen.slots, node, row.node.pk if row else None)

    def _number(self, seen: SeenShard, known: Mapping[Place, Known], others: Sequence[Home]) -> int:
        """Return the number that we know a shard by, a new one where it is new."""
        rows = [known[place] for node in seen.nodes if (place := (node.host, node.port)) in known]
        numbers = [row.node.shard.number for row in rows if row.node.shard]
        taken = {home.number for home in others}
        for number in numbers:
            if number not in taken:
                return number
        every = {one.node.shard.number for one in known.values() if one.node.shard}
        return max(taken | every | {shard.number for shard in self.shards}, default=0) + 1

    def _chosen(self, seen: SeenShard, number: int, known: Mapping[Place, Known]) -> SeenNode | None:
        """Return the node that is scanned already where it still may be, else a replica, else an allowed primary."""
        may_use_primary = self.scan.asked.may_use_primary
        healthy = [node for node in seen.nodes if not node.is_failed]
        replicas = [node for node in healthy if node.role == REPLICA and is_fit(known.get((node.host, node.port)))]
        able = [*replicas, *(node for node in healthy if node.role != REPLICA and may_use_primary)]
        current = {place_of(shard) for shard in self.shards if shard.number == number}
        return next((node for node in able if (node.host, node.port) in current), able[0] if able else None)

    def _write(self, target: Target) -> None:
        """Bring a shard's row up to what is scanned for it from now on. Raise UnservedError where another scan does."""
        number = int(target.shard)
        shard = next((one for one in self.shards if one.number == number), None)
        if shard and shard.address == target.label and slots_of(shard) == target.slots:
            return
        shard = shard or ScanShard(scan=self.scan, number=number)
        shard.node_id, shard.address, shard.is_replica = target.node_id, target.label, target.is_replica
        # What was counted elsewhere counts no more: a cursor belongs to the node that gave it.
        shard.checkpoint = None
        shard.summary = {**shard.summary, "slots": [list(pair) for pair in target.slots]}
        try:
            with transaction.atomic():
                shard.save()
        except IntegrityError as error:
            raise UnservedError from error
        if shard not in self.shards:
            self.shards.append(shard)


@contextmanager
def own_connection() -> Iterator[None]:
    """Close the thread's connection to the database at the end."""
    try:
        yield
    finally:
        connection.close()


def is_fit(known: Known | None) -> bool:
    """Return whether a replica keeps up; of one that is too new to be known the scan's guards will tell."""
    return known is None or known.newest is None or known.keeps_up


def place_of(shard: ScanShard) -> Place:
    host, _colon, port = shard.address.rpartition(":")
    return host.strip("[]"), int(port)


def slots_of(shard: ScanShard) -> Slots:
    """Return the slots that a shard's walk is over; none outside of clusters."""
    return tuple((first, last) for first, last in shard.summary.get("slots", ()))
