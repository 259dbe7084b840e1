"""Findings about Cloud Monitoring: it does not answer, it has nothing to say, or it says something else than the nodes.

Silent for caches that were not found in a Google Cloud project.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from alerts.figures import figure
from collectors.cloud import agreement
from collectors.cloud.latest import FRESH
from dashboard.findings.finding import Finding, State, notice
from dashboard.templatetags.units import duration, exact_time
from dashboard.watched import Watched

CHARTS = "service-charts"


def monitoring_away(watched: Watched) -> Finding | None:
    """Cloud Monitoring has not answered for minutes. A notice where the nodes are read all the same."""
    feed = watched.feed
    if feed is None or watched.cache.is_paused or not feed.is_away(watched.now):
        return None
    parts = {"project": feed.project_id, "reason": feed.reason}
    if feed.answered_at is None:
        sentence = _("Cloud Monitoring of project %(project)s has never answered: %(reason)s") % parts
    else:
        parts["since"] = exact_time(feed.answered_at)
        sentence = _("Cloud Monitoring of project %(project)s has not answered since %(since)s: %(reason)s") % parts
    since = feed.answered_at or feed.failing_since
    age = duration((watched.now - since).total_seconds()) if since else ""
    if watched.is_remote:
        return Finding(State.WARNING, sentence, _("no Cloud Monitoring"), age, CHARTS)
    return notice(sentence, _("no Cloud Monitoring"), age, CHARTS)


def monitoring_gone(watched: Watched) -> Finding | None:
    """Only Cloud Monitoring could tell of the cache, and no project is left to ask for it."""
    if not watched.is_remote or watched.cache.is_paused or watched.service or watched.feed:
        return None
    sentence = _(
        "Nobody reads %(name)s: its nodes are not polled, and no Google Cloud project here has it. Add its project,"
        " or let its nodes be polled"
    )
    return Finding(State.WARNING, sentence % {"name": watched.cache.name}, _("nobody reads it"), "", "")


def monitoring_silent(watched: Watched) -> Finding | None:
    """Cloud Monitoring answers, but tells nothing new of a cache that nobody else tells of."""
    feed, at = watched.feed, watched.latest.at if watched.latest else None
    if feed is None or at is None or feed.is_away(watched.now) or not (watched.is_remote and watched.is_stale):
        return None
    age = duration((watched.now - at).total_seconds())
    parts = {"name": watched.cache.name, "age": age, "project": feed.project_id}
    if feed.newest_at is None or watched.now - feed.newest_at > FRESH:
        sentence = _(
            "Cloud Monitoring of project %(project)s answers, but has had no figures of anything, nor of %(name)s, for"
            " %(age)s: is the clock of this machine ahead?"
        )
    else:
        sentence = _("Cloud Monitoring answers, but has had no figures of %(name)s for %(age)s")
    sentence %= parts
    return Finding(State.WARNING, sentence, _("no figures"), age, CHARTS)


def figures_disagree(watched: Watched) -> Finding | None:
    """The service and the nodes tell different numbers for the same minutes, far beyond what sampling explains.

    Does not apply to what rises or falls fast meanwhile, nor where one of both is not known.
    """
    if watched.is_remote or watched.feed is None or watched.feed.is_away(watched.now):
        return None
    found = agreement.disagreements(watched.cache, watched.now)
    if not found:
        return None
    worst = found[0]
    parts = {
        "name": watched.cache.name,
        "metric": worst.metric,
        "service": figure(worst.service, worst.unit),
        "nodes": figure(worst.nodes, worst.unit),
    }
    sentence = _(
        "%(name)s: Cloud Monitoring says %(service)s for %(metric)s, its nodes say %(nodes)s: is a node missing here,"
        " or does the address lead elsewhere?"
    )
    return notice(sentence % parts, _("figures differ"), figure(worst.service, worst.unit), CHARTS)


ADVICE = (figures_disagree,)
