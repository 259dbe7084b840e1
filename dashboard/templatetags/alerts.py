"""What every page says about alerts."""

from __future__ import annotations

from django import template

from alerts.models import Incident

register = template.Library()


@register.simple_tag
def open_incidents() -> int:
    """Return how many incidents are open, for the main navigation."""
    return Incident.objects.open().real().count()
