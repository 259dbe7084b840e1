"""Rules on memory: how full it is, how fast it fills, and what else takes it."""

from typing import Any

from django.utils.translation import gettext_noop as _

from alerts.conditions import SETTLING, WARMING, over, under

GIB = 2**30

MEMORY: tuple[dict[str, Any], ...] = (
    {
        "rule": "memory-near-limit",
        "title": _("Memory near its limit"),
        "area": "memory",
        "when": over("memory_used_ratio", 0.80, 0.90, read="avg", over="2m"),
        "for": "5m",
        "keep_firing": "5m",
        "gates": ["keeps"],
        "calm": SETTLING,
        "why": _("At the limit the server refuses writes (OOM), for it may not drop keys."),
        "check": _("Scan for the biggest keys, and look for keys without a time to live."),
    },
    {
        "rule": "memory-full-soon",
        "title": _("Memory full within hours"),
        "area": "memory",
        "when": {
            "all": [
                under("memory_used_ratio", 28_800, 7_200, read="forecast", over="1h", level=1.0),
                over("memory_used_ratio", value=0.5),
            ]
        },
        "for": "15m",
        "keep_firing": "15m",
        "gates": ["keeps"],
        "calm": WARMING,
        "why": _("Memory grows steadily; on a straight line it reaches the limit in the time given."),
        "check": _("Compare two key scans: which prefix grows?"),
    },
    {
        "rule": "memory-rush",
        "title": _("Memory full within minutes"),
        "area": "memory",
        "when": {
            "all": [
                under("memory_used_ratio", critical=1_800, read="forecast", over="5m", level=1.0),
                over("memory_used_ratio", value=0.6),
            ]
        },
        "for": "1m",
        "keep_firing": "2m",
        "gates": ["keeps"],
        "calm": SETTLING,
        "why": _("Memory grows so fast that the limit is minutes away."),
        "check": _("Find the writer: commands by client, then deploys and load tests of the last minutes."),
    },
    {
        "rule": "memory-uneven",
        "title": _("One shard holds far more than the others"),
        "area": "memory",
        "when": over("memory_used_ratio", 0.20, read="avg", over="5m", role="primary"),
        "judged": "spread",
        "for": "15m",
        "keep_firing": "15m",
        "gates": ["several-shards"],
        "calm": WARMING,
        "why": _("The fullest shard reaches its limit long before the cache looks full."),
        "check": _("Look for hash tags that put many keys into one slot, and for single giant keys."),
    },
    {
        "rule": "fragmentation",
        "title": _("Memory is fragmented"),
        "area": "memory",
        # Published packs fire on small and idle nodes, where the ratio says nothing: only above 500 MB.
        "when": {
            "all": [
                over("mem_fragmentation_ratio", 1.5, read="avg", over="5m"),
                over("used_memory", value=500 * 1_000_000),
            ]
        },
        "for": "30m",
        "keep_firing": "30m",
        "calm": WARMING,
        "why": _("The process holds half as much memory again as its data needs, and the host may run out."),
        "check": _("Turn on activedefrag where it is offered, or restart the replica and fail over."),
    },
    {
        "rule": "client-buffers",
        "title": _("Clients' buffers take much memory"),
        "area": "memory",
        "when": over("mem_clients_normal", GIB, 4 * GIB, read="avg", over="5m"),
        "for": "5m",
        "keep_firing": "5m",
        "why": _("Answers that clients do not fetch pile up in the server's memory."),
        "check": _("Look for clients with large output buffers, and for commands with huge answers."),
    },
)
