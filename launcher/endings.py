"""Signals that ask for the end, as an exception that runs every cleanup on its way."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ToldToEndError(BaseException):
    """A signal asked for the end; no failure, and nothing may swallow it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def raised() -> Iterator[None]:
    """Raise ToldToEndError at the first such signal; from then on, and after the block, all of them are ignored."""

    def end(number: int, _: FrameType | None) -> None:
        _ignore()
        raise ToldToEndError(number)

    for number in ENDINGS:
        # Who starts us with nohup wants us to outlive the terminal.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield
    finally:
        _ignore()


def _ignore() -> None:
    # Nothing may interrupt the stopping, which has an end of its own.
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)
