"""The contract of channels: one attempt, and what came of it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from django import forms

from alerts.causes import Cause
from alerts.message import Message
from alerts.models import Kind

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Settings: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """What an incident is about as a picture: an image, and the same in words."""

    png: bytes
    words: str


@dataclass(frozen=True, slots=True)
class Sending:
    """One message on its way through one channel."""

    # Unique for a message, and the same at every attempt: services that can tell copies apart are given it.
    id: str
    kind: Kind
    # The incident's name at the pager, one from its first message to its last.
    incident_key: str
    sequence: int
    opened_at: datetime
    message: Message
    # The incident's own title, which stays the same from the first message to the last.
    title: str = ""
    is_test: bool = False
    # What the channel remembered when it accepted an earlier message of the incident.
    handle: str = ""
    # Only for kinds that show one, and only where something was measured.
    chart: Chart | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a service said: its status, and its words cut and without secrets."""

    status: int | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Accepted(Told):
    """The service has it, and answers for it from now on."""

    handle: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal(Told):
    """It was not, or perhaps not, accepted."""

    cause: Cause
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAt(Refusal):
    """Certainly not accepted; another attempt may help, after so many seconds where the service named them."""

    seconds: float | None = None
    # Whether all messages of the channel wait.
    holds_channel: bool = False
    # Whether what the channel remembered of the incident is of no use any more.
    forgets: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Final(Refusal):
    """Not accepted, and no further attempt can help: the channel is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(Refusal):
    """Perhaps accepted, perhaps later."""


Refused: TypeAlias = RetryAt | Final | Unknown
Outcome: TypeAlias = Accepted | Refused


class ChannelKind(ABC):
    """One service. An instance keeps nothing: what differs between two channels is in their settings."""

    name: ClassVar[str]
    label: ClassVar["StrOrPromise"]
    # Settings as people give them; fields in `secrets` are never shown again.
    form: ClassVar[type[forms.Form]]
    secrets: ClassVar[frozenset[str]] = frozenset()
    # Whether a second copy of a message changes nothing.
    is_idempotent: ClassVar[bool] = False
    # Whether a person can be woken by it.
    can_page: ClassVar[bool] = True
    # The least time between two messages, and how long to wait when told to slow down without a time.
    gap_seconds: ClassVar[float] = 0
    busy_seconds: ClassVar[float] = 30
    # Whether it shows the chart of an incident.
    shows_chart: ClassVar[bool] = False
    # Name of the address that the service may call, to tell us something.
    hook: ClassVar[str] = ""
    # Kinds of messages that the service has no use for; they count as accepted.
    ignores: ClassVar[frozenset[Kind]] = frozenset()

    @abstractmethod
    def deliver(self, settings: Settings, sending: Sending) -> Outcome:
        """Make one attempt within the time limits and return what came of it. Never raises, never tries twice."""
