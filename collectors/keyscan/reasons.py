"""Why a scan began, changed, ended or was refused: causes with figures, put into words when somebody reads them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto
from typing import Any

from django.utils.translation import gettext_lazy as _


class Reason(StrEnum):
    ASKED = auto()
    SCHEDULED = auto()
    TAKEN_UP = auto()
    RESUMED = auto()
    HANDED_OVER = auto()
    WORKER_LOST = auto()
    BRAKE = auto()
    WINDOW_OVER = auto()
    BUDGET_SPENT = auto()
    SHARDS_FAILED = auto()
    SLOTS_MOVED = auto()
    ALL_WALKED = auto()
    CRASHED = auto()
    NO_NODES = auto()
    NO_REPLICA = auto()
    REPLICA_LAGS = auto()
    NODES_SILENT = auto()
    PROMOTED = auto()
    NODE_SCANNED = auto()
    NO_SUCH_SHARD = auto()
    NOT_NOW = auto()
    PAUSED_CACHE = auto()
    TOO_LONG = auto()
    IS_MEASURED = auto()
    NODE_BUSY = auto()
    NO_KEY_WALK = auto()


SENTENCES = {
    Reason.ASKED: _("asked for"),
    Reason.SCHEDULED: _("begun by its schedule"),
    Reason.TAKEN_UP: _("taken up by a worker"),
    Reason.RESUMED: _("taken up again, from the last checkpoint"),
    Reason.HANDED_OVER: _("the worker stopped and left the scan to another"),
    Reason.WORKER_LOST: _("the worker was lost"),
    Reason.BRAKE: _("brake set to %(brake)s"),
    Reason.WINDOW_OVER: _("the quiet window is over"),
    Reason.BUDGET_SPENT: _("the daily budget of %(address)s is spent: %(limit)d seconds of its time"),
    Reason.SHARDS_FAILED: _("not every shard could be walked to the end: %(count)d of %(shards)d are missing"),
    Reason.SLOTS_MOVED: _("slots kept moving between nodes: some keys may be missing"),
    Reason.ALL_WALKED: _("every shard was walked to the end"),
    Reason.CRASHED: _("the scan met errors of its own, again and again: %(count)d"),
    Reason.NO_NODES: _("The cache has no nodes yet: wait for its first poll."),
    Reason.NO_REPLICA: _("Shard %(shard)d has no replica in good order. Allow the scan to use primaries."),
    Reason.REPLICA_LAGS: _(
        "The replicas of shard %(shard)d are too far behind their primary. Wait, or allow the scan to use primaries."
    ),
    Reason.NODES_SILENT: _("No node of shard %(shard)d answers at present."),
    Reason.PROMOTED: _(
        "%(address)s, the replica that was read for shard %(shard)s, is a primary by now, and the shard has no other"
        " replica in good order. Resume the scan once it has one, or cancel it and start one that may use primaries."
    ),
    Reason.NODE_SCANNED: _("%(address)s is being scanned already, by scan %(scan)d."),
    Reason.NO_SUCH_SHARD: _("The cache has no shard %(shard)d."),
    Reason.NOT_NOW: _("The scan is %(state)s: that is not possible now."),
    Reason.PAUSED_CACHE: _("The cache is paused: nothing is asked of its servers. End the pause first."),
    Reason.TOO_LONG: _("The key has more than %(elements)d elements: its server would be busy with it for too long."),
    Reason.IS_MEASURED: _("The key is measured whole already, or its number of elements is not known."),
    Reason.NO_KEY_WALK: _("The servers of this cache have no command to walk through their keys."),
    Reason.NODE_BUSY: _("%(address)s has no time for it now: %(why)s."),
}


def words(cause: str, data: Mapping[str, Any]) -> str:
    """Return the sentence of a cause, the cause itself where a newer version wrote it."""
    try:
        return str(SENTENCES[Reason(cause)]) % data
    except (ValueError, KeyError, TypeError):
        return cause


class ScanRefusedError(Exception):
    """A scan cannot be started or changed now."""

    def __init__(self, cause: Reason, **data: Any) -> None:
        super().__init__(cause, data)
        self.cause, self.data = cause, data

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        return words(self.cause, self.data)
