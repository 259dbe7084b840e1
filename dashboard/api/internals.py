"""What servers say of their replication, cluster, persistence and memory."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema
from pydantic import Field

from accounts.api_auth import callers
from dashboard.api.answers import compressed_json, problems
from dashboard.api.caches import cache_named
from dashboard.api.slowlog import RefusalAnswer
from dashboard.internals import SECTIONS, NodeInternals, internals_of

router = Router(tags=["caches"], auth=callers())


class NodeInternalsAnswer(Schema):
    """Numbers by the server's own names, in the units of /metrics; null is not reported."""

    node_id: int
    node: str
    role: str | None
    shard: int | None
    is_silent: bool
    detailed_at: datetime | None = Field(description="When the numbers were read that are read rarely.")
    facts: dict[str, str]
    differs_in: list[str] = Field(description="Parts of its view of the cluster that most nodes do not share.")
    replication: dict[str, float | None]
    cluster: dict[str, float | None]
    persistence: dict[str, float | None]
    memory: dict[str, float | None]


class InternalsAnswer(Schema):
    cache: str
    uncovered_slots: list[list[int]] = Field(description="Ranges, first and last, without a primary that answers.")
    nodes: list[NodeInternalsAnswer]
    refused: list[RefusalAnswer]


@router.get(
    "/{name}/internals",
    response={200: InternalsAnswer, **problems(404)},
    operation_id="read_internals",
    summary="Read replication, cluster, persistence and memory of each node",
)
def read_internals(request: HttpRequest, name: str) -> HttpResponse:
    cache = cache_named(name)
    found = internals_of(cache)
    answer = {
        "cache": cache.name,
        "uncovered_slots": [list(pair) for pair in found.uncovered],
        "nodes": [node_answer(node) for node in found.nodes],
        "refused": [asdict(refusal) for refusal in found.refused],
    }
    return compressed_json(request, answer)


def node_answer(one: NodeInternals) -> dict[str, Any]:
    node = one.watched.node
    return {
        "node_id": node.pk,
        "node": node.address,
        "role": node.role or None,
        "shard": node.shard.number if node.shard else None,
        "is_silent": one.is_silent,
        "detailed_at": one.detailed_at,
        "facts": one.facts,
        "differs_in": sorted(one.differs_in),
        **{section: one.section(section) for section in SECTIONS},
    }
