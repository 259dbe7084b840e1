"""Which commands a node lets us run: tried once, remembered, asked again only after a long time."""

import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import hiredis
from django.conf import settings
from django.utils import timezone

from collectors.failures import printable
from collectors.models import CommandSupport
from collectors.protocol import CONTAINERS as CONTAINERS
from collectors.protocol import Command, Reply, is_refusal
from collectors.protocol import name_of as name_of
from fleet.models import Node

State = CommandSupport.State


def verdict(reply: Reply) -> State:
    """Return what a reply says about the command; an error that may pass, such as LOADING, says nothing."""
    if not isinstance(reply, hiredis.ReplyError):
        return State.ALLOWED
    return State.REFUSED if is_refusal(reply) else State.UNKNOWN


class Support:
    """What one node lets us run, as far as we know."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[State, float]] = {}
        self._unwritten: dict[str, tuple[State, str]] = {}
        self._allowed: set[Command] = set()
        # How often something was learnt: what was concluded before holds no longer.
        self.lessons = 0

    def remember(self, name: str, state: State, age_seconds: float) -> None:
        self._known[name] = (state, time.monotonic() - age_seconds)

    def is_refused(self, command: Command) -> bool:
        """Return whether asking again now would be in vain."""
        state, at = self._known.get(name_of(command), (State.UNKNOWN, 0.0))
        return state == State.REFUSED and time.monotonic() - at < settings.COMMAND_RECHECK_SECONDS

    def knows(self, command: Command) -> bool:
        return name_of(command) in self._known

    def note(self, command: Command, reply: Reply) -> None:
        """Take in what a reply says; only news has to be written down."""
        is_good = not isinstance(reply, hiredis.ReplyError)
        if is_good and command in self._allowed:
            return
        (self._allowed.add if is_good else self._allowed.discard)(command)
        name, state = name_of(command), verdict(reply)
        before = self._known.get(name)
        if before and (state == State.UNKNOWN or before[0] == state == State.ALLOWED):
            return
        self._known[name] = (state, time.monotonic())
        self.lessons += 1
        self._unwritten[name] = (state, printable(reply) if isinstance(reply, hiredis.ReplyError) else "")

    def news(self) -> dict[str, tuple[State, str]]:
        """Return what has to be written down, once."""
        news, self._unwritten = self._unwritten, {}
        return news


def load(node_ids: Sequence[int]) -> dict[int, Support]:
    """Return what is on record for each of these nodes."""
    found = {node_id: Support() for node_id in node_ids}
    now = timezone.now()
    rows = CommandSupport.objects.filter(node_id__in=node_ids).values_list("node_id", "command", "state", "checked_at")
    for node_id, command, state, checked_at in rows:
        found[node_id].remember(command, State(state), max((now - checked_at) / timedelta(seconds=1), 0))
    return found


def store(news: Iterable[tuple[int, dict[str, tuple[State, str]]]], now: datetime) -> None:
    """Write down what nodes were found to allow or refuse."""
    rows = [
        CommandSupport(node_id=node_id, command=name, state=state, reason=reason, checked_at=now)
        for node_id, states in news
        for name, (state, reason) in states.items()
    ]
    if not rows:
        return
    present = set(Node.objects.filter(pk__in={row.node_id for row in rows}).values_list("pk", flat=True))
    CommandSupport.objects.bulk_create(
        [row for row in rows if row.node_id in present],
        update_conflicts=True,
        unique_fields=["node", "command"],
        update_fields=["state", "reason", "checked_at"],
    )
