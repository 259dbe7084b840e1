"""Small pictures drawn on the server: icons, bars and sparklines. The CSP allows no style attribute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard import VERSION

register = template.Library()

SPARK_STEP, SPARK_HEIGHT, SPARK_MARGIN = 2, 48, 3
# A line that moves by less than this share of its value is drawn flat: noise must not look like news.
SPARK_LEAST_SPAN = 0.1


@register.simple_tag
def version() -> str:
    return VERSION


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """Return a symbol of templates/_icons.html; the words beside it carry the meaning."""
    return drawn_icon(str(name), str(css))


@lru_cache(maxsize=200)
def drawn_icon(name: str, css: str) -> SafeString:
    return format_html('<svg class="icon {}" aria-hidden="true"><use href="#i-{}"/></svg>', css, name)


@register.simple_tag
def bar(ratio: float | None, may_alarm: bool = True) -> SafeString:
    """Return a bar filled to the ratio; pale where there is nothing to divide by.

    A bar that may not alarm keeps its calm colour: a cache that evicts is full by design.
    """
    level = "none" if ratio is None else bar_level(ratio) if may_alarm else "ok"
    filled = min(max(ratio or 0.0, 0.0), 1.0) * 100
    return mark_safe(  # noqa: S308 (made of numbers alone)
        f'<svg class="bar bar-{level}" aria-hidden="true"><rect width="100%" height="100%"/>'
        f'<rect class="bar-fill" width="{filled:.1f}%" height="100%"/></svg>'
    )


def bar_level(ratio: float) -> str:
    return "critical" if ratio >= 0.95 else "warning" if ratio >= 0.8 else "ok"


@register.simple_tag
def sparkline(values: Sequence[float | None] | None) -> SafeString:
    """Return the values as a line, a gap for each None; an empty frame of the same size without values."""
    path, width = spark_path(values or ()), max(len(values or ()) - 1, 1) * SPARK_STEP
    return mark_safe(  # noqa: S308 (made of numbers alone)
        f'<svg class="spark" viewBox="0 0 {width} {SPARK_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{path}"/></svg>'
    )


def spark_path(values: Sequence[float | None]) -> str:
    """Return the path in whole numbers, moving from point to point, which keeps pages small."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    span = max(high - low, abs(high) * SPARK_LEAST_SPAN) or 1.0
    # A line that hardly moves runs through the middle, one at zero along the floor.
    floor = low - (span - (high - low)) / 2 if low else low
    scale = (SPARK_HEIGHT - 2 * SPARK_MARGIN) / span
    base = SPARK_HEIGHT - SPARK_MARGIN + floor * scale
    return "".join(spark_steps([None if value is None else round(base - value * scale) for value in values]))


def spark_steps(heights: Sequence[int | None]) -> Iterator[str]:
    at = 0
    for is_known, run in groupby(heights, key=lambda height: height is not None):
        line = list(run)
        if is_known:
            # "h0" makes a dot of a lone point; round line ends give it its size.
            yield f"M{at * SPARK_STEP} {line[0]}{'h0' if len(line) == 1 else 'l'}"
            yield " ".join(moves([height for height in line if height is not None]))
        at += len(line)


def moves(line: Sequence[int]) -> Iterator[str]:
    """Return a step from each point to the next; equal ones are one long step."""
    for change, run in groupby(after - before for before, after in pairwise(line)):
        count = len(list(run))
        yield f"{count * SPARK_STEP}{'' if change < 0 else ' '}{count * change}"
