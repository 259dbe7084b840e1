"""Advice about what servers write to disk. Silent where they do not tell."""

from __future__ import annotations

from collections.abc import Set

from django.utils.translation import gettext as _

from dashboard.findings.finding import Finding, notice, page_of, subject
from dashboard.watched import Watched


def append_only_failed(watched: Watched) -> Finding | None:
    """The last write to an append-only file failed: until one succeeds the server refuses writes (MISCONF).

    Does not apply where the file is off, nor to nodes that are silent.
    """
    sentence = _(
        "%(name)s cannot write its append-only file and refuses writes until it can (MISCONF): look for a full or"
        " broken disk"
    )
    return failure(watched, watched.past.append_failed, sentence, _("append-only file fails"))


def rewrite_failed(watched: Watched) -> Finding | None:
    """The last rewrite of an append-only file failed: it grows until one succeeds.

    Does not apply where the file is off, nor to nodes that are silent.
    """
    sentence = _(
        "%(name)s could not rewrite its append-only file, which grows until it can: look for too little disk, or too"
        " little memory to fork"
    )
    return failure(watched, watched.past.rewrite_failed, sentence, _("rewrite failed"))


def failure(watched: Watched, node_ids: Set[int], sentence: str, reason: str) -> Finding | None:
    """Return what failed on some nodes by the first of them that answers, a primary where there is one."""
    found = [node for node in watched.nodes if node.node.pk in node_ids and not node.is_failing]
    if not found:
        return None
    name = subject(watched, min(found, key=lambda node: not node.is_primary))
    page = page_of(watched, "cache-internals", "persistence")
    return notice(sentence % {"name": name}, reason, str(len(found)), "nodes", page)


ADVICE = (append_only_failed, rewrite_failed)
