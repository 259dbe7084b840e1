"""The shapes that the API takes and answers."""

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import BeforeValidator, ConfigDict, Field

from dashboard.api.paging import PageAnswer
from fleet.labels import LABEL_LIMIT, VALUE_LIMIT
from fleet.registration import ADDRESS_LIMIT, PASSWORD_LIMIT

NAME_PATTERN = r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$"
PEM_LIMIT = 200_000
BIGGEST = 2**63 - 1

# PostgreSQL keeps no NUL; said here, so that callers can know.
NO_NUL = r"^[^\u0000]*$"


def whole(value: Any) -> Any:
    """Return 5.0 as 5: in JSON both are the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Stands behind the bounds: before them it would hide them from the documentation.
Whole = BeforeValidator(whole)
Name = Annotated[
    str, Field(pattern=NAME_PATTERN, max_length=63, description="The cache's name.", examples=["game-cache"])
]
LabelKey = Annotated[str, Field(pattern=r"^[a-z0-9_.-]{1,63}$")]
LabelValue = Annotated[str, Field(min_length=1, max_length=VALUE_LIMIT)]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=LABEL_LIMIT, examples=[{"env": "production"}])]
Address = Annotated[
    str,
    Field(
        min_length=1,
        max_length=ADDRESS_LIMIT,
        description="redis://host:6379, with TLS rediss://host:6379; commas separate several standalone servers."
        " Memcached: memcached://host:11211, or its discovery endpoint as memcached+discovery://host:11211.",
        examples=["redis://10.0.0.5:6379"],
    ),
]
Pem = Annotated[str, Field(max_length=PEM_LIMIT, pattern=NO_NUL)]
Password = Annotated[str, Field(max_length=PASSWORD_LIMIT, pattern=NO_NUL, description="Never answered back.")]
LoginName = Annotated[
    Literal["password", "google-iam"], Field(description="google-iam: access tokens of Google IAM are the password.")
]
ReachName = Annotated[
    Literal["nodes", "service"], Field(description="service: the nodes are not polled, Cloud Monitoring is read alone.")
]
MysqlAddress = Annotated[
    str,
    Field(
        max_length=ADDRESS_LIMIT,
        pattern=NO_NUL,
        description="Of the MySQL whose InnoDB memcached plugin this is: mysqls://user:password@host:3306, without TLS"
        " mysql://. Never answered back; empty forgets it.",
    ),
]
Interval = Annotated[int, Field(ge=1, le=120, description="Seconds between two polls."), Whole]
Bytes = Annotated[int, Field(ge=0, le=BIGGEST), Whole]
Connections = Annotated[int, Field(ge=0, le=2**31 - 1), Whole]


class Strict(Schema):
    """Input: unknown fields and near-fitting types are refused rather than guessed at."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(Schema):
    error: str = Field(description="What is wrong and what to do, in a sentence.")
    field: str | None = Field(None, description="The field or parameter that it is about.")


class CacheGiven(Strict):
    """A target as given; what is left out keeps its value, or its default for a new cache."""

    username: Annotated[str, Field(max_length=200, pattern=NO_NUL)] | None = None
    password: Password | None = None
    ca_bundle: Pem | None = None
    client_certificate: Pem | None = None
    client_key: Pem | None = None
    tls_check_hostname: bool | None = None
    login: LoginName | None = None
    reach: ReachName | None = None
    labels: Labels | None = None
    poll_interval_seconds: Interval | None = None
    plan_memory_bytes: Bytes | None = None
    plan_maxclients: Connections | None = None
    is_paused: bool | None = None
    mysql_dsn: MysqlAddress | None = None
    mysql_ca_bundle: Pem | None = None
    mysql_check_hostname: bool | None = None

    def given(self) -> dict[str, Any]:
        """Return what the caller named. Null means "none" only for the two plan limits."""
        named = self.model_dump(exclude_unset=True)
        return {field: value for field, value in named.items() if value is not None or field.startswith("plan_")}


class NewCache(CacheGiven):
    name: Name
    address: Address


class CacheChange(CacheGiven):
    name: Name | None = None
    address: Address | None = None
    revision: Annotated[int, Field(ge=1, le=2**31 - 1), Whole] | None = Field(
        None, description="Refuse the change (409) where the cache is no longer at this revision."
    )

    def given(self) -> dict[str, Any]:
        return {field: value for field, value in super().given().items() if field != "revision"}


class Trial(CacheGiven):
    """A target to test: an address, or a registered cache with what is to be changed in it."""

    cache: Name | None = Field(None, description="A registered cache, whose stored secrets are used.")
    address: Address | None = None

    def given(self) -> dict[str, Any]:
        return {field: value for field, value in super().given().items() if field != "cache"}


class CacheAnswer(Schema):
    name: str
    url: str = Field(description="The cache's page.")
    address: str
    username: str
    has_password: bool
    has_ca_bundle: bool
    has_client_certificate: bool
    tls_check_hostname: bool
    login: LoginName
    reach: ReachName
    labels: dict[str, str]
    poll_interval_seconds: int
    plan_memory_bytes: int | None
    plan_maxclients: int | None
    has_mysql_dsn: bool
    mysql_is_encrypted: bool = Field(description="Whether MySQL must speak TLS and show a certificate that fits.")
    has_mysql_ca_bundle: bool
    mysql_check_hostname: bool
    engine: str | None = Field(description="redis, valkey or memcached; null until it is known.")
    topology: str | None = Field(description="cluster, standalone or sharded; null until it is known.")
    is_demo: bool
    is_paused: bool
    created_at: datetime
    revision: int


