"""What Google tells of a cache, as its page and the API show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from alerts import matchers
from alerts.silence import Silence
from collectors.cloud import limits
from collectors.cloud.known import Service
from collectors.cloud.limits import NodeLimits
from collectors.cloud.models import InstanceState
from collectors.cloud.products import Product
from collectors.cloud.service_facts import ServiceFacts, Window
from collectors.cloud.upkeep import USUAL_LENGTH, next_window
from dashboard.silence_form import proposal
from dashboard.templatetags.units import bytes_size, duration, grouped
from fleet.models import Cache

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

AUTH_WORDS = {
    "none": gettext_lazy("off"),
    "password": gettext_lazy("a password"),
    "iam": gettext_lazy("IAM tokens"),
    "token": gettext_lazy("tokens of users"),
}
CA_WORDS = {
    "instance": gettext_lazy("CA of its own"),
    "shared": gettext_lazy("CA shared by its region"),
    "customer": gettext_lazy("CA of the customer"),
}
PERSISTENCE_WORDS = {"none": gettext_lazy("off"), "rdb": "RDB", "aof": "AOF"}
# What happens to alerts meanwhile is not worth a call: a failover may begin early and take a while.
BEFORE, AFTER = timedelta(minutes=5), timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that Google tells; `value` is empty where it does not."""

    name: StrOrPromise
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Maintenance of one instance: when it may come, when it is planned, and the silence for its time."""

    windows: list[str]
    next_start: datetime | None
    start: datetime | None = None
    end: datetime | None = None
    deadline: datetime | None = None
    can_reschedule: bool | None = None
    versions: tuple[str, ...] = ()
    proposal: str = ""
    silence: Silence | None = None


@dataclass(frozen=True, slots=True)
class ServicePage:
    service: Service
    rows: list[Row]
    upkeep: Upkeep

    @property
    def tone(self) -> str:
        """Return the state of pieces.css that Google's own is drawn in."""
        tones = {InstanceState.UP: "ok", InstanceState.REPAIR: "warning", InstanceState.GONE: "critical"}
        return tones.get(self.service.facts.state, "waiting")

    @property
    def version(self) -> tuple[object, ...]:
        """Return what changes with anything that is shown."""
        instance = self.service.instance
        return instance.pk, instance.changed_at, instance.seen_at, instance.gone_at, self.upkeep.silence


def page_of(cache: Cache, service: Service | None, now: datetime) -> ServicePage | None:
    if service is None:
        return None
    return ServicePage(service, list(rows_of(service)), upkeep_of(cache, service.facts, now))


def rows_of(service: Service) -> Iterator[Row]:
    facts, published = service.facts, limits.of(service.facts)
    yield Row(_("Product"), str(Product(facts.product).label), service.instance.location)
    kind = facts.node_type or facts.tier
    if kind:
        yield Row(_("Node type") if facts.node_type else _("Tier"), kind, published.capacity_tier)
    yield Row(_("Limits of a node"), limits_words(published, facts))
    yield Row(_("Size"), bytes_size(facts.memory_bytes) if facts.memory_bytes else "", size_note(facts))
    yield Row(_("Shape"), shape_words(facts), units_words(facts))
    yield Row(_("Version"), facts.version, facts.maintenance_version)
    zone = _("primary in %(zone)s") % {"zone": facts.primary_zone} if facts.primary_zone else ""
    yield Row(_("Zones"), ", ".join(facts.zones), zone)
    yield Row(_("Endpoints"), ", ".join(f"{one.host}:{one.port} ({one.kind})" for one in facts.endpoints))
    yield Row(_("AUTH"), str(AUTH_WORDS.get(facts.auth, "")))
    yield Row(_("TLS"), "" if facts.tls is None else _("on") if facts.tls else _("off"), ca_note(facts))
    yield Row(_("Persistence"), str(PERSISTENCE_WORDS.get(facts.persistence, "")), persistence_note(facts))
    for message in facts.messages:
        yield Row(_("Health issue"), message.code or message.words, message.words if message.code else "")


