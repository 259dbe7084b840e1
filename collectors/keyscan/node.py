"""The scan of one node: connect, make sure who answers, walk its databases, and go on after a cut.

A cursor means something only to the process that gave it: where another run of the server answers, or the
node has another role than before, what was found there is thrown away and the walk begins anew.
"""

import asyncio
import time
from dataclasses import dataclass, field

from django.conf import settings

from collectors.connections import SETNAME, Link, ask, log_in, open_link
from collectors.failures import Cause, ReadError
from collectors.keyscan import abilities
from collectors.keyscan.abilities import Abilities
from collectors.keyscan.asker import Asker, Gate, Resting, StoppedError
from collectors.keyscan.guards import read_info
from collectors.keyscan.identity import PRIMARY, UNKNOWN, Identity, identity_of
from collectors.keyscan.job import Job
from collectors.keyscan.part import Part, Saved
from collectors.keyscan.pipe import Pipe
from collectors.keyscan.progress import State
from collectors.keyscan.targets import Target
from collectors.keyscan.warden import Warden
from collectors.keyscan.wire import pack
from collectors.protocol import INFO
from collectors.steps import Step

# The pauses between tries.
STOP_SECONDS = 0.5
RETRY_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)
# What may pass by itself.
PASSING = {
    Cause.UNKNOWN_HOST,
    Cause.RESOLVE_SLOW,
    Cause.REFUSED,
    Cause.UNREACHABLE,
    Cause.CONNECT_SLOW,
    Cause.MAX_CLIENTS,
    Cause.TLS_SLOW,
    Cause.TLS_EXPECTED,
    Cause.LOADING,
    Cause.PRIMARY_DOWN,
    Cause.IS_PRIMARY,
    Cause.BUSY,
    Cause.SILENT,
    Cause.CUT,
}


