"""The nodes of a cache, with their newest values."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from accounts.api_auth import callers
from collectors import latest
from collectors.metrics import HOT
from dashboard.api.answers import compressed_json, problems
from dashboard.api.caches import cache_named
from dashboard.api.schemas import NodeList
from fleet.models import Node

router = Router(tags=["caches"], auth=callers())
SCALES = {metric.name: metric.scale for metric in HOT if metric.scale != 1}
SHOWN = tuple(name for name in latest.NodeLatest.NAMES if name not in {"node_id", "at"})


@router.get(
    "/{name}/nodes",
    response={200: NodeList, **problems(404)},
    operation_id="list_nodes",
    summary="List a cache's nodes",
)
def list_nodes(request: HttpRequest, name: str) -> HttpResponse:
    """Nodes that left are not listed. Counters are as the server reports them; rates are per second."""
    cache = cache_named(name)
    nodes = Node.objects.filter(cache=cache).present().select_related("shard", "status")
    newest = latest.nodes([cache.pk])
    return compressed_json(
        request, {"cache": cache.name, "nodes": [node_answer(node, newest.get(node.pk)) for node in nodes]}
    )


def node_answer(node: Node, newest: latest.NodeLatest | None) -> dict[str, Any]:
    status = getattr(node, "status", None)
    return {
        **{field: getattr(node, field) for field in ("id", "identity", "address", "host", "port", "joined_at")},
        "role": node.role or None,
        "shard": node.shard.number if node.shard else None,
        "slots": node.shard.slots if node.shard else [],
        "answered_at": status and status.answered_at,
        "failing_since": status and status.failing_since,
        "failed_step": (status and status.failed_step) or None,
        "failed_reason": (status and status.failed_reason) or None,
        "sampled_at": newest and newest.at,
        "latest": newest_values(newest) if newest else {},
    }


def newest_values(newest: latest.NodeLatest) -> dict[str, Any]:
    return {name: in_unit(name, getattr(newest, name)) for name in SHOWN}


def in_unit(name: str, value: Any) -> Any:
    """Return a stored number in its metric's unit: CPU seconds are stored as whole microseconds."""
    return value * SCALES[name] if name in SCALES and value is not None else value
