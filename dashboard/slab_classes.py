"""The classes of chunks of one node, read because somebody asked, as the page and the API show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from collectors.keyscan.reasons import Reason, words
from collectors.memcached import classes
from collectors.memcached.classes import SlabClass
from collectors.models import NodeStatus
from fleet.models import Cache, Node, Reach


@dataclass(frozen=True, slots=True)
class NodeClasses:
    """A node with its classes, or with the sentence that says why they are not read."""

    node: Node
    rows: Sequence[SlabClass] = ()
    failure: str = ""
    # Whether the server was asked at all.
    is_asked: bool = True


def of(cache: Cache, node_id: int) -> NodeClasses | None:
    """Read the classes of a node now; None where the cache has no such node."""
    node = cache.nodes.present().filter(pk=node_id).first()
    if node is None:
        return None
    if refused := refusal(cache, node):
        return NodeClasses(node, failure=refused, is_asked=False)
    seen = classes.read(cache, node.pk)
    return NodeClasses(node, seen.rows, seen.failure.sentence() if seen.failure else "")


def refusal(cache: Cache, node: Node) -> str:
    """Return why a node is not asked; "" where it is. Nobody waits here for one that is known to be silent."""
    if not cache.abilities.slabs:
        return _("%(engine)s has no classes of chunks.") % {"engine": cache.get_engine_display()}
    if cache.is_paused:
        return words(Reason.PAUSED_CACHE, {})
    if cache.reach == Reach.SERVICE:
        return _("Its nodes are not polled: its figures come from Cloud Monitoring.")
    status = NodeStatus.objects.filter(node=node, failing_since__isnull=False).first()
    return status.failed_reason if status else ""
