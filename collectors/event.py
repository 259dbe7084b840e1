"""What happened to caches, as we saw it or as people and CI told us."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from fleet.models import Cache, Node

TITLE_LIMIT = 300
URL_LIMIT = 500


class Kind(models.TextChoices):
    FAILOVER = "failover", _("failover")
    ROLE = "role", _("role change")
    RESTART = "restart", _("restart")
    UNREACHABLE = "unreachable", _("unreachable")
    SCALING = "scaling", _("scaling")
    JOINED = "joined", _("node joined")
    LEFT = "left", _("node left")
    SLOTS = "slots", _("slots moved")
    MOVED = "moved", _("node moved")
    VERSION = "version", _("version change")
    CONFIG = "config", _("config change")
    EVICTION = "eviction", _("eviction")
    KEY_SCAN = "key-scan", _("key scan")
    SWITCH = "switch", _("switch")
    MAINTENANCE = "maintenance", _("maintenance")
    SERVICE = "service", _("state in the service")
    CLOUD = "cloud", _("found or gone in Google Cloud")
    DEPLOY = "deploy", _("deploy")
    SCALE_OUT = "scale-out", _("scale-out")
    LOAD_TEST = "load-test", _("load test")
    OTHER = "other", _("other")


# What people and CI may add.
NOTE_KINDS = (Kind.DEPLOY, Kind.SCALE_OUT, Kind.LOAD_TEST, Kind.OTHER)
# Detected events that go on until we see their end; without an end the others are moments.
LASTING = (Kind.UNREACHABLE, Kind.SCALING, Kind.EVICTION, Kind.KEY_SCAN, Kind.SERVICE)


class EventQuerySet(models.QuerySet["Event"]):
    def about(self, cache: Cache) -> Self:
        """Return the events of a cache, and the notes that concern it among others."""
        return self.filter(Q(cache=cache) | Q(cache=None, labels__contained_by=cache.labels))

    def between(self, start: datetime, end: datetime) -> Self:
        """Return the events that fall at least in part into a time."""
        goes_on = Q(until=None, kind__in=LASTING)
        return self.filter(Q(at__gte=start) | Q(until__gte=start) | goes_on, at__lte=end)

    def of_kinds(self, kinds: Iterable[str]) -> Self:
        return self.filter(kind__in=kinds)

    def on_top(self) -> Self:
        """Leave out what is told as part of another event."""
        return self.filter(story=None)


class Event(models.Model):
    """One thing that happened, once or several times in a row, to one cache or (a note) to many."""

    class Source(models.TextChoices):
        DETECTED = "detected", _("detected")
        PERSON = "person", _("added by hand")
        API = "api", _("added by the API")

    # No cache: a note on all caches that have these labels.
    cache = models.ForeignKey(Cache, on_delete=models.CASCADE, null=True, blank=True, related_name="events")
    labels = models.JSONField(default=dict, blank=True)
    # Set where a single node is concerned; data["nodes"] names them all.
    node = models.ForeignKey(Node, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # The event that this one is part of: an outage of a failover, a step of a scaling.
    story = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="parts")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    at = models.DateTimeField(default=timezone.now)
    until = models.DateTimeField(null=True, blank=True)
    source = models.CharField(max_length=8, choices=Source.choices, default=Source.DETECTED)
    author = models.CharField(max_length=150, blank=True)
    # Only notes have a text of their own; sentences about detected events are made from `data`.
    title = models.CharField(max_length=TITLE_LIMIT, blank=True)
    url = models.CharField(max_length=URL_LIMIT, blank=True)
    data = models.JSONField(default=dict, blank=True)
    # How many times it happened between `at` and `until`.
    count = models.PositiveIntegerField(default=1)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ("-at", "-pk")
        indexes = (
            # Markers and lists of one cache.
            models.Index(fields=("cache", "-at"), name="event_of_cache"),
            # The list of the whole fleet, and forgetting what is old.
            models.Index(fields=("-at",), name="event_newest"),
        )

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%Y-%m-%d %H:%M:%S}"

    def get_absolute_url(self) -> str:
        return reverse("event", args=[self.pk])

    @property
    def is_note(self) -> bool:
        return self.source != Event.Source.DETECTED

    @property
    def goes_on(self) -> bool:
        """Return whether we wait for its end."""
        return self.until is None and self.kind in LASTING

    @property
    def last_at(self) -> datetime:
        return self.until or self.at

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Return the nodes concerned, each with its id, address, shard, role and what happened to it."""
        found: list[dict[str, Any]] = self.data.setdefault("nodes", [])
        return found


class KnownState(models.Model):
    """What the last look at a cache saw (collectors/event_detection.py): events are the difference to the next."""

    cache = models.OneToOneField(Cache, on_delete=models.CASCADE, primary_key=True, related_name="known_state")
    at = models.DateTimeField()
    state = models.JSONField()

    def __str__(self) -> str:
        return f"{self.cache_id} at {self.at:%H:%M:%S}"
