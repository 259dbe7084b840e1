"""How a cache is laid out, and what Shardwatch asks of its nodes."""

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from collectors.own_load import Charge
from dashboard import own_load
from dashboard.api.answers import problems
from dashboard.api.caches import cache_named
from dashboard.api.slowlog import RefusalAnswer
from dashboard.refusals import refusals
from dashboard.watched import Watched, WatchedNode, newest_of

router = Router(tags=["caches"], auth=callers())


class MemberAnswer(Schema):
    """A node in its shard; null is not reported, or the node is silent."""

    id: int
    node: str
    role: str | None
    answers: bool
    version: str | None
    master_link_up: bool | None
    replication_lag_bytes: int | None
    replication_lag_seconds: float | None


class ShardAnswer(Schema):
    number: int
    slots: list[tuple[int, int]] = Field(description="First and last slot of each range; empty outside clusters.")
    slot_count: int
    nodes: list[MemberAnswer]


class TopologyAnswer(Schema):
    cache: str
    engine: str | None
    topology: str | None
    slots_ok: int | None = Field(description="Slots with a working primary, of 16,384; null outside clusters.")
    cluster_state_ok: bool | None
    shards: list[ShardAnswer]
    unplaced: list[MemberAnswer] = Field(description="Nodes that belong to no shard.")


class ChargeAnswer(Schema):
    command: str
    every_seconds: int
    usec: float = Field(description="Of the server's time, as measured for this engine.")
    reply_bytes: int
    once_a_cache: bool


class LoadAnswer(Schema):
    """What one node is asked by Shardwatch."""

    cache: str
    usec_per_minute: float
    bytes_per_minute: float
    time_share: float = Field(description="Of the node's main thread, 0 to 1.")
    commands: list[ChargeAnswer]
    refused: list[RefusalAnswer] = Field(description="Commands that nodes refuse, which are not asked for.")


@router.get(
    "/{name}/topology",
    response={200: TopologyAnswer, **problems(404)},
    operation_id="read_topology",
    summary="Read how a cache is laid out",
)
def read_topology(request: HttpRequest, name: str) -> dict[str, Any]:
    watched = newest_of(cache_named(name))
    cache, seen = watched.cache, watched.latest
    return {
        "cache": cache.name,
        "engine": cache.engine or None,
        "topology": cache.topology or None,
        "slots_ok": seen.slots_ok if seen else None,
        "cluster_state_ok": seen.cluster_state_ok if seen else None,
        "shards": shard_answers(watched),
        "unplaced": [member_answer(member) for member in watched.nodes if member.node.shard is None],
    }


@router.get(
    "/{name}/load",
    response={200: LoadAnswer, **problems(404)},
    operation_id="read_own_load",
    summary="Read what Shardwatch asks of a cache's nodes",
)
def read_own_load(request: HttpRequest, name: str) -> dict[str, Any]:
    watched = newest_of(cache_named(name))
    refused = refusals(watched.node_ids)
    load = own_load.of(watched, refused)
    return {
        "cache": watched.cache.name,
        "usec_per_minute": load.usec_per_minute,
        "bytes_per_minute": load.bytes_per_minute,
        "time_share": load.time_share,
        "commands": [charge_answer(charge) for charge in load.charges],
        "refused": refused,
    }


def shard_answers(watched: Watched) -> list[dict[str, Any]]:
    shards = {member.node.shard.number: member.node.shard for member in watched.nodes if member.node.shard}
    return [
        {
            "number": number,
            "slots": shard.slots,
            "slot_count": sum(last - first + 1 for first, last in shard.slots),
            "nodes": [member_answer(member) for member in watched.nodes if member.node.shard_id == shard.pk],
        }
        for number, shard in sorted(shards.items())
    ]


def member_answer(member: WatchedNode) -> dict[str, Any]:
    return {
        "id": member.node.pk,
        "node": member.node.address,
        "role": member.node.role or None,
        "answers": member.latest is not None and not member.is_failing,
        "version": member.version or None,
        **{name: member.value(name) for name in ("master_link_up", "replication_lag_bytes", "replication_lag_seconds")},
    }


def charge_answer(charge: Charge) -> dict[str, Any]:
    same = {"command": charge.name, "every_seconds": charge.every, "once_a_cache": charge.once}
    return {**same, "usec": charge.usec, "reply_bytes": charge.reply_bytes}
