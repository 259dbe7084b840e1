"""The shapes of scans that the API takes and answers."""

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from collectors.keyscan.exact import SAMPLES
from collectors.keyscan.options import TOP_LIMIT, ScanOptions
from dashboard.api.paging import PageAnswer, PageQuery
from dashboard.api.schemas import NO_NUL, Name, Strict, Whole
from dashboard.scan_form import MATCH_LIMIT, SAMPLES_LIMIT

Brake = Literal["gentle", "brisk", "fast"]
StateName = Literal["queued", "running", "paused", "stopping", "done", "incomplete", "stopped", "failed"]
FieldName = Literal["type", "ttl", "idle", "encoding", "len"]
ShardNumber = Annotated[int, Field(ge=0, le=100_000), Whole]
PAGE = 100


class ScanGiven(Strict):
    """What to look at. Only the cache is needed."""

    cache: Name
    brake: Brake = "gentle"
    match: str = Field("", max_length=MATCH_LIMIT, pattern=NO_NUL, description="Only names like this, as in SCAN.")
    type: str = Field("", max_length=40, pattern=r"^[A-Za-z0-9._-]*$", description="Only keys of this type.")
    shards: list[ShardNumber] = Field([], max_length=2_000, description="Only these shards.")
    top: Annotated[int, Field(100, ge=1, le=TOP_LIMIT, description="How many of the largest keys are kept."), Whole]
    fields: list[FieldName] = Field([], max_length=5, description="Read of every key; costs 2 to 3 times as much.")
    samples: Annotated[
        int, Field(SAMPLES, ge=1, le=SAMPLES_LIMIT, description="Below 150 large collections keep an estimate."), Whole
    ]
    may_use_primary: bool = Field(False, description="Where a shard has no replica that is fit.")
    ignores_budget: bool = False

    def asked(self) -> ScanOptions:
        given = self.dict(exclude={"cache", "brake"})
        return ScanOptions.of_json({**given, "shards": sorted(set(self.shards))})


class BrakeGiven(Strict):
    brake: Brake


class ScanFilter(PageQuery):
    cache: str = Field("", max_length=63)
    state: Literal["", "open"] | StateName = Field("", description="`open` are those under way.")
    page_size: int = Field(50, ge=1, le=200)


class KeyFilter(PageQuery):
    shard: int = Field(0, ge=0, le=100_000, description="0 is all of them.")
    type: str = Field("", max_length=40)
    sort: Literal["size", "elements"] = "size"
    page_size: int = Field(PAGE, ge=1, le=1_000)


class PrefixFilter(Schema):
    parent: str = Field("", max_length=20, pattern=r"^-?\d*$", description="The id of a prefix; the whole without.")


class ExportQuery(Schema):
    format: Literal["csv", "json", "ndjson"] = "json"
    part: Literal["keys", "prefixes"] = Field("keys", description="Of CSV and NDJSON; JSON holds both.")


class ScanAnswer(Schema):
    id: int
    url: str
    cache: str
    author: str
    brake: Brake
    state: StateName
    options: dict[str, Any]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    keys: int
    bytes: int


class ScanPage(PageAnswer):
    scans: list[ScanAnswer]


class ScanShardAnswer(Schema):
    shard: int
    node: str
    is_replica: bool
    state: str
    words: str = Field(description="What the walk is at, in a sentence.")
    keys: int
    total: int = Field(description="Keys that the server counted at the start.")
    bytes: int
    ratio: float
    busy_seconds: float = Field(description="Of the server's time.")
    reconnects: int
    restarts: int
    progress: dict[str, Any]


class ScanChangeAnswer(Schema):
    at: datetime
    state: StateName
    cause: str
    words: str
    author: str


class ScanFindingAnswer(Schema):
    state: str
    sentence: str
    step: str = Field(description="What to do next.")
    figure: str


class ScanDetail(ScanAnswer):
    ratio: float = Field(description="How far it is, 0 to 1.")
    seconds_left: float | None
    keys_per_second: float
    shards: list[ScanShardAnswer]
    changes: list[ScanChangeAnswer]
    summary: dict[str, Any] = Field(description="Histograms, types and shares; empty before the end.")
    findings: list[ScanFindingAnswer]


class PreviewNode(Schema):
    shard: int
    node: str
    is_replica: bool
    keys: int | None
    lag_bytes: int | None = Field(description="How far a replica was behind at its last poll.")
    seconds: float | None
    used_today_seconds: float


class PreviewAnswer(Schema):
    keys: int | None
    seconds: float | None = Field(description="Reckoned with the last scan, or with usual speeds.")
    load: str
    notes: list[str]
    budget_seconds: int
    nodes: list[PreviewNode]


class KeyAnswer(Schema):
    id: int
    key: str = Field(description="What is no printable UTF-8 stands as \\xNN; viewers may see hashes for ids.")
    key_base64: str | None
    bytes: int
    exact: bool
    type: str | None
    elements: int | None
    encoding: str | None
    expires: bool | None
    ttl_seconds: float | None
    idle_seconds: int | None
    frequency: int | None
    slot: int | None
    shard: int
    node: str
    db: int


class KeyPage(Schema):
    page: int
    page_size: int
    complete_from: int | None = Field(
        description="Of one shard or type: the size from which on no key is missing; 0 where none is at all."
    )
    keys: list[KeyAnswer]


class PrefixAnswer(Schema):
    id: str
    parent: str | None
    prefix: str
    is_other: bool
    depth: int
    keys: int
    bytes: int
    mean_bytes: float
    max_bytes: int
    without_ttl_ratio: float | None


class PrefixPage(Schema):
    whole: PrefixAnswer | None
    prefixes: list[PrefixAnswer]


class Changed(Schema):
    name: str
    change: Literal["new", "gone", "grown", "shrunk", "same"]
    before: int | None
    after: int | None
    delta: int


class CompareAnswer(Schema):
    before: ScanAnswer
    after: ScanAnswer
    bytes_per_day: float | None
    mixed_shards: list[int] = Field(description="Read from a primary in one scan, a replica in the other.")
    prefixes: list[Changed]
    keys: list[Changed]
