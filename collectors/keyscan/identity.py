"""Whose keys a node shows: by this it is told whether what was found there still counts."""

from collections.abc import Mapping
from dataclasses import dataclass

PRIMARY, REPLICA = "master", "slave"


@dataclass(frozen=True, slots=True)
class Identity:
    """A run of a server, its role, and of a replica the history that it copies. What is not known is empty.

    A replica whose link is down has no `source`: until the copy has come it shows the keys that it had.
    """

    run_id: str = ""
    role: str = ""
    source: str = ""

    def is_another(self, now: "Identity") -> bool:
        """Return whether the keys are others by now. A lost link says nothing; a link that came up does."""
        is_changed = any(a and b and a != b for a, b in ((self.run_id, now.run_id), (self.role, now.role)))
        return is_changed or now.source not in {"", self.source}

    def lacks_copy(self, now: "Identity") -> bool:
        """Return whether a replica that never had a link to its primary was read: its keys may be nobody's."""
        return now.role == REPLICA and not (self.source or now.source)

    def is_same(self, now: "Identity") -> bool:
        """Return whether a cursor of this one is good for `now`: both are known, and alike."""
        return bool(self.run_id and now.run_id) and self.role == now.role and not self.is_another(now)


UNKNOWN = Identity()


def identity_of(info: Mapping[str, str]) -> Identity:
    role = info.get("role", "")
    is_copy = role == REPLICA and info.get("master_link_status", "") == "up"
    return Identity(info.get("run_id", ""), role, info.get("master_replid", "") if is_copy else "")