class CachePage(PageAnswer):
    caches: list[CacheAnswer]


class DiscoveryAnswer(Schema):
    """What was found at the address, or why nothing was; the cache is kept either way."""

    ok: bool
    sentence: str


class RegisteredCache(CacheAnswer):
    discovery: DiscoveryAnswer


class NodeAnswer(Schema):
    id: int
    identity: str
    address: str
    host: str
    port: int
    role: str | None = Field(description="primary or replica; null where not known.")
    shard: int | None = Field(description="The shard's number, from 1.")
    slots: list[tuple[int, int]] = Field(description="First and last slot of each range; empty outside clusters.")
    joined_at: datetime
    answered_at: datetime | None = Field(description="The last answer; null where there was none.")
    failing_since: datetime | None = Field(description="Null while the node answers.")
    failed_step: str | None
    failed_reason: str | None
    sampled_at: datetime | None
    latest: dict[str, bool | float | None] = Field(description="The newest value of each metric; null is not reported.")


class NodeList(Schema):
    cache: str
    nodes: list[NodeAnswer]


class LineAnswer(Schema):
    label: str
    node_id: int | None
    shard: int | None
    role: str
    whole_label: str = Field(description="What `label` shortens; empty where it is whole.")
    mean: list[float | None]
    minimum: list[float | None]
    maximum: list[float | None]


class SeriesAnswer(Schema):
    metric: str
    unit: str
    tier: str
    start: int
    step: int
    count: int
    nodes: list[int | None]
    lines: list[LineAnswer]
    source: str = Field("nodes", description="nodes: what we read from them; Cloud Monitoring: the service's own.")


class SeriesList(Schema):
    """Points lie `step` seconds apart from `start` (epoch seconds); null is a gap."""

    cache: str
    series: list[SeriesAnswer]


class CommandAnswer(Schema):
    """What a command did in the range; null is not known. Percentiles are of the range."""

    name: str
    calls_per_second: float | None = Field(description="Over all nodes that count.")
    time_share: float | None = Field(description="Share of the nodes' time, 0 to 1; the mean over nodes.")
    command_time_share: float | None = Field(description="Share of the time of all commands.")
    usec_per_call: float | None = Field(description="The mean, in microseconds.")
    rejected_per_second: float | None = Field(description="Refused before they ran: wrong arguments, no right, OOM.")
    failed_per_second: float | None = Field(description="Answered with an error when they ran.")
    p50_usec: float | None
    p99_usec: float | None
    p999_usec: float | None
    latency: str = Field(description="histogram, or mean where the server gives no histogram.")
    advice: str = Field(description="What to do instead, in a sentence; empty where nothing is wrong with it.")


class RangeAnswer(Schema):
    """A range in epoch seconds, and how much of it was measured: 0 is nothing."""

    cache: str
    start: int
    end: int
    measured_seconds: float


class CommandList(RangeAnswer):
    role: str
    nodes: int = Field(description="How many nodes were measured.")
    commands: list[CommandAnswer]


class CommandOfNode(CommandAnswer):
    node_id: int


class CommandNodes(Schema):
    cache: str
    start: int
    end: int
    command: str
    nodes: list[CommandOfNode]


class ErrorAnswer(Schema):
    name: str
    per_second: float
    count: int
    meaning: str
    action: str = Field(description="What to do; empty where nothing can be said.")
    is_usual: bool = Field(description="Whether it is part of normal work as long as it is rare.")


class ErrorList(RangeAnswer):
    errors: list[ErrorAnswer]


class NameLineAnswer(Schema):
    name: str
    values: list[float | None]


class TallySeriesAnswer(Schema):
    """Points lie `step` seconds apart from `start` (epoch seconds); null is a gap."""

    cache: str
    measure: str
    unit: str
    tier: str
    start: int
    step: int
    count: int
    nodes: list[int]
    lines: list[NameLineAnswer]


class MetricAnswer(Schema):
    name: str
    unit: str
    meaning: str
    kind: str = Field(
        description="hot: every poll; derived: of two polls; detail: every few minutes; service: by Cloud Monitoring."
    )


class MetricList(Schema):
    metrics: list[MetricAnswer]


class StepAnswer(Schema):
    step: str
    ok: bool
    sentence: str = Field(description="What was seen, or why the step failed and what to do.")
    seconds: float
    address: str = Field(description="The server that was tried.")


class TrialAnswer(Schema):
    ok: bool
    steps: list[StepAnswer]


class NewToken(Strict):
    name: Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL)]
    expires_in_days: Annotated[int, Field(ge=1, le=3650), Whole] | None = None


class TokenAnswer(Schema):
    id: int
    name: str
    hint: str = Field(description="The first characters of the token.")
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


class CreatedToken(TokenAnswer):
    token: str = Field(description="The token itself: shown this once.")


class TokenList(Schema):
    tokens: list[TokenAnswer]
