"""Numbers of alerts in words, with their units, for messages that leave by any channel."""

import math

from django.utils.translation import gettext as _

from alerts.counted import counted

BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def figure(value: float | None, unit: str) -> str:
    """Return a value with its unit; what was not measured is said to be so."""
    if value is None:
        return _("not reported")
    if math.isinf(value):
        return _("never")
    if unit == "ratio":
        return f"{_short(value * 100)}%"
    if unit.startswith("bytes"):
        return _bytes(value) + unit.removeprefix("bytes")
    if unit == "seconds":
        return span(value)
    if unit == "claim":
        return _("yes") if value else _("no")
    return counted(_short(value), value, unit)


def _short(value: float) -> str:
    # From here on three digits would be rounded to 1e+03.
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _bytes(value: float) -> str:
    power = min(int(math.log(abs(value), 1024)), len(BINARY) - 1) if abs(value) >= 1 else 0
    return f"{_short(value / 1024**power)} {BINARY[power]}"


def span(seconds: float) -> str:
    """Return a time in its two largest units, such as "2 h 5 min"; less than a second as such."""
    if 0 < seconds < 1:
        return _("%s ms") % _short(seconds * 1000)
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return _("%s s") % rest
    if minutes < 60:
        return (
            _("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": rest}
            if rest
            else _("%s min") % minutes
        )
    return _long_span(minutes)


def _long_span(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if hours < 24:
        return _("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": rest} if rest else _("%s h") % hours
    days, hours = divmod(hours, 24)
    return _("%(days)s d %(hours)s h") % {"days": days, "hours": hours} if hours else _("%s d") % days
