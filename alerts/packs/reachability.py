"""Rules on nodes that refuse, are silent, load or answer slowly."""

from typing import Any

from django.utils.translation import gettext_noop as _

from alerts.conditions import SETTLING, over

REACHABILITY: tuple[dict[str, Any], ...] = (
    {
        "rule": "node-down",
        "title": _("Node down"),
        "area": "reachability",
        # True at two polls in a row: a restart that is over before the second one is not told.
        "when": over("down", critical=0),
        "for": "1s",
        "keep_firing": "15s",
        "hides": ["cache", "node"],
        "why": _("The node refuses connections or does not answer, so clients of its slots or of its data fail."),
        "check": _("Look at the node's process and host, then at the page of the cache for a failover."),
    },
    {
        "rule": "cache-down",
        "title": _("Whole cache down"),
        "area": "reachability",
        "when": over("down", critical=0, across="min"),
        "judged": "cache",
        "for": "1s",
        "keep_firing": "15s",
        "hides": ["cache"],
        "why": _("No node of the cache answers. All of its clients fail."),
        "check": _("Look for what the nodes share: the network, a firewall, the host, the password."),
    },
    {
        "rule": "slow-answers",
        "title": _("The node answers slowly"),
        "area": "latency",
        "when": over("round_trip_seconds", 0.1, 0.5, read="avg", over="2m"),
        "for": "3m",
        "keep_firing": "5m",
        "calm": SETTLING,
        "why": _("Our own poll waits this long for its answer; clients wait as well."),
        "check": _("Look at CPU, at the slow log and at the network."),
    },
    {
        "rule": "loading",
        "title": _("Node loads its data"),
        "area": "reachability",
        "when": over("loading", 0),
        "for": "5m",
        "why": _("While it loads, the node answers nothing else."),
        "check": _("Look how big its snapshot is, and why it restarted."),
    },
)
