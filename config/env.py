"""Typed readers of environment variables that fail loudly.

Every reader takes NAME and also honours NAME_FILE, a path to a file that holds the value, so that
secrets can come from mounted files. Raise ImproperlyConfigured with a sentence that says what to do.
"""

import math
import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


def text(name: str, default: str | None = None) -> str:
    """Return the variable, else the content of the file that NAME_FILE names, else the default."""
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE names {path}, which cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise ImproperlyConfigured(f"{name}_FILE names {path}, which is no text in UTF-8.") from error
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(f"Set {name} (or {name}_FILE); docs/settings.md says what it holds.")
    return value


def number(name: str, default: float, minimum: float = 0, maximum: float = math.inf) -> float:
    raw = text(name, str(default))
    try:
        value = float(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a number, not {raw!r}.") from error
    if not minimum <= value:
        raise ImproperlyConfigured(f"{name} must be at least {minimum:g}, not {raw}.")
    if value == math.inf or value > maximum:
        limit = "a number with an end" if maximum == math.inf else f"at most {maximum:g}"
        raise ImproperlyConfigured(f"{name} must be {limit}, not {raw}.")
    return value


def whole(name: str, default: int, minimum: int = 0, maximum: float = math.inf) -> int:
    value = number(name, default, minimum, maximum)
    if value != int(value):
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value}.")
    return int(value)


def flag(name: str, default: bool) -> bool:
    raw = text(name, "yes" if default else "no").lower()
    if raw not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} must be yes or no, not {raw!r}.")
    return raw in TRUE


def words(name: str, default: str = "") -> list[str]:
    """Return the comma-separated parts, without blanks."""
    return [part.strip() for part in text(name, default).split(",") if part.strip()]


def database(name: str, default: str) -> dict[str, object]:
    """Return Django's settings for a postgres:// URL; a socket directory goes in ?host=."""
    try:
        url = urlsplit(text(name, default))
        port = str(url.port or "")
    except ValueError:
        # The address may hold a password: it is not repeated.
        raise ImproperlyConfigured(f"{name} has a host or port that cannot be read.") from None
    if url.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(f"{name} must begin with postgres://, not {url.scheme or 'nothing'}://.")
    options = dict(parse_qsl(url.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(url.path.lstrip("/")),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": options.pop("host", url.hostname or ""),
        "PORT": port,
        "OPTIONS": options,
    }
