"""Figures of shards, each in its unit."""

from __future__ import annotations

from django import template

from dashboard.balance import Figure, ShardLoad
from dashboard.templatetags.units import bytes_rate, bytes_size, grouped, percent, rate

register = template.Library()
# In the order of dashboard.balance.MEASURES.
WRITERS = (grouped, bytes_size, rate, percent, grouped, bytes_rate)


@register.filter
def figure_texts(shard: ShardLoad) -> list[tuple[str, Figure]]:
    return [(write(figure.value), figure) for write, figure in zip(WRITERS, shard.figures, strict=True)]
