"""Keeps what is known, and renews it when it is due."""

from shardwatch_client import poll
from shardwatch_client.known import Known
from shardwatch_client.memory import Memory
from shardwatch_client.options import Default, Options
from shardwatch_client.state import Endpoint


class Keeper:
    """What one process knows. An outage of Shardwatch changes nothing: the last known values hold for ever."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._memory = Memory(options.directory, options.place)
        self.known = Known()

    def can_use(self, key: str) -> bool:
        state = self.known.states.get(key)
        return state.can_use if state is not None else self._default(key)

    def endpoint(self, key: str) -> Endpoint | None:
        state = self.known.states.get(key)
        return state.endpoint if state is not None else None

    def age_seconds(self, key: str) -> float | None:
        """Return for how long Shardwatch has not confirmed the switch; None where nothing was ever known."""
        state = self.known.states.get(key)
        return None if state is None else max(0.0, self.options.clock() - state.confirmed_at)

    def renew(self) -> bool:
        """Ask when it is due and nobody else asks; return whether this process is up to date."""
        now = self.options.clock()
        self.known = self.known.or_later(self._memory.load(), now)
        if not self.known.is_due(now):
            return True
        if not self._memory.take_turn(now):
            return False
        self.known = poll.run(self.options, self._memory, self.known, now)
        return True

    def _default(self, key: str) -> bool:
        if key not in self.options.caches:
            raise LookupError(f"{key!r} is not among the caches that the application named in its options.")
        return self.options.caches[key] is Default.OPEN
