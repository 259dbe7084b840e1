"""Amounts as people write them: 30%, 1.5 GiB, 200 ms; each in the unit of its metric."""

import re

from django.utils.translation import gettext as _

AMOUNT = re.compile(r"([-+]?[0-9.]{1,40}(?:e[-+]?[0-9]{1,3})?) {0,3}([%a-zµμ]{0,5})(?:/s)?", re.IGNORECASE)
# What one of each is: so many of the smallest, so that no division is needed before the last one.
BYTES = {"b": 1} | {f"{letter}b": 10 ** (3 * power) for power, letter in enumerate("kmgtp", 1)}
BYTES |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgtp", 1)}
MICROSECONDS = {"us": 1, "µs": 1, "μs": 1, "ms": 1_000, "s": 10**6, "m": 6 * 10**7, "min": 6 * 10**7}
MICROSECONDS |= {"h": 3_600 * 10**6, "d": 86_400 * 10**6}
# By the unit of a metric: the words that may follow a number, and how many of the smallest the unit is.
KNOWN: dict[str, tuple[dict[str, int], int]] = {
    "ratio": ({"%": 1}, 100),
    "percent": ({"%": 1}, 1),
    "bytes": (BYTES, 1),
    "kilobytes": (BYTES, 1_000),
    "microseconds": (MICROSECONDS, 1),
    "milliseconds": (MICROSECONDS, 1_000),
    "seconds": (MICROSECONDS, 10**6),
}


def amount_of(text: str, unit: str) -> float:
    """Return what a text means in a metric's unit. Raise ValueError, in words for people, where it is no amount."""
    base = unit.removesuffix("/s")
    found = AMOUNT.fullmatch(text.strip())
    words, smallest = KNOWN.get(base, ({}, 1))
    word = found[2].lower() if found else ""
    if found is None or (word and word not in words) or ("/" in text and base == unit):
        raise ValueError(expected(unit))
    try:
        number = float(found[1])
    except ValueError as error:
        raise ValueError(expected(unit)) from error
    return number * words[word] / smallest if word else number


def expected(unit: str) -> str:
    """Return how an amount of this unit is written."""
    base = unit.removesuffix("/s")
    if base == "ratio":
        return _("This must be a number, such as 0.3 or 30%.")
    if base in {"bytes", "kilobytes"}:
        return _("This must be an amount of memory, such as 1.5 GiB; a number alone counts %(unit)s.") % {"unit": base}
    if base in {"seconds", "milliseconds", "microseconds"}:
        return _("This must be a time, such as 200 ms or 5 min; a number alone counts %(unit)s.") % {"unit": base}
    return _("This must be a number.")
