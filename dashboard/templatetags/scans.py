"""Bands of histograms in the unit of what was counted."""

from __future__ import annotations

from django import template

from dashboard.scans.found import Bar
from dashboard.templatetags.units import bytes_size, duration, grouped

register = template.Library()
WRITTEN = {"bytes": bytes_size, "time": duration, "length": grouped}


@register.filter
def band(bar: Bar, unit: str) -> str:
    """Return where a band begins and ends: 64 B to 128 B."""
    write = WRITTEN[unit]
    return write(0) if bar.below <= 1 else f"{write(bar.least)} – {write(bar.below)}"
