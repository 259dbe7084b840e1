"""Findings about what Google does to an instance, and what it says is wrong with it.

Silent for caches that were not found in a Google Cloud project.
"""

from __future__ import annotations

from datetime import timedelta

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.cloud import limits
from collectors.cloud.models import InstanceState
from collectors.cloud.products import Product
from collectors.cloud.service_facts import ServiceFacts
from collectors.targets import version_of
from dashboard.findings.finding import Finding, State, notice
from dashboard.templatetags.units import duration, exact_time, grouped
from dashboard.watched import Watched

# The part of the cache's page that shows it.
SERVICE = "service"
CA_WARNING, CA_CRITICAL = timedelta(days=30), timedelta(days=7)
END_WARNING, END_CRITICAL = timedelta(days=365), timedelta(days=90)
# Discovery and our own look at the nodes are not of the same minute.
SETTLED = timedelta(minutes=10)


def ca_expires(watched: Watched) -> Finding | None:
    """The certificate of the authority ends within 30 days; critical within seven, or when it has ended.

    Does not apply where one that ended has a successor: nobody needs it any more.
    """
    facts = facts_of(watched)
    ends = sorted(cert.expires_at for cert in facts.ca_certs if cert.expires_at) if facts else []
    ahead = [end for end in ends if end > watched.now]
    end = ahead[0] if ahead else ends[-1] if ends else None
    if end is None or end - watched.now > CA_WARNING:
        return None
    parts = {"name": watched.cache.name, "date": date_format(localtime(end), "DATE_FORMAT")}
    state = State.CRITICAL if end - watched.now <= CA_CRITICAL else State.WARNING
    figure = duration(end - watched.now) if ahead else _("ended")
    return Finding(state, ca_sentence(bool(ahead), len(ahead) > 1) % parts, _("CA certificate"), figure, SERVICE)


def ca_sentence(is_valid: bool, has_successor: bool) -> str:
    if not is_valid:
        return _(
            "The CA certificate of %(name)s ended on %(date)s: clients that check it cannot connect. Give them the new"
            " one from Google"
        )
    if has_successor:
        return _(
            "The CA certificate of %(name)s ends on %(date)s and its successor is there: make every client trust both"
        )
    return _(
        "The CA certificate of %(name)s ends on %(date)s: get its successor from Google and make every client trust"
        " both"
    )


def health_issue(watched: Watched) -> Finding | None:
    """What Google itself says is wrong, by Google's name."""
    facts = facts_of(watched)
    if facts is None or not facts.messages:
        return None
    told = "; ".join(": ".join(filter(None, message)) for message in facts.messages)
    sentence = _("Google says of %(name)s: %(words)s") % {"name": watched.cache.name, "words": told[:500]}
    return Finding(State.WARNING, sentence, facts.messages[0].code or _("health issue"), "", SERVICE)


def in_the_service(watched: Watched) -> Finding | None:
    """The instance is changed, maintained or repaired now; a repair is a warning."""
    words = {
        InstanceState.CHANGING: _("Google changes %(name)s now (%(state)s): latency may rise and connections may drop"),
        InstanceState.MAINTENANCE: _("Google maintains %(name)s now (%(state)s): connections may drop"),
        InstanceState.REPAIR: _("Google repairs %(name)s now (%(state)s)"),
    }
    facts = facts_of(watched)
    if facts is None or facts.state not in words:
        return None
    sentence = words[facts.state] % {"name": watched.cache.name, "state": facts.state_name}
    state = State.WARNING if facts.state == InstanceState.REPAIR else State.NOTICE
    return Finding(state, sentence, facts.state_name, "", SERVICE)


def gone(watched: Watched) -> Finding | None:
    """The instance was deleted: discovery paused its cache, which keeps its history until somebody removes it."""
    at = watched.service.instance.gone_at if watched.service else None
    if at is None:
        return None
    parts = {"name": watched.cache.name, "time": exact_time(at)}
    sentence = _(
        "%(name)s is not in its Google Cloud project any more since %(time)s: it is paused until you remove it"
    )
    return Finding(State.WARNING, sentence % parts, _("gone"), "", SERVICE, outlives_pause=True)


def end_of_life(watched: Watched) -> Finding | None:
    """The product is going to be shut down: a warning from a year before, critical from 90 days before."""
    ends = limits.end_of_life(watched.service.facts.product) if watched.service else None
    if ends is None:
        return None
    left = ends.shutdown - watched.now.date()
    parts = {
        "name": watched.cache.name,
        "product": Product.MEMCACHED.label,
        "date": date_format(ends.shutdown, "DATE_FORMAT"),
        "first": date_format(ends.no_new_from, "DATE_FORMAT"),
        "successor": ends.successor.label,
    }
    sentence = _(
        "%(name)s runs on %(product)s, which Google shuts down on %(date)s (new projects get none from %(first)s on):"
        " plan its move to %(successor)s"
    )
    state = State.CRITICAL if left <= END_CRITICAL else State.WARNING if left <= END_WARNING else State.NOTICE
    figure = duration(left) if left > timedelta() else _("ended")
    return Finding(state, sentence % parts, _("end of life"), figure, SERVICE)


