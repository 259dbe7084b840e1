"""Steps that say what they do, how long it took, and when they fail why and what to do."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from launcher.trouble import LauncherError

WIDTH = 52


@contextmanager
def step(title: str, stream: TextIO | None = None) -> Iterator[None]:
    """Print the title, then the seconds that the block took. The reason of a failure is printed by `explain`."""
    out = stream or sys.stdout
    out.write(f"{title} ".ljust(WIDTH, ".") + " ")
    out.flush()
    began = time.monotonic()
    word = "failed after "
    try:
        yield
        word = ""
    finally:
        out.write(f"{word}{time.monotonic() - began:.1f} s\n")
        out.flush()


def explain(error: LauncherError) -> None:
    """Say on standard error why a step failed and what to do about it."""
    sys.stdout.flush()
    sys.stderr.write(f"\nError: {error.reason}\n")
    if error.advice:
        sys.stderr.write(f"What to do: {error.advice}\n")
    sys.stderr.flush()
