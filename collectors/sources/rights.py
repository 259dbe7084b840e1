"""ACL DRYRUN: whether the default user may do everything. Since 7.0; 3 to 5 usec, once an hour.

Nothing is run, and unlike ACL GETUSER the reply holds no hashes of passwords.
"""

from collections.abc import Sequence

from collectors.source import Command, Readings, Reply, Source, Standing

# Who may change users may give itself any right.
MAY_CHANGE_USERS: Command = ("ACL", "DRYRUN", "default", "ACL", "SETUSER", "default")
EVERY_SECONDS = 3_600
ALL, LIMITED = "all", "limited"


class DefaultUser(Source):
    """What the user may do that clients are before they sign in as another one: a fact."""

    name = "default_user"
    since = (7, 0)

    def __init__(self) -> None:
        self._known = ""

    def every(self) -> int:
        return EVERY_SECONDS

    def wanted(self, standing: Standing) -> bool:
        return super().wanted(standing) and standing.version >= self.since

    def commands(self) -> tuple[Command, ...]:
        return (MAY_CHANGE_USERS,)

    def parse(self, replies: Sequence[Reply]) -> Readings:
        if not isinstance(replies[0], bytes):
            return Readings()
        rights = ALL if replies[0] == b"OK" else LIMITED
        if rights == self._known:
            return Readings()
        self._known = rights
        return Readings(facts={"default_user": rights})
