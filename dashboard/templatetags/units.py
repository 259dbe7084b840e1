"""Numbers with their units, as people read them. static/js/units.js says the same in the browser."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

register = template.Library()

Number = int | float | None
NARROW_SPACE = "\u202f"
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
SHORT_UNITS = ("", "k", "M", "G", "T")


def is_missing(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


def missing(words: str = "") -> SafeString:
    return format_html('<span class="missing">{}</span>', words or _("not reported"))


def three_digits(value: float) -> str:
    """Return about three significant digits, without decimals where the value is whole."""
    size = abs(value)
    decimals = 0 if value == int(value) or size >= 99.95 else 1 if size >= 9.995 else 2
    return f"{value:.{decimals}f}"


def scaled(value: float, base: int, units: tuple[str, ...]) -> tuple[str, str]:
    """Return the digits and the unit, moving up where rounding would print 1000 or 1024."""
    index = 0
    while abs(value) >= base * 0.9995 and index < len(units) - 1:
        value /= base
        index += 1
    return three_digits(value), units[index]


@register.filter
def grouped(value: Number) -> str:
    """Return a whole number with thin spaces between its thousands: 12 345."""
    return f"{round(value):,}".replace(",", NARROW_SPACE) if value is not None and not is_missing(value) else missing()


@register.filter
def signed(value: Number) -> str:
    """Return a change of a whole number: +12, ±0, or with a true minus."""
    if value is None or is_missing(value):
        return missing()
    return f"{'+' if value > 0 else '−' if value < 0 else '±'}{grouped(abs(value))}"


@register.filter
def bytes_size(value: Number) -> str:
    """Return an amount of bytes in IEC units: 5.43 GiB."""
    if value is None or is_missing(value):
        return missing()
    digits, unit = scaled(float(value), 1024, BYTE_UNITS)
    return f"{digits}\u00a0{unit}"


@register.filter
def count(value: Number) -> str:
    """Return a number that may be large in short form: 950, 12.3k, 4.56M."""
    if value is None or is_missing(value):
        return missing()
    return "".join(scaled(float(value), 1000, SHORT_UNITS)) if abs(value) >= 10_000 else small_count(float(value))


def small_count(value: float) -> str:
    if 0 < value < 0.005:
        return "<0.01"
    return grouped(value) if abs(value) >= 1000 else three_digits(round(value, 2))


@register.filter
def rate(value: Number, otherwise: str = "") -> str:
    """Return a number per second: 12.3k/s. `otherwise` says why there is none, where that is known."""
    return missing(otherwise) if is_missing(value) else _("%s/s") % count(value)


@register.filter
def bytes_rate(value: Number) -> str:
    return missing() if is_missing(value) else _("%s/s") % bytes_size(value)


@register.filter
def percent(value: Number, otherwise: str = "") -> str:
    """Return a ratio as a percentage that never rounds to 0% or 100% what is neither; else as `rate` does."""
    if value is None or is_missing(value):
        return missing(otherwise)
    points = float(value) * 100
    if 0 < points < 0.1:
        return "<0.1%"
    if 0 < points < 9.95:
        return f"{points:.1f}%"
    if 99 <= points < 100:
        return f"{math.floor(points * 10) / 10:.1f}%"
    return f"{points:.0f}%"


@register.filter
def fine_percent(value: Number) -> str:
    """Return a ratio that is often far below a percent: 0.042%."""
    if value is None or is_missing(value):
        return missing()
    points = float(value) * 100
    if points >= 9.995 or points == 0:
        return percent(value)
    return "<0.001%" if points < 0.001 else f"{points:.{3 if points < 0.0995 else 2}f}%"


@register.filter
def microseconds(value: Number) -> str:
    """Return a latency given in microseconds: 13 µs, 4.20 ms, 1.52 s."""
    if value is None or is_missing(value):
        return missing()
    if value < 999.5:
        return _("%s µs") % three_digits(round(value, 2))
    return _("%s ms") % three_digits(value / 1000) if value < 999_500 else _("%s s") % three_digits(value / 1_000_000)


@register.filter
def milliseconds(value: Number) -> str:
    return microseconds(value * 1000) if value is not None else missing()


@register.filter
def ratio(value: Number) -> str:
    """Return a plain ratio such as fragmentation: 1.12."""
    return missing() if value is None or is_missing(value) else f"{float(value):.2f}"


@register.filter
def duration(value: Number | timedelta) -> str:
    """Return a length of time in its two largest units: 2 h 5 min."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if seconds is None or is_missing(seconds):
        return missing()
    if 0 < seconds < 0.0001:
        return microseconds(seconds * 1_000_000)
    if seconds < 0.9995:
        return _("%s ms") % three_digits(round(seconds * 1000, 1))
    if seconds < 60:
        # Parts of a second matter to a reader only where there are few.
        return _("%s s") % (f"{seconds:.1f}".removesuffix(".0") if seconds < 9.95 else math.floor(seconds))
    return long_duration(math.floor(seconds))


def long_duration(seconds: int) -> str:
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 60:
        return _("%s min") % minutes
    if hours < 24:
        rest = minutes % 60
        return _("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": rest} if rest else _("%s h") % hours
    rest = hours % 24
    if days >= 10 or not rest:
        return _("%s d") % days
    return _("%(days)s d %(hours)s h") % {"days": days, "hours": rest}


@register.filter
def codes(names: Iterable[str]) -> SafeString:
    """Return names of a server's fields as code, with commas between them."""
    return format_html_join(", ", "<code>{}</code>", ((name,) for name in names))


@register.filter
def whole_seconds(value: Number) -> str:
    """Return a time that was counted in whole seconds: 0 is less than one."""
    return _("<1 s") if value == 0 else duration(value)


@register.filter
def exact_time(value: datetime | None) -> str:
    """Return the moment in the viewer's time zone: 2026-03-01 14:05:09 UTC."""
    return "" if not value else date_format(timezone.localtime(value), "Y-m-d H:i:s T")


@register.filter
def ago(value: datetime | None) -> str:
    """Return how long ago it was, as a <time> that static/js/page.js keeps counting."""
    if not value:
        return format_html('<span class="missing">{}</span>', _("never"))
    age = max(0, (timezone.now() - value).total_seconds())
    words = _("%s ago") % duration(math.floor(age)) if age >= 1 else _("now")
    return time_element(value, words, "ago")


@register.filter
def since(value: datetime | None) -> str:
    """Return how long it has lasted, as a <time>: 3 min."""
    if not value:
        return missing()
    age = max(0, (timezone.now() - value).total_seconds())
    return time_element(value, duration(max(1, math.floor(age))), "since")


def time_element(value: datetime, words: str, kind: str) -> SafeString:
    moment, title = value.isoformat(timespec="seconds"), exact_time(value)
    return format_html('<time datetime="{}" title="{}" data-count="{}">{}</time>', moment, title, kind, words)


@register.simple_tag
def unit_words() -> dict[str, str]:
    """Return the words that static/js/units.js needs, by the name of their data attribute."""
    return {
        "missing": _("not reported"),
        "per-second": _("%s/s"),
        "microseconds": _("%s µs"),
        "milliseconds": _("%s ms"),
        "seconds": _("%s s"),
        "minutes": _("%s min"),
        "hours": _("%s h"),
        "hours-minutes": _("%(hours)s h %(minutes)s min"),
        "days": _("%s d"),
        "days-hours": _("%(days)s d %(hours)s h"),
        "ago": _("%s ago"),
        "now": _("now"),
    }
