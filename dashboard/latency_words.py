"""What servers' latency events mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MEANINGS: dict[str, StrOrPromise] = {
    "command": _("A command took long: the slow log says which."),
    "fast-command": _(
        "A command that is always fast took long: the machine was busy, swapped, or the CPU is throttled."
    ),
    "fork": _("Copying the process for a save, an AOF rewrite or a full copy: longer with more memory."),
    "expire-cycle": _("Removing keys whose time was over: many ended at the same moment."),
    "expire-del": _("Freeing keys whose time was over: some are large."),
    "eviction-cycle": _("Making room because memory is full."),
    "eviction-del": _("Freeing evicted keys: some are large."),
    "eviction-lazyfree": _("Evictions waited for memory that is freed in the background."),
    "active-defrag-cycle": _("Active defragmentation moved memory."),
    "aof-write": _("Writing the append-only file: the disk is slow."),
    "aof-write-alone": _("Writing the append-only file, with nothing else going on: the disk is slow."),
    "aof-write-pending-fsync": _("Writing the append-only file while the disk was still flushing."),
    "aof-write-active-child": _("Writing the append-only file while a save or rewrite wrote too."),
    "aof-fsync-always": _("Flushing the append-only file at every write: the disk is slow."),
    "aof-fstat": _("Reading the size of the append-only file: the disk is slow."),
    "aof-rename": _("Putting the rewritten append-only file in place."),
    "aof-rewrite-diff-write": _("Adding what changed during a rewrite of the append-only file."),
    "rdb-unlink-temp-file": _("Removing the file of a save that did not end."),
    "while-blocked-cron": _("Background work while a script or a load blocked the server."),
    "command-unblocking": _("Serving a client that had waited for a key."),
    "module-acquire-GIL": _("A module's thread waited for the main thread."),
}
OTHER = _("Another part of the server took long.")


def meaning_of(event: str) -> StrOrPromise:
    return MEANINGS.get(event, OTHER)
