"""Small pictures drawn on the server: icons, bars and sparklines. The CSP allows no style attribute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard import VERSION

register = template.Library()

SPARK_WIDTH, SPARK_HEIGHT = 100, 24
# A line that moves by less than this share of its value is drawn flat: noise must not look like news.
SPARK_LEAST_SPAN = 0.1


@register.simple_tag
def version() -> str:
    return VERSION


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """Return a symbol of templates/_icons.html; the words beside it carry the meaning."""
    return format_html('<svg class="icon {}" aria-hidden="true"><use href="#i-{}"/></svg>', css, name)


@register.simple_tag
def bar(ratio: float | None) -> SafeString:
    """Return a bar filled to the ratio; striped where there is nothing to divide by."""
    if ratio is None:
        return mark_safe('<svg class="bar bar-none" aria-hidden="true"><rect width="100%" height="100%"/></svg>')
    filled = f"{min(max(float(ratio), 0.0), 1.0) * 100:.1f}%"
    return format_html(
        '<svg class="bar bar-{}" aria-hidden="true"><rect width="100%" height="100%"/>'
        '<rect class="bar-fill" width="{}" height="100%"/></svg>',
        bar_level(float(ratio)),
        filled,
    )


def bar_level(ratio: float) -> str:
    return "critical" if ratio >= 0.95 else "warning" if ratio >= 0.8 else "ok"


@register.simple_tag
def sparkline(values: Sequence[float | None] | None, css: str = "") -> SafeString:
    """Return the values as a line, a gap for each None; an empty frame of the same size without values."""
    return format_html(
        '<svg class="spark {}" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true"><path d="{}"/></svg>',
        css,
        SPARK_WIDTH,
        SPARK_HEIGHT,
        spark_path(values or ()),
    )


def spark_path(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    span = max(high - low, abs(high) * SPARK_LEAST_SPAN) or 1.0
    floor = low - (span - (high - low)) / 2 if low else low
    step = SPARK_WIDTH / max(len(values) - 1, 1)
    return "".join(spark_points(values, floor, span, step))


def spark_points(values: Sequence[float | None], floor: float, span: float, step: float) -> Iterator[str]:
    pen_down, room = False, SPARK_HEIGHT - 4
    for index, value in enumerate(values):
        if value is not None:
            y = SPARK_HEIGHT - 2 - (value - floor) / span * room
            # A lone point between gaps would be invisible without its own stub of a line.
            yield f"{'L' if pen_down else 'M'}{index * step:.0f} {y:.1f}{'' if pen_down else 'h.01'}"
        pen_down = value is not None
