"""Rules on what clients get: keys that are gone too soon, lookups that miss, errors."""

from typing import Any

from django.utils.translation import gettext_noop as _

from alerts.conditions import SETTLING, WARMING, over, under

QUALITY: tuple[dict[str, Any], ...] = (
    {
        "rule": "evictions",
        "title": _("Keys are dropped before their time"),
        "area": "quality",
        "when": over("evicted_keys", 0, 100, read="rate", over="5m"),
        "for": "5m",
        "keep_firing": "10m",
        "gates": ["keeps"],
        "calm": SETTLING,
        "why": _("Memory is full, and keys with a time to live are removed early."),
        "check": _("Look at memory against maxmemory, and scan for the biggest keys."),
    },
    {
        "rule": "evictions-heavy",
        "title": _("The cache drops keys fast"),
        "area": "quality",
        "when": over("evicted_keys", 1_000, read="rate", over="15m"),
        "for": "15m",
        "keep_firing": "15m",
        "gates": ["evicts"],
        "calm": WARMING,
        "why": _("The cache is too small for its traffic: what is written is soon dropped again."),
        "check": _("Look at the hit ratio, then at the biggest keys."),
    },
    {
        "rule": "hit-ratio-fell",
        "title": _("Hit ratio fell"),
        "area": "quality",
        # A fixed floor fires during every warm-up; against last week's hour it does not.
        "when": {
            "all": [
                under("hit_ratio", 0.80, 0.50, read="deviation", over="15m"),
                over("keyspace_hits_per_second", value=10, read="avg", over="15m"),
            ]
        },
        "where": {"role": "primary"},
        "for": "15m",
        "keep_firing": "15m",
        "calm": WARMING,
        "why": _("Many more lookups miss than at this hour a week ago, and go to the database behind."),
        "check": _("Look at evictions, expirations and deploys since the fall."),
    },
    {
        "rule": "errors-oom",
        "title": _("Writes are refused: out of memory"),
        "area": "errors",
        "when": over("errors.OOM", critical=0),
        "keep_firing": "3m",
        "why": _("The server answers writes with OOM."),
        "check": _("Free memory or raise the limit; find the biggest keys."),
    },
    {
        "rule": "errors-misconf",
        "title": _("Writes are refused: snapshots fail"),
        "area": "errors",
        "when": over("errors.MISCONF", critical=0),
        "keep_firing": "3m",
        "why": _("The server cannot save to disk and therefore refuses writes (MISCONF)."),
        "check": _("Look at the disk and at the last snapshot."),
    },
    {
        "rule": "errors-clusterdown",
        "title": _("Clients get CLUSTERDOWN"),
        "area": "errors",
        "when": over("errors.CLUSTERDOWN", critical=0),
        "for": "1m",
        "keep_firing": "3m",
        "gates": ["cluster"],
        "why": _("Some slots have no primary that serves them."),
        "check": _("Look at the topology on the page of the cache."),
    },
    {
        "rule": "errors-readonly",
        "title": _("Clients write to a replica"),
        "area": "errors",
        "when": over("errors.READONLY", 0, 10),
        "for": "3m",
        "keep_firing": "5m",
        "calm": {"failover": "5m"},
        "why": _("Clients still hold connections to a node that is a replica now."),
        "check": _("Make clients reconnect when they get READONLY."),
    },
    {
        "rule": "errors-auth",
        "title": _("Clients fail to sign in"),
        "area": "errors",
        "when": {"any": [over("errors.NOAUTH", 1), over("errors.WRONGPASS", 1)]},
        "for": "3m",
        "keep_firing": "5m",
        "why": _("Somebody connects without the password, or with a wrong one."),
        "check": _("Look at who connects, and whether a password was changed lately."),
    },
)
