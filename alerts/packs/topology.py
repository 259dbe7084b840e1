"""Rules on slots, replicas, snapshots and append-only files."""

from typing import Any

from django.utils.translation import gettext_noop as _

from alerts.conditions import SETTLING, over, under

TOPOLOGY: tuple[dict[str, Any], ...] = (
    {
        "rule": "cluster-not-ok",
        "title": _("Cluster does not serve all slots"),
        "area": "topology",
        "when": {
            "any": [
                under("cluster_state_ok", critical=1, across="max"),
                under("cluster_slots_ok", critical=16_384, across="max"),
            ]
        },
        "judged": "cache",
        "for": "15s",
        "keep_firing": "30s",
        "gates": ["cluster"],
        "why": _("Slots without a primary answer with errors; by default the whole cluster then stops."),
        "check": _("Look which primary is gone and whether it has a replica."),
    },
    {
        "rule": "shard-without-replica",
        "title": _("Shard without a replica"),
        "area": "topology",
        "when": under("connected_slaves", 1, role="primary"),
        "judged": "shard",
        "for": "5m",
        "keep_firing": "1m",
        "gates": ["cluster", "replicated"],
        "calm": SETTLING,
        "why": _("If this primary fails now, its slots and its data are gone."),
        "check": _("Bring the replica back, or move one here."),
    },
    {
        "rule": "replica-link-down",
        "title": _("Replica lost its primary"),
        "area": "topology",
        "when": under("master_link_up", 1, role="replica"),
        "for": "1m",
        "keep_firing": "1m",
        "gates": ["replicated"],
        "calm": {"failover": "2m"},
        "why": _("The replica gets no more changes: it serves old data and is no safe successor."),
        "check": _("Look at the network between the two, and at full resyncs."),
    },
    {
        "rule": "replica-lag",
        "title": _("Replica is behind"),
        "area": "topology",
        # 30 s: netdata and the agreement of most packs.
        "when": over("replication_lag_seconds", 30, 300, read="min", over="1m", role="replica"),
        "for": "2m",
        "keep_firing": "2m",
        "gates": ["replicated"],
        "calm": SETTLING,
        "why": _("Reads from it are old, and a failover to it would lose the difference."),
        "check": _("Look at its CPU and at the traffic of replication."),
    },
    {
        "rule": "resync-loop",
        "title": _("Replicas are copied again and again"),
        "area": "topology",
        "when": over("sync_full", 2.5, read="increase", over="15m"),
        "keep_firing": "15m",
        "gates": ["replicated"],
        "why": _("Each full copy costs a fork and the whole data set on the network."),
        "check": _("Look at the replication backlog and at client-output-buffer-limit for replicas."),
    },
    {
        "rule": "save-failed",
        "title": _("Snapshot failed"),
        "area": "persistence",
        "when": under("rdb_last_bgsave_ok", 1),
        "for": "1m",
        "why": _("The last background save failed. By default the server then refuses writes."),
        "check": _("Look at the disk, at the memory left for a fork, and at the server's log."),
    },
    {
        "rule": "append-failed",
        "title": _("Append-only file cannot be written"),
        "area": "persistence",
        # The status stays as it was when the file is turned off.
        "when": {"all": [under("aof_last_write_status", critical=1), over("aof_enabled", value=0)]},
        "why": _("The last write to the append-only file failed. Until one succeeds the server refuses writes."),
        "check": _("Look at the space left on the disk, at its health, and at the server's log."),
    },
)
