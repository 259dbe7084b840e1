"""Advice about how a cache is set up: limits, databases, versions, rights, encryption, clocks.

Silent where a node does not report what a sentence is about.
"""

from __future__ import annotations

from datetime import date

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.sources.rights import ALL
from collectors.targets import version_of
from dashboard.findings.finding import Finding, notice, page_of, ranked, remote_addresses, subject
from dashboard.templatetags.units import duration, grouped, percent
from dashboard.watched import Watched, WatchedNode

REFUSES_AT = 0.85
CLOCK_SECONDS = 5.0
# The end of fixes as the makers announced it (github.com/redis/redis/security, valkey.io/topics/releases): those
# still supported without a date are left out. What is older than the first line has ended, too.
REDIS_ENDS: dict[tuple[int, ...], date] = {
    (5, 0): date(2022, 4, 27),
    (6, 0): date(2022, 5, 31),
    (7, 0): date(2024, 7, 29),
    (8, 0): date(2026, 2, 11),
}
VALKEY_ENDS: dict[tuple[int, ...], date] = {
    (7, 2): date(2029, 4, 16),
    (8, 0): date(2027, 9, 15),
    (8, 1): date(2030, 3, 31),
    (9, 0): date(2028, 10, 21),
}


def writes_refused_soon(watched: Watched) -> Finding | None:
    """Memory past 85% (a common alert rule) where the server will not evict: at 100% it refuses writes.

    Does not apply where the policy is not known, nor where the server sets no limit.
    """

    def level(node: WatchedNode) -> float | None:
        is_strict = node.facts.get("maxmemory_policy") == "noeviction" and bool(node.value("maxmemory"))
        return node.value("memory_used_ratio") if is_strict else None

    ranking = ranked(watched.primaries(), level)
    if not ranking or ranking[0][0] < REFUSES_AT:
        return None
    share, node = percent(ranking[0][0]), ranking[0][1]
    parts = {"name": subject(watched, node), "level": share}
    sentence = _(
        "%(name)s evicts nothing (noeviction) and is %(level)s full: at 100%% it refuses writes. For a cache choose"
        " allkeys-lru or allkeys-lfu"
    )
    return notice(sentence % parts, _("noeviction"), share, "memory")


def several_databases(watched: Watched) -> Finding | None:
    """Keys in more than one logical database: they share memory, CPU and limits, and few clusters have them."""
    ranking = ranked(watched.primaries(), lambda node: watched.past.databases.get(node.node.pk))
    if not ranking or ranking[0][0] < 2:
        return None
    databases, node = ranking[0]
    parts = {"name": subject(watched, node), "count": grouped(databases)}
    sentence = _(
        "%(name)s keeps keys in %(count)s logical databases: they share one thread and one memory limit, and most"
        " clusters offer database 0 only"
    )
    return notice(sentence % parts, _("several databases"), grouped(databases), "keys")


def version_ended(watched: Watched) -> Finding | None:
    """A version that its makers do not mend any more. Does not apply to versions without an announced end."""
    ended = {(name, end) for node in watched.nodes if (name := node.version) and (end := end_of(node))}
    old = sorted((end, name) for name, end in ended if end <= watched.now.date())
    if not old:
        return None
    end, version = old[0]
    parts = {"name": watched.cache.name, "version": version, "date": date_format(end, "DATE_FORMAT")}
    sentence = _("%(name)s runs %(version)s: its makers ended fixes on %(date)s (a managed service may go on)")
    return notice(sentence % parts, _("version ended"), version, "nodes")


def end_of(node: WatchedNode) -> date | None:
    """Return when fixes of a node's version end or ended; None where no end is announced."""
    if "memcached_version" in node.facts:
        return None
    ends = VALKEY_ENDS if node.facts.get("valkey_version") else REDIS_ENDS
    version = version_of(node.facts.get("valkey_version") or node.facts.get("redis_version", ""))[:2]
    if len(version) < 2:
        return None
    return min(ends.values()) if version < min(ends) else ends.get(version)


def no_encryption(watched: Watched) -> Finding | None:
    """A password that crosses a network without TLS. Does not apply to this machine; without a password
    `open_to_all` says so."""
    plain = [address for address in remote_addresses(watched) if not address.tls]
    if not plain or not watched.cache.password or watched.latest is None:
        return None
    parts = {"name": watched.cache.name, "address": f"{plain[0].host}:{plain[0].port}"}
    sentence = _("%(name)s is reached without TLS (%(address)s): its password and data cross the network in clear text")
    return notice(sentence % parts, _("no TLS"), "", "nodes")


def default_user(watched: Watched) -> Finding | None:
    """Applications that sign in as the default user while it may do everything, administration included.

    Does not apply to the demo, to this machine, or where the server does not tell the rights (ACL refused).
    """
    mighty = [node for node in watched.nodes if node.facts.get("default_user") == ALL]
    shared = watched.past.connections_by_user.get("default", 0)
    if not mighty or not shared or not remote_addresses(watched):
        return None
    parts = {"name": watched.cache.name, "count": grouped(shared)}
    sentence = ngettext(
        "%(count)s connection of %(name)s uses the default user, which may do everything, FLUSHALL too: give"
        " applications users of their own",
        "%(count)s connections of %(name)s use the default user, which may do everything, FLUSHALL too: give"
        " applications users of their own",
        shared,
    )
    return notice(
        sentence % parts, _("default user"), grouped(shared), "nodes", page_of(watched, "cache-clients") + "?by=user"
    )


def clock_skew(watched: Watched) -> Finding | None:
    """A node's clock more than five seconds from ours: times in logs and EXPIREAT do not mean the same.

    Does not apply where the node does not tell its time (before Redis 6).
    """
    ahead = watched.past.clock_ahead_seconds
    ranking = ranked(watched.nodes, lambda node: abs(ahead[node.node.pk]) if node.node.pk in ahead else None)
    if not ranking or ranking[0][0] < CLOCK_SECONDS:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "time": duration(level)}
    if ahead[node.node.pk] > 0:
        sentence = _("The clock of %(name)s is %(time)s ahead of ours: compare both with a time server") % parts
    else:
        sentence = _("The clock of %(name)s is %(time)s behind ours: compare both with a time server") % parts
    return notice(sentence, _("clocks differ"), duration(level), "nodes")


ADVICE = (
    writes_refused_soon,
    several_databases,
    version_ended,
    no_encryption,
    default_user,
    clock_skew,
)
