"""What the pages of Google Cloud projects show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.cloud.apis import AUTH, AUTHORITIES
from collectors.cloud.errors import sentence_of
from collectors.cloud.models import CloudInstance, CloudProject, Decision, awaited
from collectors.cloud.products import Product
from collectors.cloud.service_facts import ServiceFacts
from collectors.cloud.snapshots import facts_of
from dashboard.templatetags.units import bytes_size, grouped


@dataclass(frozen=True, slots=True)
class ProductState:
    """How the API of one product answered last."""

    product: Product
    # ok, partial (some regions, or something beside the listing), failed or waiting.
    state: str
    sentences: tuple[str, ...]
    at: datetime | None
    ok_at: datetime | None
    count: int

    @property
    def label(self) -> str:
        return str(self.product.label)


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """One project of the list."""

    project: CloudProject
    states: list[ProductState]
    instances: int
    waiting: int
    caches: int

    @property
    def worst(self) -> str:
        """Return the state that the list shows."""
        if self.project.is_paused:
            return "paused"
        order = ("failed", "partial", "waiting", "ok")
        return next((state for state in order if any(one.state == state for one in self.states)), "waiting")

    @property
    def sentences(self) -> list[str]:
        """Return what is wrong, each sentence once, with the products that it is about."""
        wrong = [one for one in self.states if one.state in {"failed", "partial"} and not self.project.is_paused]
        labels: dict[str, list[str]] = {}
        for one in wrong:
            for sentence in one.sentences:
                labels.setdefault(sentence, []).append(one.label)
        return [f"{', '.join(names)}: {sentence}" for sentence, names in labels.items()]


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """One instance that was found."""

    instance: CloudInstance
    facts: ServiceFacts
    # The row of another project that has the cache of the same instance.
    elsewhere: CloudInstance | None = None

    @property
    def product(self) -> str:
        return str(Product(self.instance.product).label)

    @property
    def needs_decision(self) -> bool:
        is_waiting = self.instance.decision == Decision.WAITING and self.instance.gone_at is None
        return is_waiting and self.instance.is_asked_for

    @property
    def is_left_alone(self) -> bool:
        """Whether its product was unticked since it was found: what is shown of it is from before."""
        return self.instance.gone_at is None and not self.instance.is_asked_for

    @property
    def has_choice(self) -> bool:
        """Whether somebody may still decide on it."""
        return self.instance.cache_id is None and self.instance.gone_at is None and self.elsewhere is None

    @property
    def size(self) -> str:
        """Return its size in words: type, shards and replicas, memory."""
        facts = self.facts
        parts = [facts.node_type or facts.tier]
        if facts.is_cluster and facts.shards:
            parts.append(
                ngettext("%(count)s shard", "%(count)s shards", facts.shards) % {"count": grouped(facts.shards)}
            )
        if facts.node_count:
            parts.append(
                ngettext("%(count)s node", "%(count)s nodes", facts.node_count) % {"count": grouped(facts.node_count)}
            )
        if facts.memory_bytes:
            parts.append(bytes_size(facts.memory_bytes))
        return " · ".join(part for part in parts if part)


def states_of(project: CloudProject) -> list[ProductState]:
    return [_state_of(product, project.state.get(product, {})) for product in Product if project.wants(product)]


def _state_of(product: Product, told: dict[str, Any]) -> ProductState:
    if not told:
        return ProductState(product, "waiting", (_("It has not been asked yet."),), None, None, 0)
    sentences = list(_sentences(product, told))
    state = "failed" if not told["ok"] else "partial" if sentences else "ok"
    return ProductState(product, state, tuple(sentences), _time(told["at"]), _time(told.get("ok_at")), told["count"])


def _sentences(product: Product, told: dict[str, Any]) -> Iterable[str]:
    """Say what went wrong, in the reader's language."""
    if not told["ok"]:
        yield sentence_of(told["cause"], told["words"])
    if told["unreachable"]:
        words = _("Not reachable at the moment, so that nothing is known of it: %(regions)s.")
        yield words % {"regions": ", ".join(told["unreachable"])}
    for key, api in (("auth", AUTH), ("authority", AUTHORITIES.get(product))):
        if api and told.get(key):
            yield f"{api.label}: {sentence_of(told[key]['cause'], told[key]['words'])}"


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def rows() -> list[ProjectRow]:
    """Return all projects with what was found in each."""
    is_there = Q(instances__gone_at=None)
    projects = CloudProject.objects.annotate(
        present=Count("instances", filter=is_there),
        waiting=Count("instances", filter=awaited("instances__", "")),
        caches=Count("instances__cache", filter=is_there),
    )
    return [ProjectRow(one, states_of(one), one.present, one.waiting, one.caches) for one in projects]


def instances_of(project: CloudProject) -> list[InstanceRow]:
    """Return what was found: first what waits for somebody, then what is there, then what is gone."""
    found = list(project.instances.select_related("cache", "project"))
    elsewhere = _elsewhere(project, [one for one in found if one.cache_id is None])
    made = [InstanceRow(one, facts_of(one), elsewhere.get((one.product, one.name, one.uid))) for one in found]
    return sorted(made, key=lambda row: (not row.needs_decision, row.instance.gone_at is not None))


def _elsewhere(project: CloudProject, lacking: list[CloudInstance]) -> dict[tuple[str, str, str], CloudInstance]:
    """Return the rows of other projects that have the caches of these instances."""
    if not lacking:
        return {}
    others: QuerySet[CloudInstance] = CloudInstance.objects.exclude(project=project).filter(
        name__in=[one.name for one in lacking], cache__isnull=False
    )
    return {(one.product, one.name, one.uid): one for one in others.select_related("project", "cache")}
