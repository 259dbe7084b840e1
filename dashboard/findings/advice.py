"""Advice: what is worth knowing of one cache although nothing is wrong yet. Shown on its page alone.

All are notices, so that they never change a cache's health: most have a good reason somewhere.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.findings.finding import (
    Finding,
    is_uneven,
    notice,
    page_of,
    ranked,
    remote_addresses,
    siblings_mean,
    subject,
)
from dashboard.templatetags.units import bytes_rate, bytes_size, count, duration, grouped, percent, rate
from dashboard.watched import Watched, WatchedNode

MIB = 2**20
# Below these a ratio says little: a small server's fragmentation is mostly its own program.
FRAGMENTED, FRAGMENTED_BYTES = 1.5, 500 * MIB
OVERHEAD, OVERHEAD_BYTES = 0.5, 100 * MIB
LOW_HITS, LOOKUPS_A_SECOND = 0.5, 100.0
BUSY_COMMANDS, HOT_FACTOR = 500.0, 2.0
CHURN_A_SECOND, CHURN_SHARE = 20.0, 0.2
BLOCKED, BLOCKED_SHARE = 10, 0.1
OUTPUT_BUFFER_BYTES = 64 * MIB
FORK_USEC = 500_000
NO_TTL, NO_TTL_KEYS = 0.9, 10_000


def hot_shard(watched: Watched) -> Finding | None:
    """One shard serves far more commands than its siblings. Does not apply to quiet caches or single shards."""
    ranking = ranked(watched.primaries(), lambda node: node.value("commands_per_second"))
    mean = siblings_mean(ranking)
    if mean is None or ranking[0][0] < BUSY_COMMANDS or ranking[0][0] < HOT_FACTOR * mean:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "level": rate(level), "mean": rate(mean)}
    sentence = _("%(name)s runs %(level)s commands, its siblings %(mean)s on average: look for a hot key") % parts
    return notice(sentence, _("hot shard"), rate(level), "commands", page_of(watched, "cache-balance"))


def low_hit_ratio(watched: Watched) -> Finding | None:
    """Most lookups find nothing. Does not apply without traffic worth the name."""
    hits = sum(node.value("keyspace_hits_per_second") or 0 for node in watched.nodes)
    misses = sum(node.value("keyspace_misses_per_second") or 0 for node in watched.nodes)
    if hits + misses < LOOKUPS_A_SECOND or hits / (hits + misses) >= LOW_HITS:
        return None
    level = percent(hits / (hits + misses))
    parts = {"name": watched.cache.name, "level": level, "misses": rate(misses)}
    sentence = _("%(name)s finds only %(level)s of what is looked up; %(misses)s fall through to what is behind it")
    return notice(sentence % parts, _("low hit ratio"), level, "hits")


def connection_churn(watched: Watched) -> Finding | None:
    """Connections that are opened again and again. Does not apply where they are kept."""

    def churn(node: WatchedNode) -> float | None:
        new, open_now = node.value("connections_received_per_second"), node.value("connected_clients")
        return new if new and new >= max(CHURN_A_SECOND, CHURN_SHARE * (open_now or 0)) else None

    ranking = ranked(watched.nodes, churn)
    if not ranking:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "rate": rate(level)}
    sentence = _("%(name)s accepts %(rate)s new connections: clients do not keep theirs (persistent connections)")
    return notice(
        sentence % parts, _("connection churn"), rate(level), "connection-rates", page_of(watched, "cache-clients")
    )


def blocked_clients(watched: Watched) -> Finding | None:
    """Many clients wait in blocking calls. A few are normal for queues."""
    ranking = ranked(watched.nodes, lambda node: node.value("blocked_clients"))
    if not ranking or ranking[0][0] < max(BLOCKED, BLOCKED_SHARE * (ranking[0][1].value("connected_clients") or 0)):
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "count": count(level)}
    sentence = _("%(name)s has %(count)s clients that wait in blocking calls") % parts
    return notice(sentence, _("blocked clients"), count(level), "connections", page_of(watched, "cache-clients"))


def nothing_to_evict(watched: Watched) -> Finding | None:
    """A policy that evicts only keys with a time to live, and hardly any key has one."""

    def lasting(node: WatchedNode) -> float | None:
        keys, without = node.value("keys"), node.value("keys_without_ttl")
        is_volatile = node.facts.get("maxmemory_policy", "").startswith("volatile-")
        return without / keys if is_volatile and keys and keys >= NO_TTL_KEYS and without is not None else None

    ranking = ranked(watched.primaries(), lasting)
    if not ranking or ranking[0][0] < NO_TTL:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "share": percent(level)}
    sentence = _("%(name)s evicts only keys with a time to live, but %(share)s have none: when full it refuses writes")
    return notice(sentence % parts, _("little to evict"), percent(level), "keys")


def fragmentation(watched: Watched) -> Finding | None:
    """Much more resident than used memory. Does not apply to small servers."""

    def wasted(node: WatchedNode) -> float | None:
        ratio, resident = node.value("mem_fragmentation_ratio"), node.value("used_memory_rss")
        return ratio if ratio and ratio > FRAGMENTED and (resident or 0) > FRAGMENTED_BYTES else None

    ranking = ranked(watched.nodes, wasted)
    if not ranking:
        return None
    level, node = ranking[0]
    spare = (node.value("used_memory_rss") or 0) - (node.value("used_memory") or 0)
    parts = {"name": subject(watched, node), "ratio": f"{level:.2f}", "bytes": bytes_size(spare)}
    sentence = _("%(name)s holds %(ratio)s times the memory that it uses (%(bytes)s more): fragmentation") % parts
    return notice(sentence, _("fragmented memory"), f"{level:.2f}", "fragmentation", memory_of(watched))


def overhead(watched: Watched) -> Finding | None:
    """More than half of the memory is not data. Does not apply to small servers."""

    def share(node: WatchedNode) -> float | None:
        used, beside = node.value("used_memory"), node.value("used_memory_overhead")
        return beside / used if beside and used and used > OVERHEAD_BYTES and beside / used > OVERHEAD else None

    ranking = ranked(watched.nodes, share)
    if not ranking:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "share": percent(level)}
    sentence = _("%(share)s of the memory of %(name)s is overhead: buffers, backlog and tables, not data") % parts
    return notice(sentence, _("memory overhead"), percent(level), "memory", memory_of(watched))


def output_buffers(watched: Watched) -> Finding | None:
    """A client that reads too slowly, or asks for too much at once."""
    ranking = ranked(watched.nodes, lambda node: node.value("client_recent_max_output_buffer"))
    if not ranking or ranking[0][0] < OUTPUT_BUFFER_BYTES:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "bytes": bytes_size(level)}
    sentence = _("%(name)s keeps %(bytes)s for one client that has not read its replies") % parts
    return notice(sentence, _("large output buffer"), bytes_size(level), "memory", page_of(watched, "cache-clients"))


def slow_fork(watched: Watched) -> Finding | None:
    """The last fork stopped the server for long."""
    ranking = ranked(watched.nodes, lambda node: node.value("latest_fork_usec"))
    if not ranking or ranking[0][0] < FORK_USEC:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "time": duration(level / 1e6)}
    sentence = _("%(name)s stood still for %(time)s while it forked for a snapshot or a replica") % parts
    return notice(
        sentence, _("slow fork"), duration(level / 1e6), "nodes", page_of(watched, "cache-internals", "persistence")
    )


def mixed_versions(watched: Watched) -> Finding | None:
    """Nodes of one cache run different versions: normal during an upgrade, else forgotten."""
    versions = sorted({node.version for node in watched.nodes if node.version})
    if len(versions) < 2:
        return None
    parts = {"name": watched.cache.name, "versions": ", ".join(versions)}
    sentence = _("The nodes of %(name)s run different versions: %(versions)s") % parts
    return notice(sentence, _("mixed versions"), str(len(versions)), "nodes")


def nodes_disagree(watched: Watched) -> Finding | None:
    """Nodes that answer see clusters of different sizes, or other numbers of slots with a primary.

    Does not apply outside clusters.
    """
    if not watched.is_clustered:
        return None
    sizes, slots = (views_of(watched, name) for name in ("cluster_known_nodes", "cluster_slots_assigned"))
    seen, page = sizes or slots, page_of(watched, "cache-internals", "cluster")
    if not seen:
        return None
    parts = {"name": watched.cache.name, "low": grouped(seen[0]), "high": grouped(seen[-1])}
    if sizes:
        sentence = _("The nodes of %(name)s disagree on their number: some count %(low)s, others %(high)s")
    else:
        sentence = _(
            "The nodes of %(name)s disagree on the slots that are assigned: some count %(low)s, others %(high)s"
        )
    return notice(sentence % parts, _("nodes disagree"), f"{seen[0]}/{seen[-1]}", "nodes", page)


def views_of(watched: Watched, name: str) -> list[int]:
    """Return the numbers that nodes tell of their cluster, lowest first; none where they are of one mind."""
    told = {int(number) for node in watched.nodes if (number := node.value(name)) is not None}
    return sorted(told) if len(told) > 1 else []


def open_to_all(watched: Watched) -> Finding | None:
    """We read it without a password over a network. Does not apply to the demo and to this machine."""
    cache = watched.cache
    addresses = remote_addresses(watched)
    if cache.password or cache.client_certificate or not addresses or watched.latest is None:
        return None
    encrypted = _("with TLS") if addresses[0].tls else _("without TLS")
    sentence = _("%(name)s answers without a password, %(tls)s: whoever reaches it can read and delete everything")
    return notice(sentence % {"name": cache.name, "tls": encrypted}, _("no password"), "", "nodes")


def uneven_traffic(watched: Watched) -> Finding | None:
    """Network traffic of one shard far above its siblings: a few large keys are read all the time."""
    ranking = ranked(watched.primaries(), lambda node: node.value("network_output_bytes_per_second"))
    mean = siblings_mean(ranking)
    if mean is None or ranking[0][0] < 10 * MIB or not is_uneven(ranking[0][0], mean):
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "level": bytes_rate(level), "mean": bytes_rate(mean)}
    sentence = _("%(name)s sends %(level)s, its siblings %(mean)s on average: look for large keys read often")
    return notice(
        sentence % parts, _("uneven traffic"), bytes_rate(level), "network", page_of(watched, "cache-balance")
    )


def no_connection_limit(watched: Watched) -> Finding | None:
    """Nodes whose samples carry no limit for connections: the wall cannot be seen coming."""
    bare = [n for n in watched.nodes if n.latest and not n.value("maxclients") and not n.is_failing]
    if not bare or watched.cache.other_maxclients:
        return None
    sentence = ngettext(
        "%(count)s node of %(name)s does not report maxclients: give the limit under Edit to see how near it is",
        "%(count)s nodes of %(name)s do not report maxclients: give the limit under Edit to see how near it is",
        len(bare),
    ) % {"count": len(bare), "name": watched.cache.name}
    return notice(sentence, _("no connection limit"), str(len(bare)), "connections")


def memory_of(watched: Watched) -> str:
    return page_of(watched, "cache-internals", "memory-internals")


ADVICE = (
    hot_shard,
    uneven_traffic,
    low_hit_ratio,
    connection_churn,
    blocked_clients,
    nothing_to_evict,
    fragmentation,
    overhead,
    output_buffers,
    slow_fork,
    mixed_versions,
    nodes_disagree,
    no_connection_limit,
    open_to_all,
)
