"""What a route does, in whole sentences, in the active language."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from alerts.channels import kind_of
from alerts.figures import span
from alerts.models import Channel, Route


def sentence(route: Route, channels: Iterable[Channel]) -> str:
    """Return what a route takes, when, and who is told of it."""
    return " ".join([_takes(route), *_otherwise(route), _tells(route, channels)])


def _takes(route: Route) -> str:
    given = {"what": ", ".join(route.matchers), "hours": route.hours_words}
    if not route.matchers:
        return _("Takes every alert.")
    if route.weekdays:
        return _("Takes alerts with %(what)s, only %(hours)s.") % given
    return _("Takes alerts with %(what)s, at any time.") % given


def _otherwise(route: Route) -> Iterable[str]:
    if route.weekdays:
        yield _("At other times the routes after it are looked at, and then the one above.")
    if route.wait_seconds:
        yield _("The first message waits %(time)s for others of its group.") % {"time": span(route.wait_seconds)}
    if route.goes_on:
        yield _("The routes after it are looked at, too.")


def _tells(route: Route, channels: Iterable[Channel]) -> str:
    if chosen := list(channels):
        told = _("Tells %(channels)s.") % {"channels": ", ".join(channel.name for channel in chosen)}
        can_page = any(kind_of(channel.kind).can_page for channel in chosen)
        return told if can_page else f"{told} {_('That wakes nobody: choose a channel for paging, too.')}"
    if route.parent_id is None:
        return _("Tells nobody: choose channels.")
    return _("Tells those of the route above.")
