"""bin/up --detach: the same run in the background, and its first word to whoever waits."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

Run = Callable[[Callable[[], None]], int]
READY = b"r"


def in_background(run: Run, log: Path) -> int:
    """Return 0 as soon as the run is ready, else the status with which it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _be_background(run, log, writer)
    os.close(writer)
    _pass_on(child)
    with os.fdopen(reader, "rb") as told:
        if told.read(1) == READY:
            return 0
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) % 256 or 1


def _be_background(run: Run, log: Path, writer: int) -> NoReturn:
    os.setsid()

    def ready() -> None:
        # Until here the user's terminal shows the steps; from here on it may go away.
        log.parent.mkdir(parents=True, exist_ok=True)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, output), (2, output)):
            os.dup2(source, target)
        os.write(writer, READY)
        os.close(writer)

    status = 1
    try:
        status = run(ready)
    finally:
        os._exit(status)


def _pass_on(child: int) -> None:
    def forward(number: int, _: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)
