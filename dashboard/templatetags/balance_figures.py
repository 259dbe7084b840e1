"""Figures of shards, each in its unit."""

from __future__ import annotations

from django import template

from dashboard.balance import MEASURES, Figure, ShardLoad
from dashboard.templatetags.units import bytes_rate, bytes_size, grouped, percent, rate
from fleet.engines import Abilities

register = template.Library()
# In the order of dashboard.balance.MEASURES.
WRITERS = (grouped, bytes_size, rate, percent, grouped, bytes_rate)


@register.filter
def figure_texts(shard: ShardLoad, abilities: Abilities) -> list[tuple[str, Figure]]:
    """Return what the servers can tell; the time of the main thread says nothing of servers with many."""
    figures = zip(MEASURES, WRITERS, shard.figures, strict=True)
    return [
        (write(figure.value), figure)
        for measure, write, figure in figures
        if abilities.one_thread or measure != "main_thread_cpu_ratio"
    ]