def maintenance_planned(watched: Watched) -> Finding | None:
    """Google has planned maintenance; the page proposes a silence for its time."""
    facts = facts_of(watched)
    start = facts.schedule.start if facts and facts.schedule else None
    if facts is None or start is None or facts.schedule is None:
        return None
    parts = {"name": watched.cache.name, "start": exact_time(start)}
    if start <= watched.now:
        if facts.schedule.end and facts.schedule.end <= watched.now:
            return None
        sentence = _("Maintenance of %(name)s by Google began at %(start)s: connections may drop")
        return notice(sentence % parts, _("maintenance"), _("now"), SERVICE)
    sentence = _("Google maintains %(name)s at %(start)s: look at its readiness, and silence its alerts for the time")
    return notice(sentence % parts, _("maintenance"), duration(start - watched.now), SERVICE, readiness_url(watched))


def no_window(watched: Watched) -> Finding | None:
    """No window for maintenance is set. Google calls that a health issue, too."""
    facts = facts_of(watched)
    if facts is None or facts.windows or facts.state == InstanceState.GONE:
        return None
    sentence = _("%(name)s has no maintenance window: Google chooses the time and gives no notice. Set one")
    return notice(sentence % {"name": watched.cache.name}, _("no maintenance window"), "", SERVICE)


def shape_differs(watched: Watched) -> Finding | None:
    """Google says other shards, or more nodes, than we see. Does not apply while it changes, nor shortly after.

    During maintenance there is one node more for a while: only missing ones are told.
    """
    facts = settled(watched)
    if facts is None or not facts.is_cluster or not facts.shards or watched.shards is None:
        return None
    parts = {"name": watched.cache.name, "told": grouped(facts.shards), "seen": grouped(watched.shards)}
    if facts.shards != watched.shards:
        sentence = ngettext(
            "Google says that %(name)s has %(told)s shard, its nodes show %(seen)s: do both mean the same cluster?",
            "Google says that %(name)s has %(told)s shards, its nodes show %(seen)s: do both mean the same cluster?",
            facts.shards,
        )
        return notice(sentence % parts, _("shards differ"), f"{facts.shards}/{watched.shards}", SERVICE)
    wanted, there = facts.node_count or 0, len(watched.nodes)
    if there >= wanted:
        return None
    parts |= {"told": grouped(wanted), "seen": grouped(there)}
    sentence = ngettext(
        "Google says that %(name)s has %(told)s node, and %(seen)s were found: one may have failed",
        "Google says that %(name)s has %(told)s nodes, and %(seen)s were found: some may have failed",
        wanted,
    )
    return notice(sentence % parts, _("nodes differ"), f"{there}/{wanted}", SERVICE)


def version_differs(watched: Watched) -> Finding | None:
    """Google says another version than the nodes do, by the parts that Google names: 7.2 is 7.2.4 as well."""
    facts = settled(watched)
    told = version_of(facts.version) if facts else ()
    # Valkey tells the version of Redis that it can stand in for, too.
    fact = "valkey_version" if facts and facts.product == Product.VALKEY else "redis_version"
    seen = sorted({node.facts[fact] for node in watched.nodes if node.facts.get(fact)})
    others = [version for version in seen if told and version_of(version)[: len(told)] != told]
    if facts is None or not others:
        return None
    parts = {"name": watched.cache.name, "told": facts.version, "seen": ", ".join(others)}
    sentence = _("Google says that %(name)s runs version %(told)s, its nodes say %(seen)s") % parts
    return notice(sentence, _("versions differ"), facts.version, SERVICE)


def facts_of(watched: Watched) -> ServiceFacts | None:
    """Return what the service told last of an instance that is still there."""
    return watched.service.facts if watched.service and not watched.service.instance.gone_at else None


def settled(watched: Watched) -> ServiceFacts | None:
    """Return it where nothing changed lately."""
    facts = facts_of(watched)
    is_calm = watched.service is not None and watched.now - watched.service.instance.changed_at >= SETTLED
    return facts if facts and facts.state == InstanceState.UP and is_calm else None


def readiness_url(watched: Watched) -> str:
    return reverse("cache-readiness", args=[watched.cache.name])


FINDINGS = (
    ca_expires,
    health_issue,
    gone,
    end_of_life,
    in_the_service,
    maintenance_planned,
    no_window,
    shape_differs,
    version_differs,
)
