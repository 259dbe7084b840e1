"""Words for groups of connections."""

from __future__ import annotations

from django import template

from dashboard.client_groups import ClientGroup, label_words

register = template.Library()


@register.filter
def group_label(group: ClientGroup, by: str) -> str:
    return label_words(group, by)
