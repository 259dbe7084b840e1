"""Fleets whose rules fire, for the pages and the API of alerting."""

from alerts.alert import Alert
from alerts.models import Incident, Route
from alerts.tests.cast import channel
from alerts.tests.judged import Fleet, fleet, rule


def told() -> None:
    """Make the channel that everything goes to."""
    Route.objects.create(name="root").channels.add(channel())


def firing(*memory: float, shards: int = 1, key: str = "memory", name: str = "game") -> Fleet:
    """Return a fleet in which a rule on memory fires where a node is above 80 %."""
    rule(key)
    watched = fleet(shards=shards, name=name)
    watched.poll(*(memory or (0.95,)))
    return watched


def incident() -> Incident:
    return Incident.objects.get()


def alert() -> Alert:
    return Alert.objects.get()
