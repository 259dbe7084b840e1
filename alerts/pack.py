"""The rules that every cache has from its first sample.

Thresholds stand beside their source where they have one; where published packs disagree, the choice and
its reason are given. What is healthy by design never fires: a full cache that evicts, a cache without
replicas, an idle node's fragmentation, a restart that is over before the second poll.
"""

from typing import Any

from django.utils.translation import gettext_noop as _

from alerts.conditions import SETTLING, WARMING, over, under
from alerts.rule import Rule
from alerts.service_pack import SERVICE_PACK
from alerts.slab_pack import SLAB_PACK
from alerts.spec import Spec
from alerts.spec_form import read_spec, written

MIB, GIB = 2**20, 2**30

OF_NODES: tuple[dict[str, Any], ...] = (
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
PACK = OF_NODES + SLAB_PACK + SERVICE_PACK


def specs() -> list[Spec]:
    return [read_spec(given) for given in PACK]


def install() -> int:
    """Bring the default pack into the database; return how many rules are new or were changed by us.

    What a person edited or turned off stays as it is: only untouched rules follow a newer pack.
    """
    known = {rule.key: rule for rule in Rule.objects.all()}
    changed = 0
    for spec in specs():
        rule = known.get(spec.key)
        if rule is None:
            Rule.of(spec, origin=Rule.Origin.PACK).save()
        elif rule.origin == Rule.Origin.PACK and rule.revision == 1 and rule.text != written(spec):
            Rule.objects.filter(pk=rule.pk).update(text=written(spec))
        else:
            continue
        changed += 1
    return changed
