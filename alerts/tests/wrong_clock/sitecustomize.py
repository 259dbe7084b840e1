"""A clock that a test sets: Python reads this file at its start wherever its folder is on PYTHONPATH.

The file named by WRONG_CLOCK says by how many seconds this process is ahead of the machine; it may change at any time.
"""

import datetime
import os
import time
from pathlib import Path
from typing import Any

_ahead = Path(os.environ["WRONG_CLOCK"])
_time, _datetime = time.time, datetime.datetime


def shifted_time() -> float:
    return _time() + float(_ahead.read_text())


class Kind(type):
    """Takes datetimes of every make for its own, as the drivers of databases make theirs in C."""

    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, _datetime)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _datetime)


class Shifted(datetime.datetime, metaclass=Kind):
    """Makes plain datetimes, but those of the present by the clock that was set."""

    def __new__(cls, *given: Any, **named: Any) -> Any:
        return _datetime.__new__(_datetime if cls is Shifted else cls, *given, **named)

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _datetime.fromtimestamp(shifted_time(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return _datetime.fromtimestamp(shifted_time(), datetime.UTC).replace(tzinfo=None)


time.time = shifted_time
time.time_ns = lambda: int(shifted_time() * 1e9)
datetime.datetime = Shifted  # type: ignore[misc]
