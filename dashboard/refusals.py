"""Commands that nodes refuse, with their words: why a page has less to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from collectors.models import CommandSupport


@dataclass(frozen=True, slots=True)
class Refusal:
    """A command that `count` of `nodes` nodes refuse for the same reason, in the server's words."""

    command: str
    reason: str
    count: int
    nodes: int


def refusals(node_ids: Collection[int], commands: Iterable[str] | None = None) -> Sequence[Refusal]:
    """Return what nodes refuse of these commands, of all where none are named."""
    rows = CommandSupport.objects.filter(node_id__in=node_ids, state=CommandSupport.State.REFUSED)
    rows = rows if commands is None else rows.filter(command__in=commands)
    counts = Counter(rows.values_list("command", "reason"))
    return [Refusal(*pair, count, len(node_ids)) for pair, count in sorted(counts.items())]


def is_refused_by_all(command: str, refused: Iterable[Refusal]) -> bool:
    """Return whether every node refuses a command, for whatever reason."""
    found = [refusal for refusal in refused if refusal.command == command]
    return bool(found) and sum(refusal.count for refusal in found) >= found[0].nodes
