"""Events: of one cache, of the whole fleet, one by one; and the form for notes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import operator_required, signed_in
from collectors.event import Event, EventQuerySet, Kind
from dashboard import event_notes, failover_story
from dashboard.event_words import Mark, mark_of, moment, sentence
from dashboard.note_form import NoteForm
from fleet.models import Cache

ROWS_A_PAGE = 50
SPANS = {"1d": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30), "all": timedelta(days=9_000)}
SPAN_WORDS = {"1d": _("24 hours"), "7d": _("7 days"), "30d": _("30 days"), "all": _("all")}
USUAL_SPAN = "7d"
# Notes may be made in advance.
AHEAD = timedelta(days=366)
# What the charts show before and after an event.
AROUND = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as a list shows it."""

    event: Event
    parts: tuple[EventRow, ...] = ()

    @property
    def sentence(self) -> str:
        return sentence(self.event)

    @property
    def mark(self) -> Mark:
        return mark_of(self.event)


@dataclass(frozen=True, slots=True)
class EventQuery:
    """What the URL asks of a list of events. Unknown values fall back to the defaults."""

    kind: str = ""
    span: str = USUAL_SPAN

    @classmethod
    def of(cls, given: QueryDict) -> EventQuery:
        kind, span = given.get("kind", ""), given.get("span", USUAL_SPAN)
        return cls(kind if kind in Kind.values else "", span if span in SPANS else USUAL_SPAN)

    def apply(self, events: EventQuerySet, now: datetime) -> EventQuerySet:
        """Return the events asked for, those that are still to come too."""
        found = events.between(now - SPANS[self.span], now + AHEAD)
        found = found.of_kinds([self.kind]) if self.kind else found.on_top()
        return found.select_related("cache").prefetch_related("parts")

    def url(self, **changes: str) -> str:
        parts = {"kind": self.kind, "span": self.span, **changes}
        return "?" + urlencode({name: value for name, value in parts.items() if value})

    def spans(self) -> list[dict[str, Any]]:
        return [{"word": SPAN_WORDS[span], "url": self.url(span=span), "is_on": span == self.span} for span in SPANS]


def rows_of(events: Iterable[Event]) -> list[EventRow]:
    return [
        EventRow(event, tuple(EventRow(part) for part in sorted(event.parts.all(), key=lambda part: part.at)))
        for event in events
    ]


@require_safe
def cache_events(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    return events_page(request, Event.objects.about(cache), NoteForm(), cache)


@require_safe
def fleet_events(request: HttpRequest) -> HttpResponse:
    return events_page(request, Event.objects.all(), NoteForm(), None)


@operator_required
@require_POST
def add_cache_note(request: HttpRequest, name: str) -> HttpResponse:
    cache = get_object_or_404(Cache, name=name)
    return add_note(request, Event.objects.about(cache), cache)


@operator_required
@require_POST
def add_fleet_note(request: HttpRequest) -> HttpResponse:
    return add_note(request, Event.objects.all(), None)


def add_note(request: HttpRequest, events: EventQuerySet, cache: Cache | None) -> HttpResponse:
    form = NoteForm(request.POST)
    if form.is_valid():
        try:
            event_notes.add(signed_in(request), {**form.given(), "cache": cache}, Event.Source.PERSON)
        except ValidationError as error:
            form.refuse(error)
        else:
            return redirect("cache-events", cache.name) if cache else redirect("fleet-events")
    return events_page(request, events, form, cache)


def events_page(request: HttpRequest, events: EventQuerySet, form: NoteForm, cache: Cache | None) -> HttpResponse:
    query = EventQuery.of(request.GET)
    page = Paginator(query.apply(events, timezone.now()), ROWS_A_PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {"cache": cache, "form": form, "query": query, "page": page}
    context |= {"rows": rows_of(page.object_list), "kinds": Kind.choices, "is_bound": form.is_bound}
    return render(request, "dashboard/events.html", context, status=400 if form.errors else 200)


@operator_required
@require_POST
def end_note(request: HttpRequest, pk: int) -> HttpResponse:
    """Say that something noted without an end ends now."""
    note = get_object_or_404(Event, pk=pk)
    if not note.is_note or note.until:
        raise Http404
    event_notes.change(signed_in(request), note, {"until": max(timezone.now(), note.at)})
    return redirect(note)


@require_safe
def event(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Event.objects.select_related("cache", "story").prefetch_related("parts"), pk=pk)
    (row,) = rows_of([found])
    context: dict[str, Any] = {"row": row, "event": found, "cache": found.cache, "nodes": nodes_of(found)}
    context |= {"chart_from": iso(found.at - AROUND), "chart_to": iso(found.last_at + AROUND)}
    if found.story:
        context["whole"] = EventRow(found.story)
    if found.kind == Kind.FAILOVER and found.cache:
        context["story"] = failover_story.tell(found, timezone.now())
    if found.kind == Kind.SCALING:
        even_at = moment(found.data.get("even_at"))
        context["even_after"] = (even_at - found.at).total_seconds() if even_at else None
        context["took"] = found.last_at - found.at
    return render(request, "dashboard/event.html", context)


def iso(at: datetime) -> str:
    """Return a time as the address of a cache's page holds it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def nodes_of(event: Event) -> list[dict[str, Any]]:
    """Return the nodes concerned with times in place of numbers."""
    return [
        {**node, **{name: moment(node.get(name)) for name in ("since", "until", "started_at")}} for node in event.nodes
    ]
