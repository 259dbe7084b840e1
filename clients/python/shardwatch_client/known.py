"""All that an instance knows at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shardwatch_client import state
from shardwatch_client.state import State


@dataclass(frozen=True)
class Known:
    """The switches by key, and when to ask again."""

    states: Mapping[str, State] = field(default_factory=dict)
    etag: str = ""
    asked: float = 0.0
    due: float = 0.0
    failures: int = 0
    error: str = ""

    def is_due(self, now: float) -> bool:
        # What was asked later than now was asked before the clock was set back.
        return now >= self.due or now < self.asked

    def failed(self, error: str, now: float, due: float) -> "Known":
        return replace(self, error=error, asked=now, due=due, failures=self.failures + 1)

    def untagged(self, error: str) -> "Known":
        """Return it without the ETag: the answer is asked for in full again, so what was not kept is not skipped."""
        return replace(self, etag="", error=error)

    def or_later(self, other: "Known | None", now: float) -> "Known":
        """Return which of two records of the same instance to go on with."""
        return self if other is None or other.asked < self.asked <= now else other

    def copy(self) -> dict[str, Any]:
        """Return what must outlive everything."""
        return {"switches": [one.as_row() for one in self.states.values()], "etag": self.etag}

    def pulse(self) -> dict[str, Any]:
        """Return what changes with every question."""
        return {"asked": self.asked, "due": self.due, "failures": self.failures, "error": self.error}


def from_kept(kept: Mapping[str, Any]) -> Known:
    read = [state.read(row, float(row.get("confirmed_at", 0))) for row in kept.get("switches", ())]
    states = {one.key: one for one in read if one is not None}
    return Known(
        states,
        str(kept.get("etag", "")),
        float(kept.get("asked", 0)),
        float(kept.get("due", 0)),
        int(kept.get("failures", 0)),
        str(kept.get("error", "")),
    )
