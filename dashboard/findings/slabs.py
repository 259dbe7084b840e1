"""Findings about servers that keep their memory in classes of chunks, and about discovery endpoints."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.causes import sentence_of
from collectors.memcached.discovery import NODES_LIMIT
from dashboard.findings.finding import Finding, notice, ranked, subject
from dashboard.templatetags.units import bytes_size, duration, grouped, percent
from dashboard.watched import Watched, WatchedNode
from fleet.addresses import Protocol

# All threads together: Google's advice for Memorystore for Memcached.
BUSY = 0.8
UNREAD, UNREAD_ITEMS = 0.2, 1_000
WRITE_BATCH = "daemon_memcached_w_batch_size"
# A class is starved where its items go so much sooner than the oldest ones of others.
STARVED_FACTOR, STARVED_SECONDS = 10.0, 3_600.0


def number(watched: Watched, node: WatchedNode, name: str) -> float | None:
    return watched.past.slabs.get(node.node.pk, {}).get(name)


def threads_busy(watched: Watched) -> Finding | None:
    """All threads of a node near their limit. Does not apply where the number of threads is not known."""

    ranking = ranked(watched.nodes, lambda node: number(watched, node, "threads_busy_ratio"))
    if not ranking or ranking[0][0] < BUSY:
        return None
    share, node = ranking[0]
    threads = int(number(watched, node, "threads") or 0)
    sentence = ngettext(
        "%(name)s keeps its %(threads)d thread %(level)s busy",
        "%(name)s keeps its %(threads)d threads %(level)s busy: add nodes, or threads where there are cores for them",
        threads,
    )
    parts = {"name": subject(watched, node), "threads": threads, "level": percent(share)}
    return notice(sentence % parts, _("threads busy"), percent(share), "cpu")


def evicted_unread(watched: Watched) -> Finding | None:
    """Many of the evicted items were never read (a published rule: 20%). Does not apply before a thousand of them."""

    def share(node: WatchedNode) -> float | None:
        unread, evicted = number(watched, node, "evicted_unfetched"), node.value("evicted_keys")
        return unread / evicted if unread is not None and evicted and evicted >= UNREAD_ITEMS else None

    ranking = ranked(watched.nodes, share)
    if not ranking or ranking[0][0] < UNREAD:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "share": percent(min(level, 1.0))}
    sentence = _(
        "%(share)s of the items that %(name)s evicted were never read: what writes them pushes out what is needed"
    )
    return notice(sentence % parts, _("evicted unread"), percent(min(level, 1.0)), "unread")


def starved_class(watched: Watched) -> Finding | None:
    """One size of items is evicted within the hour while others stay ten times as long."""

    def age(node: WatchedNode) -> float | None:
        evicted, oldest = number(watched, node, "items_evicted_time"), number(watched, node, "items_age")
        is_starved = evicted is not None and evicted < STARVED_SECONDS and (oldest or 0) > STARVED_FACTOR * evicted
        # Evictions of long ago keep their age for ever.
        return evicted if is_starved and node.value("evicted_keys_per_second") else None

    ranking = ranked(watched.nodes, age)
    if not ranking:
        return None
    evicted, node = ranking[-1]
    oldest = number(watched, node, "items_age") or 0.0
    size = number(watched, node, "worst_slab_chunk_size")
    parts = {"name": subject(watched, node), "age": duration(max(evicted, 1)), "oldest": duration(oldest)}
    parts["size"] = bytes_size(size) if size else _("one size")
    sentence = _(
        "%(name)s evicts items of %(size)s unused for %(age)s while others stay for %(oldest)s: memory is bound in"
        " other classes (slab_automove)"
    )
    return notice(sentence % parts, _("starved class"), duration(max(evicted, 1)), "item-ages")


def no_memory(watched: Watched) -> Finding | None:
    """Items that found no memory at all. Does not apply where none was refused since the start."""
    ranking = ranked(watched.nodes, lambda node: number(watched, node, "items_outofmemory") or None)
    if not ranking:
        return None
    count, node = ranking[0]
    parts = {"name": subject(watched, node), "count": grouped(count)}
    sentence = ngettext(
        "%(name)s refused %(count)s item since its start: its class had no memory, and nothing to evict",
        "%(name)s refused %(count)s items since its start: their class had no memory, and nothing to evict",
        int(count),
    )
    return notice(sentence % parts, _("no memory in a class"), grouped(count), "slabs")


def list_untold(watched: Watched) -> Finding | None:
    """The discovery endpoint tells no list of nodes: nodes that come or go are not noticed."""
    untold = watched.past.untold
    if untold is None or not watched.nodes or watched.cache.is_paused:
        return None
    since = duration(max(1, (watched.now - untold.since).total_seconds()))
    parts = {"name": watched.cache.name, "since": since, "reason": sentence_of(untold.cause, untold.words)}
    sentence = _(
        "The discovery endpoint of %(name)s has told no nodes for %(since)s; those known are watched on. %(reason)s"
    )
    return notice((sentence % parts).rstrip(".\u3002"), _("no list of nodes"), since, "nodes")


def list_cut(watched: Watched) -> Finding | None:
    """The discovery endpoint names as many nodes as are watched of one cache at most: there may be more."""
    if len(watched.nodes) < NODES_LIMIT:
        return None
    if all(seed.protocol is not Protocol.DISCOVERY for seed in watched.cache.seeds()):
        return None
    parts = {"name": watched.cache.name, "limit": grouped(NODES_LIMIT)}
    sentence = _(
        "The discovery endpoint of %(name)s names %(limit)s nodes or more: of one cache no more than %(limit)s are"
        " watched, the first by their names"
    )
    return notice(sentence % parts, _("not all nodes"), parts["limit"], "nodes")


def batch_of_one(watched: Watched) -> Finding | None:
    """MySQL's plugin commits after every write. Applies where its settings were read over MySQL."""
    if watched.past.plugin.get(WRITE_BATCH) != "1":
        return None
    parts = {"name": watched.cache.name, "setting": WRITE_BATCH}
    sentence = _(
        "%(name)s is MySQL's plugin and commits after every write (%(setting)s is 1): in one published test larger"
        " batches wrote 36 times as fast; what is not committed yet is lost in a crash"
    )
    return notice(sentence % parts, _("writes one by one"), "1", "commands")


ADVICE = (list_untold, list_cut, batch_of_one, threads_busy, no_memory, starved_class, evicted_unread)
