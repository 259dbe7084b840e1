"""Parts of events in the reader's language."""

from __future__ import annotations

from typing import Any

from django import template

from collectors.causes import sentence_of

register = template.Library()


@register.filter
def silence_reason(node: dict[str, Any]) -> str:
    """Return why a node of an event was silent; the English sentence where the event holds no cause."""
    return sentence_of(node["cause"], node.get("words", "")) if node.get("cause") else str(node.get("reason") or "")
