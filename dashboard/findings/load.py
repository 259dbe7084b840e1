"""Findings about CPU and connections."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.findings.finding import Finding, State, is_uneven, page_of, ranked, siblings_mean, state_of, subject
from dashboard.templatetags.units import grouped, percent, rate
from dashboard.watched import Watched

CPU_WARNING, CPU_CRITICAL = 0.8, 0.95
FULL_WARNING, FULL_CRITICAL = 0.8, 0.95


def cpu_busy(watched: Watched) -> Finding | None:
    """A main thread near one whole core: the node can do no more."""
    ranking = ranked(watched.nodes, lambda node: node.cpu_ratio) if watched.cache.abilities.one_thread else []
    if not ranking or ranking[0][0] < CPU_WARNING:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "level": percent(level)}
    sentence = _("%(name)s keeps its main thread %(level)s busy; at 100%% it can do no more") % parts
    return Finding(state_of(level, CPU_CRITICAL), sentence, _("CPU %s") % percent(level), percent(level), "cpu")


def cpu_uneven(watched: Watched) -> Finding | None:
    """One shard works much harder than its siblings: a hot key or an uneven spread of slots."""
    ranking = ranked(watched.primaries(), lambda node: node.cpu_ratio)
    mean = siblings_mean(ranking)
    if mean is None or not is_uneven(ranking[0][0], mean) or ranking[0][0] >= CPU_WARNING:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "level": percent(level), "mean": percent(mean)}
    sentence = _("%(name)s uses %(level)s of a core, its siblings %(mean)s on average") % parts
    return Finding(
        State.WARNING, sentence, _("uneven CPU"), percent(level), "cpu", url=page_of(watched, "cache-balance")
    )


def connections_full(watched: Watched) -> Finding | None:
    """Connections near maxclients on the fullest node."""
    ranking = ranked(watched.nodes, lambda node: node.value("connections_used_ratio"))
    if not ranking or ranking[0][0] < FULL_WARNING:
        return None
    level, node = ranking[0]
    limit = node.value("maxclients") or watched.cache.other_maxclients
    # Links to replicas and of the cluster bus count, too: the share and the number have to agree.
    clients = round(level * limit) if limit else node.value("connected_clients")
    sentence = ngettext(
        "%(name)s has %(clients)s connection, %(level)s of the %(limit)s it allows",
        "%(name)s has %(clients)s connections, %(level)s of the %(limit)s it allows",
        int(clients or 0),
    ) % {
        "name": subject(watched, node),
        "clients": grouped(clients),
        "level": percent(level),
        "limit": grouped(limit),
    }
    state = state_of(level, FULL_CRITICAL)
    short = _("connections %s") % percent(level)
    return Finding(state, sentence, short, percent(level), "connections", url=page_of(watched, "cache-clients"))


def connections_uneven(watched: Watched) -> Finding | None:
    """One shard with far more connections than its siblings, at a level that matters."""
    ranking = ranked(watched.primaries(), lambda node: node.value("connections_used_ratio"))
    mean = siblings_mean(ranking)
    if mean is None or not is_uneven(ranking[0][0], mean) or ranking[0][0] >= FULL_WARNING:
        return None
    level, node = ranking[0]
    parts = {"name": subject(watched, node), "level": percent(level), "mean": percent(mean)}
    sentence = _("%(name)s uses %(level)s of its connections, its siblings %(mean)s on average") % parts
    page = page_of(watched, "cache-balance")
    return Finding(State.WARNING, sentence, _("uneven connections"), percent(level), "connections", url=page)


def connections_rejected(watched: Watched) -> Finding | None:
    """Clients turned away because maxclients is reached."""
    rejected = watched.latest.rejected_connections_per_second if watched.latest else None
    if not rejected:
        return None
    sentence = _("%(name)s rejects connections, %(rate)s: maxclients is reached") % {
        "name": watched.cache.name,
        "rate": rate(rejected),
    }
    page = page_of(watched, "cache-clients")
    return Finding(State.CRITICAL, sentence, _("rejecting connections"), rate(rejected), "connections", url=page)
