"""How evenly a cache is used, and looking for hot keys now."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from dashboard.api.answers import compressed_json, problems
from dashboard.api.caches import cache_named
from dashboard.api.slowlog import RefusalAnswer
from dashboard.balance import MEASURES, Balance, KeyLookAt, ShardLoad, SlotRow, balance_of, look_now
from fleet.models import Cache

router = Router(tags=["caches"], auth=callers())


class FigureAnswer(Schema):
    value: float | None
    factor: float | None = Field(description="The multiple of the mean of all shards; null where there is one alone.")


class ShardLoadAnswer(Schema):
    """Figures of the shard's primary by metric name."""

    shard: int | None
    node_id: int
    node: str
    slots: int
    keys: FigureAnswer
    used_memory: FigureAnswer
    commands_per_second: FigureAnswer
    main_thread_cpu_ratio: FigureAnswer
    connected_clients: FigureAnswer
    network_output_bytes_per_second: FigureAnswer


class HotSlotAnswer(Schema):
    """Null is not counted by the server, or not known yet."""

    slot: int
    node_id: int
    node: str
    keys: int | None
    key_share: float | None = Field(description="Of the keys of its node, 0 to 1.")
    time_share: float | None = Field(description="Of its node's time, 0 to 1.")
    bytes_in_per_second: float | None
    bytes_out_per_second: float | None
    seconds: float = Field(description="Over how long the rates are.")


class HotKeyAnswer(Schema):
    key: str = Field(description="Made printable and cut to 120 characters.")
    node_id: int
    node: str
    frequency: int | None = Field(description="The server's logarithmic counter, 0 to 255.")
    time_share: float | None
    byte_share: float | None


class KeyLookAnswer(Schema):
    node_id: int
    node: str
    read_at: datetime | None = Field(description="Null where nobody looked in the last 12 hours.")
    method: Literal["tracked", "sampled"] | None
    keys_looked_at: int | None
    seconds: float | None
    failure: str | None


class BalanceAnswer(Schema):
    cache: str
    shards: list[ShardLoadAnswer]
    slots: list[HotSlotAnswer] = Field(description="The heaviest, 40 at most.")
    slots_absent: str | None = Field(description="Why there are no slots.")
    hot_keys: list[HotKeyAnswer] = Field(description="Of the last look, 50 at most.")
    keys_absent: str | None = Field(description="Why no key's use can be told.")
    looks: list[KeyLookAnswer]
    refused: list[RefusalAnswer]


@router.get(
    "/{name}/balance",
    response={200: BalanceAnswer, **problems(404)},
    operation_id="read_balance",
    summary="Read how evenly shards, slots and keys are used",
)
def read_balance(request: HttpRequest, name: str) -> HttpResponse:
    """As the last polls and looks say; nothing is asked of the servers now."""
    cache = cache_named(name)
    return compressed_json(request, balance_answer(cache, balance_of(cache)))


@router.post(
    "/{name}/hot-keys/look",
    auth=callers(Role.OPERATOR),
    response={200: BalanceAnswer, **problems(404, 409)},
    operation_id="look_for_hot_keys",
    summary="Look for hot keys now",
)
def look_for_hot_keys(request: HttpRequest, name: str) -> HttpResponse:
    """Takes some seconds; reads no value. 409: somebody just looked, or looks, or the cache is paused."""
    cache = cache_named(name)
    if refused := look_now(signed_in(request), cache):
        raise HttpError(409, refused)
    return compressed_json(request, balance_answer(cache, balance_of(cache)))


def balance_answer(cache: Cache, found: Balance) -> dict[str, Any]:
    return {
        "cache": cache.name,
        "shards": [shard_answer(shard) for shard in found.shards],
        "slots": [slot_answer(row) for row in found.slots],
        "slots_absent": found.slots_absent or None,
        "hot_keys": [
            {"node_id": row.primary.node.pk, "node": row.primary.node.address, **row.key._asdict()}
            for row in found.keys
        ],
        "keys_absent": found.keys_absent or None,
        "looks": [look_answer(look) for look in found.looks],
        "refused": [asdict(refusal) for refusal in found.refused],
    }


def shard_answer(shard: ShardLoad) -> dict[str, Any]:
    node = shard.primary.node
    figures = {name: asdict(figure) for name, figure in zip(MEASURES, shard.figures, strict=True)}
    number = node.shard.number if node.shard else None
    return {"shard": number, "node_id": node.pk, "node": node.address, "slots": shard.slots, **figures}


def slot_answer(row: SlotRow) -> dict[str, Any]:
    fields = ("slot", "node_id", "keys", "time_share", "bytes_in_per_second", "bytes_out_per_second", "seconds")
    named = {field: getattr(row.load, field) for field in fields}
    return {**named, "node": row.primary.node.address, "key_share": row.key_share}


def look_answer(look: KeyLookAt) -> dict[str, Any]:
    reading, node = look.reading, look.primary.node
    return {
        "node_id": node.pk,
        "node": node.address,
        "read_at": reading and reading.read_at,
        "method": (reading and reading.method) or None,
        "keys_looked_at": reading and reading.keys_looked_at,
        "seconds": reading and reading.seconds,
        "failure": look.failure or None,
    }
