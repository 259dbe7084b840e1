"""Which way an alert takes."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from alerts.models import Channel
from alerts.route import Route, Tree
from alerts.spells import LIMIT, spells
from alerts.tests.cast import channel

pytestmark = pytest.mark.django_db


def route(name: str, parent: Route | None = None, *lines: str, to: Channel | None = None, **fields: Any) -> Route:
    made = Route.objects.create(name=name, parent=parent, matchers=list(lines), **fields)
    if to:
        made.channels.add(to)
    return made


NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)  # a Wednesday


def way(at: datetime = NOW, **labels: str) -> tuple[tuple[str, ...], set[str]]:
    """Return the way of an alert with these labels, and the names of the channels on it."""
    found = Tree.load().way({"rule": "memory", "cache": "game", **labels}, at)
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

    subject = Tree.load().way({"cache": "game"}, NOW).subject({"cache": "game", "node": "a"})

    assert subject == f"{made.pk}:cache=game"


def office(parent: Route, **changes: Any) -> Route:
    """Add a branch for the hours in which the office in Berlin is staffed, an hour before UTC in winter."""
    hours: dict[str, Any] = {"weekdays": [0, 1, 2, 3, 4], "starts": time(9), "ends": time(18), "zone": "Europe/Berlin"}
    return route("office", parent, "cache=*", to=channel("desk"), **hours | changes)


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-03-04 07:59:59", "night"),
        ("2026-03-04 08:00:00", "desk"),
        ("2026-03-04 16:59:59", "desk"),
        ("2026-03-04 17:00:00", "night"),
        ("2026-03-07 12:00:00", "night"),
        # The clocks went forward on 29 March: the office opens an hour earlier by UTC.
        ("2026-03-30 07:00:00", "desk"),
        ("2026-03-30 16:00:00", "night"),
    ],
)
def test_a_branch_with_hours_takes_alerts_within_them_only(at: str, told: str) -> None:
    office(route("root", to=channel("night")))

    assert way(datetime.fromisoformat(f"{at}+00:00"))[1] == {told}


def test_outside_of_its_hours_the_branches_after_it_are_looked_at() -> None:
    root = route("root")
    office(root, position=1)
    route("duty", root, "cache=*", to=channel("night"), position=2)

    assert way(NOW) == (("root", "office"), {"desk"})
    assert way(NOW + timedelta(hours=9)) == (("root", "duty"), {"night"})


def test_hours_may_last_over_midnight() -> None:
    office(route("root", to=channel("day")), starts=time(22), ends=time(6), zone="UTC", weekdays=[2])

    told = [way(NOW + timedelta(hours=hours))[1] for hours in (9, 10, 17, 18)]

    assert told == [{"day"}, {"desk"}, {"desk"}, {"day"}]


def test_what_is_below_a_branch_keeps_its_hours() -> None:
    root = route("root", to=channel("night"))
    route("games", office(root), "cache=game", to=channel("games"))

    assert way(NOW)[1] == {"games"}
    assert way(NOW + timedelta(hours=9))[1] == {"night"}


def week(**labels: str) -> list[tuple[str, str, tuple[str, ...]]]:
    found = spells(Tree.load(), {"cache": "game", **labels}, NOW, NOW + timedelta(days=2))
    return [(f"{one.begins_at:%d %H:%M}", f"{one.ends_at:%d %H:%M}", one.way.path) for one in found]


def test_it_says_who_would_be_told_over_a_time() -> None:
    office(route("root"))

    assert week() == [
        ("04 12:00", "04 17:00", ("root", "office")),
        ("04 17:00", "05 08:00", ("root",)),
        ("05 08:00", "05 17:00", ("root", "office")),
        ("05 17:00", "06 08:00", ("root",)),
        ("06 08:00", "06 12:00", ("root", "office")),
    ]


def test_hours_that_change_nothing_for_an_alert_are_not_told_apart() -> None:
    root = route("root")
    route("all", root, "cache=*", position=0)
    office(root, position=1)

    assert week() == [("04 12:00", "06 12:00", ("root", "all"))]


def test_very_many_hours_are_shown_as_far_as_the_limit() -> None:
    root = route("root")
    for number in range(LIMIT):
        route(f"{number}", root, "cache=*", weekdays=list(range(7)), starts=time(13, number % 60), ends=time(14))

    assert len(week()) <= LIMIT


def test_hours_that_last_are_known_by_their_beginning() -> None:
    office(route("root"))
    tree = Tree.load()

    assert tree.begun(NOW) == datetime(2026, 3, 4, 8, tzinfo=UTC)
    assert tree.begun(NOW + timedelta(hours=9)) is None