def limits_words(published: NodeLimits, facts: ServiceFacts) -> str:
    vcpu = facts.vcpu or published.vcpu
    parts = [
        ngettext("%(count)s connection", "%(count)s connections", published.maxclients)
        % {"count": grouped(published.maxclients)}
        if published.maxclients
        else "",
        _("%(size)s for keys") % {"size": bytes_size(published.writable_bytes)} if published.writable_bytes else "",
        _("%(count)s vCPU") % {"count": f"{vcpu:g}"} if vcpu else "",
        _("outside the SLA") if published.in_sla is False else "",
    ]
    return ", ".join(filter(None, parts)) if published.is_published else _("no published limit")


def size_note(facts: ServiceFacts) -> str:
    if not facts.node_memory_bytes or facts.node_memory_bytes == facts.memory_bytes:
        return ""
    return _("%(size)s a node") % {"size": bytes_size(facts.node_memory_bytes)}


def shape_words(facts: ServiceFacts) -> str:
    if facts.shards is None:
        count = facts.node_count
        return ngettext("%(count)s node", "%(count)s nodes", count) % {"count": grouped(count)} if count else ""
    shards = ngettext("%(count)s shard", "%(count)s shards", facts.shards) % {"count": grouped(facts.shards)}
    if facts.replicas_per_shard is None:
        return shards
    words = ngettext("%(count)s replica each", "%(count)s replicas each", facts.replicas_per_shard)
    return f"{shards}, {words % {'count': grouped(facts.replicas_per_shard)}}"


def units_words(facts: ServiceFacts) -> str:
    most = limits.units_most(facts.product)
    if most is None or facts.node_count is None:
        return ""
    return _("nodes: %(count)s of at most %(most)s") % {"count": grouped(facts.node_count), "most": grouped(most)}


def ca_note(facts: ServiceFacts) -> str:
    ends = [one.expires_at for one in facts.ca_certs if one.expires_at]
    end = _("until %(date)s") % {"date": date_format(localtime(min(ends)), "DATE_FORMAT")} if ends else ""
    return " ".join(filter(None, (str(CA_WORDS.get(facts.ca_mode, "")), end)))


def persistence_note(facts: ServiceFacts) -> str:
    if facts.snapshot_seconds:
        return _("every %(time)s") % {"time": duration(facts.snapshot_seconds)}
    return facts.append_fsync


def upkeep_of(cache: Cache, facts: ServiceFacts, now: datetime) -> Upkeep:
    following, schedule = next_window(facts.windows, now), facts.schedule
    told = Upkeep(
        [window_words(window) for window in facts.windows],
        following[0] if following else None,
        versions=facts.available_versions,
    )
    if schedule is None or schedule.start is None:
        return told
    end = schedule.end or schedule.start + USUAL_LENGTH
    silence = silence_over(cache, schedule.start, end)
    return replace(
        told,
        start=schedule.start,
        end=end,
        deadline=schedule.deadline,
        can_reschedule=schedule.can_reschedule,
        silence=silence,
        proposal="" if silence or end <= now else proposal_for(cache, max(schedule.start - BEFORE, now), end + AFTER),
    )


def proposal_for(cache: Cache, start: datetime, end: datetime) -> str:
    comment = _("Maintenance of %(name)s by Google") % {"name": cache.name}
    return proposal(f"cache={cache.name}", comment, start, end)


def silence_over(cache: Cache, start: datetime, end: datetime) -> Silence | None:
    """Return a silence that hides all alerts of the cache for the whole time."""
    found = Silence.objects.filter(starts_at__lte=start, ends_at__gte=end, event=None)
    return next((one for one in found if matchers.fit(one.parsed, {"cache": cache.name, **cache.labels})), None)


def window_words(window: Window) -> str:
    ends = (window.begins.hour * 3600 + window.begins.minute * 60 + window.seconds) // 60 % 1440
    times = {"from": f"{window.begins:%H:%M}", "to": f"{ends // 60:02}:{ends % 60:02}"}
    return _("%(day)s, %(from)s to %(to)s UTC") % {"day": WEEKDAYS[window.day], **times}
