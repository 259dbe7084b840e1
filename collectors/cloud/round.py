"""Comparing one listing with what was known of a project's product."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from collectors.cloud import adoption
from collectors.cloud.feed import CloudPlace
from collectors.cloud.models import CloudInstance, Decision, InstanceState
from collectors.cloud.products import Product
from collectors.cloud.snapshots import AUTHORITY, facts

if TYPE_CHECKING:
    from collectors.cloud.listing import Listing, Seen
    from collectors.cloud.models import CloudProject

# Products whose uid is the service's own; of the others it is the time of creation.
WITH_UID = (Product.REDIS_CLUSTER, Product.VALKEY)


@dataclass(slots=True)
class Round:
    """What one listing of one product changes. To be stored in a transaction that holds the project's row."""

    project: CloudProject
    listing: Listing
    now: datetime
    _rows: dict[tuple[str, str], CloudInstance] = field(default_factory=dict)
    _met: set[int] = field(default_factory=set)

    def store(self) -> None:
        rows = self.project.instances.filter(product=self.listing.product)
        for row in rows.select_related("cache", "project").defer("snapshot"):
            self._rows[row.name, row.uid] = row
        for seen in self.listing.seen:
            self._meet(seen)
        rows.filter(pk__in=self._met).update(seen_at=self.now)
        if self.listing.error is None:
            for row in list(self._rows.values()):
                self._miss(row)

    def _meet(self, seen: Seen) -> None:
        row = self._rows.get((seen.name, seen.uid)) or self._renamed(seen)
        if row is None:
            row = self._add(seen)
        elif row.gone_at or (row.fingerprint, row.name) != (seen.fingerprint, seen.name):
            self._change(row, seen)
        self._met.add(row.pk)

    def _renamed(self, seen: Seen) -> CloudInstance | None:
        """Return the row of an instance that is listed under another name now."""
        if self.listing.product not in WITH_UID or not seen.uid:
            return None
        names = {one.name for one in self.listing.seen}
        same = (row for row in self._rows.values() if row.uid == seen.uid and not row.gone_at)
        return next((row for row in same if row.name not in names), None)

    def _add(self, seen: Seen) -> CloudInstance:
        row = CloudInstance(project=self.project, product=self.listing.product, first_seen_at=self.now)
        self._fill(row, seen)
        row.save(force_insert=True)
        old = self._namesake(seen)
        self._end_namesakes(seen)
        self._rows[seen.name, seen.uid] = row
        if old and adoption.hand_over(old, row):
            self._succeed(old, row)
            return row
        # What was decided on it in another project of ours counts here, too.
        decision = adoption.decided_elsewhere(row)
        if not decision and adoption.wants(self.project, row.short_id, row.snapshot.get("labels", {})):
            decision = Decision.APPROVED
        if decision:
            row.decision = decision
            row.save(update_fields=("decision",))
        return row

    def _namesake(self, seen: Seen) -> CloudInstance | None:
        """Return the row with the cache of an instance that had this name before, in this project or another one."""
        own = (row for row in self._rows.values() if row.name == seen.name and row.cache)
        rows = CloudInstance.objects.filter(product=self.listing.product, name=seen.name, cache__isnull=False)
        return next(own, None) or rows.exclude(uid=seen.uid).select_related("cache", "project").first()

    def _end_namesakes(self, seen: Seen) -> None:
        """What had the name before is gone, for every project: one that looks later must make no cache of it."""
        rows = CloudInstance.objects.present().filter(product=self.listing.product, name=seen.name)
        rows.exclude(uid=seen.uid).update(gone_at=self.now, state=InstanceState.GONE)
        for row in self._rows.values():
            if row.name == seen.name:
                row.gone_at, row.state = row.gone_at or self.now, InstanceState.GONE

    def _succeed(self, old: CloudInstance, row: CloudInstance) -> None:
        """Recreated under the same name: what people made of the one before goes on."""
        # Charts go on from where its figures ended.
        CloudPlace.objects.filter(instance=old).update(instance=row)
        adoption.resume(row, "recreated", self.now)
        adoption.follow(row)

    def _change(self, row: CloudInstance, seen: Seen) -> None:
        was_gone, was_named = row.gone_at is not None, row.name
        del self._rows[row.name, row.uid]
        self._fill(row, seen, row.snapshot.get(AUTHORITY))
        self._rows[row.name, row.uid] = row
        row.save()
        if was_gone:
            adoption.resume(row, "returned", self.now)
        if was_named != row.name and row.cache:
            adoption.note(row, "renamed", self.now)
        adoption.follow(row)

    def _fill(self, row: CloudInstance, seen: Seen, authority: Any = None) -> None:
        row.name, row.uid, row.region, row.short_id = seen.name, seen.uid, seen.region[:64], seen.short_id[:100]
        row.snapshot = seen.snapshot() | ({AUTHORITY: authority} if authority else {})
        found = facts(row.product, row.snapshot)
        row.state, row.state_name, row.fingerprint = found.state, found.state_name[:40], seen.fingerprint
        row.seen_at = row.changed_at = self.now
        row.gone_at = None

    def _miss(self, row: CloudInstance) -> None:
        if row.pk not in self._met and row.gone_at is None and self._missed_before(row):
            self._gone(row)
            # It may be only this project's account that does not see it any more.
            if not (row.cache and adoption.pass_on(row, since=row.seen_at)):
                adoption.part(row, self.now)

    def _missed_before(self, row: CloudInstance) -> bool:
        """Return whether this listing and the one before were complete for its region and did not name it."""
        before = self.project.state.get(self.listing.product, {})
        regions = {*self.listing.unreachable, *before.get("unreachable", ())}
        if not before.get("ok") or row.region in regions:
            return False
        return row.seen_at < datetime.fromisoformat(before["at"])

    def _gone(self, row: CloudInstance) -> None:
        row.gone_at, row.state = row.gone_at or self.now, InstanceState.GONE
        row.save(update_fields=("gone_at", "state"))
