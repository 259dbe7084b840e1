"""Who would be told of an alert over a time, as the hours of routes come and go."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from alerts.route import Tree, Way

# A tree with very many hours is shown as far as this many of their beginnings and ends.
LIMIT = 60


@dataclass(frozen=True, slots=True)
class Spell:
    """A time during which an alert takes one way."""

    begins_at: datetime
    ends_at: datetime
    way: Way


def spells(tree: Tree, labels: Mapping[str, str], start: datetime, end: datetime) -> list[Spell]:
    """Return the ways that an alert with these labels would take, one after the other."""
    edges = [start, *sorted(set(tree.edges(labels, start, end)))]
    edges = [*edges[:LIMIT], edges[LIMIT] if len(edges) > LIMIT else end]
    found: list[Spell] = []
    for begins, ends in pairwise(edges):
        way = tree.way(labels, begins)
        if found and found[-1].way == way:
            begins = found.pop().begins_at
        found.append(Spell(begins, ends, way))
    return found
