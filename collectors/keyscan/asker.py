"""Asking one node at the pace of the brake: slices, the pauses between them, and what they cost."""

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from collectors.keyscan.brake import Pace
from collectors.keyscan.control import Control
from collectors.keyscan.guards import Hold
from collectors.keyscan.pipe import Pipe
from collectors.keyscan.wire import Question
from collectors.protocol import Reply

# The longest that a pause goes on without a look at what people want.
LOOK_SECONDS = 0.1

Asking: TypeAlias = Generator[int | float, list[Reply], list[Reply]]
Resting: TypeAlias = Generator[int | float, list[Reply], None]


class StoppedError(Exception):
    """Somebody ended the scan."""


@dataclass(slots=True)
class Gate:
    """What lets a node's scan go on or holds it up, and what the scan cost so far."""

    control: Control
    pace: Pace
    hold: Hold | None = None
    commands: int = 0
    busy_seconds: float = 0.0

    @classmethod
    def of(cls, control: Control) -> "Gate":
        return cls(control, Pace(control.brake))

    @property
    def is_closed(self) -> bool:
        return self.control.is_paused or self.hold is not None

    @property
    def wants_attention(self) -> bool:
        """Return whether a stream of requests should end to let somebody have his way."""
        return self.is_closed or self.control.is_stopped or self.control.brake is not self.pace.brake


class Asker:
    """Sends slices over a pipe. Its methods are parts of the generator that the pipe drives."""

    def __init__(self, pipe: Pipe, gate: Gate) -> None:
        self.gate = gate
        self.pace = gate.pace
        self.write = pipe.write

    def slice(self, payload: bytes, count: int, adapt: bool = True) -> Asking:
        """Send commands, wait for their `count` replies and pause as the brake wants. Raise StoppedError."""
        began = time.monotonic()
        self.write(payload)
        replies = yield count
        took = time.monotonic() - began
        self.count(count, took)
        if pause := self.pace.took(took, adapt):
            yield from self._rest(pause)
        if self.gate.wants_attention:
            yield from self.attend()
        return replies

    def count(self, commands: int, seconds: float) -> None:
        self.gate.commands += commands
        self.gate.busy_seconds += max(seconds - self.pace.base_seconds, 0.0)

    def about(self, question: Question, keys: Sequence[bytes], at_once: int = 0) -> Asking:
        """Return the replies about keys, asked in slices; `at_once` names their size where the pace does not."""
        replies: list[Reply] = []
        start = 0
        while start < len(keys):
            part = keys[start : start + (at_once or self.pace.keys)]
            replies += yield from self.slice(question.about(part), len(part), adapt=not at_once)
            start += len(part)
        return replies

    def attend(self) -> Resting:
        """Stop, change the brake, or wait for the gate to open, as people and guards want it."""
        while self.gate.is_closed and not self.gate.control.is_stopped:
            yield LOOK_SECONDS
        if self.gate.control.is_stopped:
            raise StoppedError
        if self.gate.control.brake is not self.pace.brake:
            self.pace.use(self.gate.control.brake)

    def _rest(self, seconds: float) -> Resting:
        began = time.monotonic()
        end = began + seconds
        while (left := end - time.monotonic()) > 0 and not self.gate.wants_attention:
            yield min(left, LOOK_SECONDS)
        self.pace.slept(time.monotonic() - began)
