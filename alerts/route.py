"""Where alerts go: a tree of routes by labels, each with channels, grouping and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy as _

from alerts import matchers
from alerts.hours import Hours
from alerts.matchers import Matcher
from alerts.recurrence import DAY

if TYPE_CHECKING:
    from alerts.models import Channel


def default_grouping() -> list[str]:
    return ["rule", "cache"]


class Route(Hours):
    """One branch. The root has no parent and takes everything; a child takes what fits its matchers.

    With weekdays it takes alerts within these hours only, without them at any time.
    """

    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="children")
    position = models.PositiveIntegerField(default=0)
    name = models.CharField(_("name"), max_length=100)
    # Lines as people write them: alerts/matchers.py.
    matchers = models.JSONField(default=list, blank=True)
    channels: models.ManyToManyField[Channel, models.Model] = models.ManyToManyField(
        "alerts.Channel", blank=True, related_name="routes"
    )
    # Labels whose values make one incident; `rule` stands for the rule's key.
    group_by = models.JSONField(default=default_grouping)
    # The first message of an incident waits so long for others of its group.
    wait_seconds = models.PositiveIntegerField(default=0)
    # News of an open incident are told this often at most; an unchanged one is told again after `repeat_seconds`.
    interval_seconds = models.PositiveIntegerField(default=60)
    repeat_seconds = models.PositiveIntegerField(default=4 * 3_600)
    # Whether the branches after this one are looked at, too.
    goes_on = models.BooleanField(default=False)

    class Meta:
        ordering = ("position", "pk")
        verbose_name = _("route")
        constraints = (
            models.UniqueConstraint(fields=("name",), condition=models.Q(parent=None), name="one_root_a_name"),
        )

    def __str__(self) -> str:
        return self.name

    @cached_property
    def parsed(self) -> tuple[Matcher, ...]:
        return matchers.parse(self.matchers)

    def fits(self, labels: Mapping[str, str]) -> bool:
        return matchers.fit(self.parsed, labels)

    def takes(self, labels: Mapping[str, str], at: datetime) -> bool:
        return self.fits(labels) and (not self.weekdays or self.weekly.covers(at))


class Step(models.Model):
    """Channels that are told as well when nobody acknowledged an incident of a route for so long."""

    route = models.ForeignKey(Route, on_delete=models.CASCADE, related_name="steps")
    after_seconds = models.PositiveIntegerField()
    channels: models.ManyToManyField[Channel, models.Model] = models.ManyToManyField("alerts.Channel", related_name="+")

    class Meta:
        ordering = ("after_seconds", "pk")

    def __str__(self) -> str:
        return f"{self.route} after {self.after_seconds} s"


@dataclass(frozen=True, slots=True)
class Way:
    """Where one alert goes: the route that groups it, and all channels on its way."""

    route: Route
    path: tuple[str, ...]
    channel_ids: frozenset[int]

    def subject(self, labels: Mapping[str, str]) -> str:
        """Return what an incident of this alert is about."""
        named = ",".join(f"{name}={labels.get(name, '')}" for name in self.route.group_by)
        return f"{self.route.pk}:{named}"[:300]


class Tree:
    """All routes, read once for a batch of alerts."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.children: dict[int | None, list[Route]] = {}
        for route in routes:
            self.children.setdefault(route.parent_id, []).append(route)

    @classmethod
    def load(cls) -> Tree:
        """Return the tree, with a root made where there is none."""
        routes = list(Route.objects.prefetch_related("channels", "steps__channels"))
        if not any(route.parent_id is None for route in routes):
            Route.objects.bulk_create([Route(name="root")], ignore_conflicts=True)
            routes = list(Route.objects.prefetch_related("channels", "steps__channels"))
        return cls(routes)

    @cached_property
    def by_id(self) -> dict[int, Route]:
        return {route.pk: route for routes in self.children.values() for route in routes}

    @property
    def has_steps(self) -> bool:
        return any(route.steps.all() for route in self.by_id.values())

    def steps(self, route_id: int | None) -> list[Step]:
        """Return a route's steps; one that has none takes those of its parent, and what has no route the first's."""
        route = self.by_id.get(route_id or 0) or self.children[None][0]
        here = list(route.steps.all())
        return here if here or route.parent_id is None else self.steps(route.parent_id)

    @cached_property
    def limited(self) -> list[Route]:
        """Return the routes that take alerts at some hours only."""
        return [route for route in self.by_id.values() if route.weekdays]

    def begun(self, at: datetime) -> datetime | None:
        """Return when the last hours began of those that last at a time; None where none do."""
        nearest = (next(route.weekly.following(at, at + DAY), None) for route in self.limited)
        return max((begins for begins, _ends in filter(None, nearest) if begins <= at), default=None)

    def edges(self, labels: Mapping[str, str], start: datetime, end: datetime) -> Iterator[datetime]:
        """Yield the moments within a time at which an alert with these labels may take another way."""
        for route in self.limited:
            if route.fits(labels):
                for window in route.weekly.following(start, end):
                    yield from (moment for moment in window if start < moment < end)

    def way(self, labels: Mapping[str, str], at: datetime) -> Way:
        """Return the way of an alert with these labels at a time: the deepest routes that fit, first ones first."""
        ends = [end for root in self.children[None][:1] for end in self._ends(root, labels, at, ())]
        channels = frozenset(channel.pk for route, _path in ends for channel in self._channels(route))
        route, path = ends[0]
        return Way(route, path, channels)

    def _ends(
        self, route: Route, labels: Mapping[str, str], at: datetime, above: tuple[str, ...]
    ) -> list[tuple[Route, tuple[str, ...]]]:
        path = (*above, route.name)
        found: list[tuple[Route, tuple[str, ...]]] = []
        for child in self.children.get(route.pk, ()):
            if child.takes(labels, at):
                found += self._ends(child, labels, at, path)
                if not child.goes_on:
                    break
        return found or [(route, path)]

    def _channels(self, route: Route) -> Iterable[Channel]:
        """Return a route's channels; one that names none goes where its parent does."""
        here = list(route.channels.all())
        return here if here or route.parent_id is None else self._channels(self.by_id[route.parent_id])
