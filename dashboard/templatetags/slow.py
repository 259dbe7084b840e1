"""Amounts of slow and command logs, in their log's unit."""

from __future__ import annotations

from urllib.parse import urlencode

from django import template

from collectors.slow_entry import Log
from collectors.slowlog import SlowGroup
from dashboard.slow_entries import seconds
from dashboard.templatetags.units import bytes_size, duration

register = template.Library()


@register.filter
def amount(value: int, log: str) -> str:
    """Return a time for the slow log, and a size for the others."""
    return duration(seconds(value)) if log == Log.SLOW else bytes_size(value)


@register.filter
def group_url(group: SlowGroup, address: str) -> str:
    """Return the address of the entries in a group; `address` is that of the page as it is filtered."""
    chosen = urlencode({"command": group.command, "prefix": group.key_prefix, "log": group.log})
    return f"{address}&{chosen}#entries"