@dataclass(slots=True)
class NodeScan:
    """One node of a scan. Everything happens in the loop's thread."""

    target: Target
    job: Job
    gate: Gate = field(init=False)
    warden: Warden = field(init=False)
    state: State = State.WAITING
    failure: ReadError | None = None
    abilities: Abilities | None = None
    parts: list[Part] = field(default_factory=list)
    reconnects: int = 0
    restarts: int = 0
    # Since when, on the monotonic clock, its shard has no replica that may be read; None while it has one.
    bereft_since: float | None = None
    _pipe: Pipe | None = None

    def __post_init__(self) -> None:
        self.gate = Gate.of(self.job.control)
        self.warden = Warden(self.gate, self.job.limits, self._open)

    def resume(self, saved: Saved) -> None:
        """Go on from a checkpoint, unless another run of the server answers."""
        self.abilities = Abilities(identity=saved.identity)
        self.parts = list(saved.parts)

    @property
    def current(self) -> Part | None:
        return next((part for part in self.parts if not part.walk.is_done), self.parts[-1] if self.parts else None)

    @property
    def visited(self) -> int:
        """Return how far the walk is, in keys of the node."""
        return sum(part.walk.visited for part in self.parts)

    @property
    def moved(self) -> int:
        """Return how many keys were gone to another node before they could be measured."""
        return sum(part.walk.moved for part in self.parts)

    @property
    def shown_state(self) -> State:
        if self.state == State.WALKING and self.job.control.is_paused:
            return State.PAUSED
        return State.HELD if self.state == State.WALKING and self.gate.hold else self.state

    def check(self) -> None:
        """End what waits in vain: for a silent server, for one that is another by now, or when all is stopped."""
        pipe = self._pipe
        if pipe is None:
            return
        vitals, known = self.warden.watch.vitals, self.abilities
        waited = time.monotonic() - pipe.waiting_since if pipe.waiting_since else 0.0
        if self.job.control.is_stopped and waited > STOP_SECONDS:
            pipe.fail(StoppedError())
        elif waited > settings.POLL_COMMAND_TIMEOUT_SECONDS:
            pipe.fail(ReadError(Step.INFO, Cause.SILENT))
        elif vitals and known and known.identity.is_another(vitals.identity):
            pipe.fail(self._parting(vitals.identity))

    def _parting(self, now: Identity) -> ReadError:
        """Return why the walk ends at a server that is another by now."""
        is_promoted = now.role == PRIMARY and not self.job.may_use_primary
        return ReadError(Step.INFO, Cause.IS_PRIMARY if is_promoted else Cause.CUT)

    async def run(self) -> None:
        """Scan the node; the state says how it ended. It never raises."""
        tries, heard_of = 0, time.monotonic()
        while True:
            counted = self.visited
            failure = await self._attempt()
            if failure is None:
                return
            self.failure = failure
            if self.visited > counted:
                tries, heard_of = 0, time.monotonic()
            if failure.cause is Cause.IS_PRIMARY:
                self.bereft_since = self.bereft_since or time.monotonic()
            if self.bereft_since:
                # How long a replica is waited for is for those who watch the scan to say.
                heard_of = time.monotonic()
            if failure.cause not in PASSING or time.monotonic() - heard_of > self.job.patience_seconds:
                self.state = State.FAILED
                return
            self.state = State.RECONNECTING
            self.reconnects += 1
            if await self._is_stopped_within(RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)]):
                self.state = State.STOPPED
                return
            tries += 1
            await self._relocate()

    async def _attempt(self) -> ReadError | None:
        """Go as far as one connection carries. Return why it ended too early."""
        try:
            await self._go()
        except ReadError as failure:
            return failure
        except StoppedError:
            self.state = State.STOPPED
        else:
            self.state, self.failure = State.DONE, None
        return None

    async def _go(self) -> None:
        link = await self._open()
        try:
            found = await abilities.probe(link, self.target.is_replica)
            if found.identity.role == PRIMARY and not self.job.may_use_primary:
                raise ReadError(Step.INFO, Cause.IS_PRIMARY)
            self.bereft_since = None
            self._take_in(found)
            await self.warden.begin()
            self._pipe = Pipe(link)
            asker = Asker(self._pipe, self.gate)
            self.state = State.WALKING
            for part in self.parts:
                if not part.walk.is_done:
                    await self._pipe.drive(self._talk(asker, part))
            await self._pipe.drive(self._confirm(asker))
        finally:
            self.warden.end()
            link.close()
            if self._pipe:
                self._pipe.close()
                self._pipe = None

    def _talk(self, asker: Asker, part: Part) -> Resting:
        if asker.gate.wants_attention:
            # A node that comes back during a pause is not walked before the pause ends.
            yield from asker.attend()
        if part.db or len(self.parts) > 1:
            yield from asker.slice(pack("SELECT", part.db), 1, adapt=False)
        yield from part.walk.run(asker)

    def _confirm(self, asker: Asker) -> Resting:
        """Raise ReadError where the keys are others by now: a quick scan ends before any guard looks."""
        asker.write(pack(*INFO))
        (reply,) = yield 1
        now = identity_of(read_info(reply)) if isinstance(reply, bytes) else UNKNOWN
        known = self.abilities.identity if self.abilities else now
        if known.is_another(now) or known.lacks_copy(now):
            raise self._parting(now)

    async def _open(self) -> Link:
        link = await open_link(self.target.host, self.target.port, self.job.context)
        try:
            await log_in(link, self.job.access)
            await ask(link, [SETNAME])
        except BaseException:
            link.close()
            raise
        return link

    def _take_in(self, found: Abilities) -> None:
        """Go on with the walks where the same run of the server answers, else begin them anew."""
        before, self.abilities = self.abilities, found
        if self.parts and before and before.identity.is_same(found.identity):
            # What a replica copies stays known while its link is down.
            found.identity = before.identity
            for part in self.parts:
                part.allow(self.job, found)
            return
        self.restarts += bool(self.parts)
        self.parts = [
            Part.begin(self.job, self.target, found, db, total) for db, total in sorted(found.databases.items())
        ]

    async def _relocate(self) -> None:
        """Look where the shard is now; where nobody can say, it is tried where it was."""
        try:
            found = await asyncio.to_thread(self.job.relocate, self.target)
        except ReadError:
            return
        if found and found != self.target:
            self.target, self.abilities = found, None

    async def _is_stopped_within(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not self.job.control.is_stopped and time.monotonic() < end:
            await asyncio.sleep(min(0.1, seconds))
        return self.job.control.is_stopped
