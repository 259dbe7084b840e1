"""Tells on a terminal how a scan goes, line by line, as redis-cli does."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from django.utils.translation import gettext as _

from collectors.keyscan.details import Detail
from collectors.keyscan.progress import NodeProgress, State
from collectors.keyscan.text import biggest


class Output(Protocol):
    def write(self, text: str) -> object: ...


class Teller:
    """Prints a line for each key that is the largest of its type so far, and one when a node's state changes."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._largest: dict[str, int] = {}
        self._states: dict[str, State] = {}
        self._blind: set[str] = set()

    def notice(self, ratio: float, details: Iterable[Detail]) -> None:
        for detail in details:
            if detail.type and detail.size > self._largest.get(detail.type, -1):
                self._largest[detail.type] = detail.size
                self._output.write(biggest(ratio, detail.type, detail.key, detail.size))

    def observe(self, progress: Sequence[NodeProgress]) -> None:
        for node in progress:
            before = self._states.get(node.label, State.WALKING)
            self._states[node.label] = node.state
            if node.state != before and (words := _words(node)):
                self._say(node, words)
            if node.is_blind and node.label not in self._blind:
                self._blind.add(node.label)
                self._say(node, _("goes on without guards: they get no connection"))

    def _say(self, node: NodeProgress, words: str) -> None:
        self._output.write(f"[{node.ratio * 100:05.2f}%] {node.label}: {words}")


def _words(node: NodeProgress) -> str:
    if node.state == State.HELD and node.hold:
        return _("waits: %(reason)s") % {"reason": node.hold.words()}
    if node.state == State.RECONNECTING:
        return _("lost; connecting again")
    return _("goes on") if node.state == State.WALKING else ""
