"""The classes of chunks of one Memcached node."""

from typing import Any

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from accounts.api_auth import callers
from dashboard import slab_classes
from dashboard.api.answers import problems
from dashboard.api.caches import cache_named
from dashboard.slab_classes import NodeClasses

router = Router(tags=["caches"], auth=callers())


class SlabsQuery(Schema):
    node: int = Field(ge=1, le=2**31 - 1, description="The node, by its id.")


class SlabClassAnswer(Schema):
    """Sizes are bytes, ages seconds, shares 0 to 1; counts run since the server's start; null is not reported."""

    number: int
    chunk_size: int | None = Field(description="The largest item, its key and its own head included.")
    used_chunks: int | None
    free_chunks: int | None
    bytes: int | None = Field(description="The memory that the class holds.")
    used_ratio: float | None
    wasted_ratio: float | None = Field(description="Of the chunks in use: what their items do not need.")
    items: int | None
    requested_bytes: int | None
    oldest_seconds: int | None
    evicted: int | None
    evicted_unread: int | None
    evicted_after_seconds: int | None = Field(description="How long ago the item evicted last was used last.")
    out_of_memory: int | None
    hits: int | None
    writes: int | None


class SlabsAnswer(Schema):
    cache: str
    node_id: int
    node: str
    failure: str | None = Field(description="Why the server could not be read.")
    classes: list[SlabClassAnswer]


@router.get(
    "/{name}/slabs",
    response={200: SlabsAnswer, **problems(404, 409)},
    operation_id="read_slabs",
    summary="Read the classes of chunks of a Memcached node now",
)
def read_slabs(request: HttpRequest, name: str, query: Query[SlabsQuery]) -> dict[str, Any]:
    """`stats slabs` and `stats items`, some 0.15 ms of one of the server's threads.

    409: the node is no Memcached, is paused, or did not answer its last poll.
    """
    cache = cache_named(name)
    found = slab_classes.of(cache, query.node)
    if found is None:
        raise Http404
    if not found.is_asked:
        raise HttpError(409, found.failure)
    return slabs_answer(cache.name, found)


def slabs_answer(name: str, found: NodeClasses) -> dict[str, Any]:
    ratios = ("bytes", "used_ratio", "wasted_ratio")
    return {
        "cache": name,
        "node_id": found.node.pk,
        "node": found.node.address,
        "failure": found.failure or None,
        "classes": [row._asdict() | {name: getattr(row, name) for name in ratios} for row in found.rows],
    }
