"""Who holds the connections of a cache, and reading its client lists now."""

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from dashboard.api.answers import compressed_json, problems
from dashboard.api.caches import cache_named
from dashboard.client_groups import ClientGroup, ClientNode, Clients, SingleClient, clients_of, read_now
from fleet.models import Cache

router = Router(tags=["caches"], auth=callers())


class NodeQuery(Schema):
    node: int = Field(0, ge=0, le=2**31 - 1, description="Only this node, by its id; 0 is all of them.")


class ClientsQuery(NodeQuery):
    by: Literal["name", "user", "library", "network", "idle", "command"] = Field(
        "name", description="Memcached tells network, idle and command, which is the state of a connection, alone."
    )
    sort: Literal["memory", "idle", "age"] = Field("memory", description="Which single connections come first.")


class ClientNodeAnswer(Schema):
    id: int
    node: str
    role: str | None
    connected_clients: int | None = Field(description="Of the newest sample, all connections.")
    new_connections_per_second: float | None = Field(description="Without Shardwatch's own.")
    read_at: datetime | None = Field(description="Null where the list was never read.")
    failure: str | None = Field(description="Why the last reading failed.")
    is_over_limit: bool = Field(description="Too many connections to be read without being asked to.")
    connections: int | None = Field(description="Of applications, at the last reading.")
    own: int | None
    replication: int | None
    bytes_read: int | None
    seconds: float | None


class ClientGroupAnswer(Schema):
    """Sums of bytes, the longest idle time in seconds; null is not reported."""

    label: str | None = Field(description="Null is everything beyond the 50 largest groups; empty is not set.")
    connections: int
    share: float = Field(description="0 to 1.")
    qbuf: int | None
    omem: int | None
    tot_mem: int | None
    longest_idle_seconds: int | None
    trend: list[int | None] = Field(
        description="Connections in 48 steps of the last 24 hours, the newest last; null is not read."
    )
    change: int | None = Field(description="From the first known step to the last.")


class ClientAnswer(Schema):
    node_id: int
    address: str
    name: str
    user: str
    library: str
    command: str
    age: int | None
    idle: int | None
    qbuf: int | None
    omem: int | None
    tot_mem: int | None


class ClientsAnswer(Schema):
    cache: str
    by: str
    connections: int = Field(description="Of applications, in the lists that were read.")
    own: int
    replication: int
    nodes: list[ClientNodeAnswer]
    groups: list[ClientGroupAnswer]
    rows: list[ClientAnswer] = Field(description="At most 50 single connections; they are kept for ten minutes.")


@router.get(
    "/{name}/clients",
    response={200: ClientsAnswer, **problems(404)},
    operation_id="list_clients",
    summary="Show who holds the connections",
)
def list_clients(request: HttpRequest, name: str, query: Query[ClientsQuery]) -> HttpResponse:
    """As the last readings of CLIENT LIST, or of Memcached's stats conns, say; nothing is asked of the servers now."""
    cache = cache_named(name)
    return compressed_json(request, clients_answer(cache, clients_of(cache, query.by, query.node, query.sort)))


@router.post(
    "/{name}/clients/read",
    auth=callers(Role.OPERATOR),
    response={200: ClientsAnswer, **problems(404, 409)},
    operation_id="read_clients",
    summary="Read the client lists now",
)
def read_clients(request: HttpRequest, name: str, query: Query[NodeQuery]) -> HttpResponse:
    """Servers answer nobody else while they write their lists, about 2 ms for 1,000 connections.

    409: they were just read, or the cache is paused.
    """
    cache = cache_named(name)
    if refused := read_now(signed_in(request), cache, query.node):
        raise HttpError(409, refused)
    return compressed_json(request, clients_answer(cache, clients_of(cache, "name", query.node)))


def clients_answer(cache: Cache, found: Clients) -> dict[str, Any]:
    return {
        "cache": cache.name,
        "by": found.by,
        "connections": found.connections,
        "own": found.own,
        "replication": found.replication,
        "nodes": [node_answer(node) for node in found.chosen],
        "groups": [group_answer(group) for group in found.groups],
        "rows": [row_answer(single) for single in found.rows],
    }


def node_answer(member: ClientNode) -> dict[str, Any]:
    node, reading = member.watched.node, member.reading
    fields = ("connections", "own", "replication", "bytes_read", "seconds")
    return {
        "id": node.pk,
        "node": node.address,
        "role": node.role or None,
        "connected_clients": member.connected,
        "new_connections_per_second": member.new_per_second,
        "read_at": reading and reading.read_at,
        "failure": member.failure or None,
        "is_over_limit": member.is_over_limit,
        **{field: getattr(reading, field) if member.is_read else None for field in fields},
    }


def group_answer(group: ClientGroup) -> dict[str, Any]:
    fields = {field: getattr(group, field) for field in ("connections", "share", "qbuf", "omem", "tot_mem", "change")}
    return {
        "label": None if group.is_rest else group.label,
        **fields,
        "longest_idle_seconds": group.idle,
        "trend": group.trend,
    }


def row_answer(single: SingleClient) -> dict[str, Any]:
    return {"node_id": single.node.node.pk, **single.client._asdict()}
