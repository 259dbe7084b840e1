"""The shapes of switches in the API."""

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Path, Schema
from pydantic import Field

from dashboard.api.paging import PageAnswer
from dashboard.api.schemas import BIGGEST, NAME_PATTERN, NO_NUL, Strict, Whole
from switches.changing import REASON_LIMIT, TICKET_LIMIT
from switches.client_keys import SCOPE_LIMIT
from switches.switch import NOTE_LIMIT

KEY_PATTERN = r"^[a-z0-9.-]{1,100}$"
INT_LIMIT = 2**31 - 1
SwitchKey = Annotated[str, Path(max_length=100, pattern=KEY_PATTERN, description="The switch's key.")]
Key = Annotated[str, Field(max_length=100, pattern=KEY_PATTERN, examples=["user-cache"])]
CacheName = Annotated[str, Field(max_length=63, pattern=NAME_PATTERN, description="A cache's name.")]
Reason = Annotated[str, Field(min_length=1, max_length=REASON_LIMIT, pattern=NO_NUL, examples=["evicting since 09:10"])]
Ticket = Annotated[str, Field(max_length=TICKET_LIMIT, pattern=NO_NUL)]
When = Annotated[str, Field(min_length=1, max_length=40, description="ISO 8601 (UTC where no zone is given).")]
Revision = Annotated[
    int,
    Field(ge=1, le=INT_LIMIT, description="Refuse the change (409) where the switch is no longer at this revision."),
    Whole,
]
State = Literal["enabled", "canary", "draining", "disabled", "unproven", "re-pointing", "retired"]


class Reasoned(Strict):
    reason: Reason
    ticket: Ticket = ""


class SwitchGiven(Reasoned):
    """What a switch is; what is left out keeps its value, or its default for a new one."""

    label: Annotated[str, Field(max_length=200, pattern=NO_NUL)] | None = None
    cache_now: CacheName | None = Field(None, description="The cache that it stands for; null for none.")
    cache_next: CacheName | None = Field(None, description="The cache that it will point at; null for none.")
    fallback: Literal["open", "closed"] | None = Field(None, description="What readers do that know nothing yet.")
    ttl_seconds: Annotated[int, Field(ge=1, le=300), Whole] | None = None
    owner: Annotated[str, Field(max_length=150, pattern=NO_NUL)] | None = None
    note: Annotated[str, Field(max_length=NOTE_LIMIT, pattern=NO_NUL)] | None = None
    needs_two_people: bool | None = None
    floor_per_second: Annotated[float, Field(ge=0, le=1e9, strict=False)] | None = None


class NewSwitch(SwitchGiven):
    key: Key


class SwitchEdit(SwitchGiven):
    revision: Revision


class TurnOff(Reasoned):
    revision: Revision | None = Field(None, description="Left out: whatever happened meanwhile.")


class TurnOn(Reasoned):
    revision: Revision
    percent: Annotated[int, Field(ge=1, le=100, description="Of the instances; less than 100 is a canary."), Whole] = (
        100
    )


class Repoint(Reasoned):
    revision: Revision
    cache: CacheName | None = Field(None, description="The switch's next cache where it is left out.")


class Retire(Reasoned):
    revision: Revision


class NewPlan(Reasoned):
    percent: Annotated[int, Field(ge=0, le=100), Whole] = 0
    starts_at: When | None = Field(None, description="Now where it is left out.")
    ends_at: When | None = Field(None, description="When people are asked whether it is over.")


class PlanEnd(Strict):
    ends_at: When


class Decision(Strict):
    agrees: bool


class SwitchAnswer(Schema):
    key: str
    label: str
    cache_now: str | None
    cache_next: str | None
    percent: int
    can_use: bool = Field(description="Whether anybody may use the cache.")
    fallback: str
    ttl_seconds: int
    owner: str
    note: str
    needs_two_people: bool
    floor_per_second: float
    is_repointing: bool
    is_overdue: bool = Field(description="Off for a week.")
    is_unused: bool = Field(description="Asked for by nobody for 30 days.")
    revision: int
    changed_at: datetime
    stepped_at: datetime = Field(description="When its percentage last changed.")
    polled_at: datetime | None
    retired_at: datetime | None


class SwitchList(Schema):
    switches: list[SwitchAnswer]


class ChangeAnswer(Schema):
    revision: int
    at: datetime
    by: str
    approved_by: str
    kind: str
    before: dict[str, Any]
    after: dict[str, Any]
    reason: str
    ticket: str


class ChangePage(PageAnswer):
    changes: list[ChangeAnswer]


class ReaderAnswer(Schema):
    name: str
    address: str
    version: str
    workers: int | None
    revision: int
    age_seconds: float | None
    error: str
    seen_at: datetime
    standing: Literal["applied", "behind", "silent"]
    connections: int = Field(description="To the cache, at the last look at its client lists.")
    idle_seconds: int | None
    command: str
    is_still_there: bool = Field(description="It reports that it applied this, and is still connected.")


class ProofAnswer(Schema):
    key: str
    state: State
    is_safe_to_repoint: bool = Field(description="Both proofs hold: reports, and the cache's own counters.")
    missing: list[str] = Field(description="Proofs that cannot be had, a sentence each.")
    readers: list[ReaderAnswer]
    commands_per_second: list[float] = Field(description="Of applications, at the last polls, the newest last.")
    own_per_second: float | None
    replication_per_second: float | None
    floor_per_second: float
    is_quiet: bool | None = Field(description="Null before there were enough polls.")
    connections: int | None = Field(description="Of applications; null before a look.")
    looked_at: datetime | None
    look_failure: str
    hits_per_second: float | None = Field(description="In the hour before: what falls on the database behind.")


class PlanAnswer(Schema):
    id: int
    percent: int
    starts_at: datetime
    ends_at: datetime | None
    reason: str
    ticket: str
    author: str
    state: str


class ProposalAnswer(Schema):
    id: int
    percent: int
    reason: str
    ticket: str
    author: str
    created_at: datetime
    revision: int
    state: str
    decided_by: str


class SwitchDetail(SwitchAnswer):
    plans: list[PlanAnswer]
    proposals: list[ProposalAnswer]


class NewClientKey(Strict):
    name: Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL, description="The application.")]
    scope: Annotated[
        list[Annotated[str, Field(pattern=r"^[a-z0-9.*-]{1,100}$", examples=["shop.*"])]],
        Field(max_length=SCOPE_LIMIT, description="Keys of switches that it reads; none is all."),
    ] = []


class ClientKeyAnswer(Schema):
    id: int
    name: str
    hint: str
    scope: list[str]
    created_at: datetime
    created_by: str
    last_used_at: datetime | None
    revoked_at: datetime | None


class IssuedClientKey(ClientKeyAnswer):
    text: str = Field(description="The key itself: shown this once.")


class ClientKeyList(Schema):
    client_keys: list[ClientKeyAnswer]


def is_storable(number: int) -> bool:
    return 0 < number <= BIGGEST
