"""Which way an alert takes."""

from typing import Any

import pytest

from alerts.models import Channel
from alerts.route import Route, Tree
from alerts.tests.cast import channel

pytestmark = pytest.mark.django_db


def route(name: str, parent: Route | None = None, *lines: str, to: Channel | None = None, **fields: Any) -> Route:
    made = Route.objects.create(name=name, parent=parent, matchers=list(lines), **fields)
    if to:
        made.channels.add(to)
    return made


def way(**labels: str) -> tuple[tuple[str, ...], set[str]]:
    """Return the way of an alert with these labels, and the names of the channels on it."""
    found = Tree.load().way({"rule": "memory", "cache": "game", **labels})
    return found.path, set(Channel.objects.filter(pk__in=found.channel_ids).values_list("name", flat=True))


def test_without_routes_there_is_a_root() -> None:
    assert way() == (("root",), set())
    assert Route.objects.count() == 1


def test_the_root_takes_everything() -> None:
    route("root", to=channel("mail"))

    assert way(team="games") == (("root",), {"mail"})


def test_the_deepest_branch_that_fits_takes_it() -> None:
    root = route("root", to=channel("mail"))
    games = route("games", root, "team=games", to=channel("chat"))
    route("games at night", games, "severity=critical", to=channel("pager"))

    assert way(team="games", severity="critical") == (("root", "games", "games at night"), {"pager"})
    assert way(team="games", severity="warning") == (("root", "games"), {"chat"})
    assert way(team="shop") == (("root",), {"mail"})


def test_the_first_branch_wins() -> None:
    root = route("root")
    route("second", root, to=channel("two"), position=2)
    route("first", root, to=channel("one"), position=1)

    assert way() == (("root", "first"), {"one"})


def test_a_branch_may_let_others_have_it_too() -> None:
    root = route("root")
    route("first", root, to=channel("one"), position=1, goes_on=True)
    route("second", root, to=channel("two"), position=2)

    assert way() == (("root", "first"), {"one", "two"})


def test_a_branch_without_channels_goes_where_its_parent_does() -> None:
    root = route("root", to=channel("mail"))
    route("games", root, "team=games")

    assert way(team="games") == (("root", "games"), {"mail"})


def test_an_incident_is_about_the_labels_that_its_route_groups_by() -> None:
    made = route("root", group_by=["cache"])

    subject = Tree.load().way({"cache": "game"}).subject({"cache": "game", "node": "a"})

    assert subject == f"{made.pk}:cache=game"
