"""The rules on servers that keep their memory in classes of chunks, beside those that every cache has.

Thresholds are those of public packs for Memcached. Numbers of classes and threads are read every five minutes, so
that nothing here is about seconds; refused connections, memory, evictions and hits have the common rules.
"""

from typing import Any

from django.utils.translation import gettext_noop as _

from alerts.conditions import SETTLING, WARMING, over, under

SLAB_PACK: tuple[dict[str, Any], ...] = (
    {
        "rule": "listener-shut",
        "title": _("New connections are kept waiting"),
        "area": "connections",
        "when": under("accepting_conns", critical=1),
        "keep_firing": "10m",
        "gates": ["slabs"],
        "why": _(
            "The server has no room for more connections and does not look at new ones: clients run into timeouts."
        ),
        "check": _("Look at the connections against the limit (maxconns), then at the pools of the clients."),
    },
    {
        "rule": "threads-busy",
        "title": _("All threads busy"),
        "area": "cpu",
        # 0.8: Google's advice for Memorystore for Memcached; 0.9: its sample of an alert.
        "when": over("threads_busy_ratio", 0.80, 0.90),
        "for": "5m",
        "keep_firing": "10m",
        "gates": ["slabs"],
        "calm": SETTLING,
        "why": _("Requests wait for a thread: answers get slower for all clients of the node."),
        "check": _("Add nodes, or threads where the machine has cores for them; look for one node with a hot key."),
    },
    {
        "rule": "connections-yield",
        "title": _("Connections with many requests in a row are held back"),
        "area": "latency",
        "when": over("conn_yields", 1, read="rate", over="15m"),
        "for": "5m",
        "keep_firing": "15m",
        "gates": ["slabs"],
        "calm": WARMING,
        "why": _(
            "Clients send more requests at once than the server takes in one go (-R), so that others get their turn."
        ),
        "check": _("Make batches of gets smaller, or raise reqs_per_event."),
    },
    {
        "rule": "class-without-memory",
        "title": _("Values are refused: no memory in their class"),
        "area": "errors",
        "when": over("items_outofmemory", 0, 0.05, read="rate", over="15m"),
        "keep_firing": "15m",
        "gates": ["slabs"],
        "why": _("Writes of one size fail although the server may evict: all memory is bound in other classes."),
        "check": _("Look at the classes on the page of internals; turn slab_automove on, or restart the node."),
    },
    {
        "rule": "direct-reclaims",
        "title": _("Writers wait for evictions"),
        "area": "latency",
        "when": over("direct_reclaims", 1, read="rate", over="15m"),
        "for": "15m",
        "keep_firing": "15m",
        "gates": ["slabs"],
        "calm": WARMING,
        "why": _("Memory is not freed ahead of the writes any more: each one has to evict an item itself first."),
        "check": _("Look at evictions and at the age of items; the node is too small for what is written."),
    },
    {
        "rule": "values-too-large",
        "title": _("Values are refused: too large"),
        "area": "errors",
        "when": over("store_too_large", 3, read="increase", over="15m"),
        "keep_firing": "15m",
        "gates": ["slabs"],
        "why": _(
            "What is larger than an item may be (-I, 1 MB by default) is never cached, and asked for again and again."
        ),
        "check": _("Find the writer; compress the value, split it, or raise the limit."),
    },
)
