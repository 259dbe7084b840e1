"""Rules on the work of nodes and on their connections."""

from typing import Any

from django.utils.translation import gettext_noop as _

from alerts.conditions import SETTLING, WARMING, over, under

LOAD: tuple[dict[str, Any], ...] = (
    {
        "rule": "cpu-busy",
        "title": _("Main thread busy"),
        "area": "cpu",
        # 70 and 90%: single-threaded saturation as GitLab's runbooks set it.
        "when": over("main_thread_cpu_ratio", 0.70, 0.90, read="avg", over="2m"),
        "for": "5m",
        "keep_firing": "5m",
        "calm": SETTLING,
        "why": _("Commands run on one thread. Near one whole core every client waits."),
        "check": _("Look at the commands by share of server time, and at the slow log."),
    },
    {
        "rule": "cpu-hot-shard",
        "title": _("One shard does most of the work"),
        "area": "cpu",
        "when": {
            "all": [
                over("main_thread_cpu_ratio", 0.80, read="avg", over="5m", role="primary"),
                under("main_thread_cpu_ratio", value=0.50, read="avg", over="5m", role="primary", across="avg"),
            ]
        },
        "judged": "cache",
        "for": "5m",
        "keep_firing": "10m",
        "gates": ["several-shards"],
        "calm": SETTLING,
        "why": _("More shards will not help while one of them gets the load."),
        "check": _("Look for hot keys on the busy shard."),
    },
    {
        "rule": "connections-near-limit",
        "title": _("Connections near maxclients"),
        "area": "connections",
        "when": over("connections_used_ratio", 0.80, 0.90),
        "for": "2m",
        "keep_firing": "5m",
        "why": _("At maxclients new connections are refused: a deploy or a restart of clients then takes them out."),
        "check": _("Count pods times workers, and look at who holds the connections."),
    },
    {
        "rule": "connections-rejected",
        "title": _("Connections are refused"),
        "area": "connections",
        "when": over("rejected_connections", 0, 60, read="increase", over="1m"),
        "keep_firing": "5m",
        "why": _("The server has reached maxclients; these clients got an error instead of a connection."),
        "check": _("Look at who holds the connections; raise maxclients where the service lets you."),
    },
    {
        "rule": "connection-churn",
        "title": _("Clients connect again and again"),
        "area": "connections",
        "when": {
            "all": [
                over("connections_received_per_second", 3, read="deviation", over="10m"),
                over("connections_received_per_second", value=50, read="avg", over="10m"),
            ]
        },
        "for": "10m",
        "keep_firing": "10m",
        "calm": WARMING,
        "why": _(
            "Three times as many new connections as at this hour a week ago: each costs the server and the client."
        ),
        "check": _("Look whether a release lost its persistent connections."),
    },
    {
        "rule": "clients-blocked",
        "title": _("More clients than usual wait in blocking calls"),
        "area": "connections",
        # A fixed bound cries wherever workers wait on queues.
        "when": {
            "all": [
                over("blocked_clients", 3, read="deviation", over="10m"),
                over("blocked_clients", value=10, read="min", over="10m"),
            ]
        },
        "for": "10m",
        "keep_firing": "10m",
        "calm": WARMING,
        "why": _("Consumers wait although they did not at this hour a week ago: producers may have stopped."),
        "check": _("Look at the producers of the queues."),
    },
)
