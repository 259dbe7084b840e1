"""What pages read from their address: unknown values fall back, and links keep the rest."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from django.test import RequestFactory
from django.utils import timezone

from dashboard.command_query import LEAST_SPAN, MOST_SPAN, SORTS, CommandQuery
from dashboard.commands import CommandRow
from dashboard.overview import DESCENDING_FIRST, HEALTH_WORDS, Query, Row
from dashboard.overview import SORTS as FLEET_SORTS
from dashboard.refresh import fingerprint, is_refresh, unchanged
from dashboard.tests.cast import NOW, summary
from dashboard.views.clients import ClientQuery
from dashboard.views.events import EventQuery
from dashboard.views.latency import LatencyQuery
from dashboard.views.slowlog import TEXT_LIMIT, SlowQuery
from fleet.models import Cache

HOSTILE = ["", "nonsense", "-1", "0", "²", "1e9", "9" * 40, "\0", "<b>", "'; --", "x" * 10_000, "１２", "\u202e"]


def given(**values: str) -> QueryDict:
    return QueryDict(urlencode(values))


def commands(**values: str) -> CommandQuery:
    return CommandQuery.of(given(**values), 3_600)


def row(name: str, **figures: Any) -> CommandRow:
    known: dict[str, Any] = dict.fromkeys(CommandRow.__dataclass_fields__, None)
    return CommandRow(**{**known, "name": name, "latency": "mean", **figures})


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("name", ["span", "by", "node", "sort", "kind", "log", "page"])
def test_nonsense_falls_back(name: str, value: str) -> None:
    asked = given(**{name: value})

    assert ClientQuery.of(asked) == ClientQuery()
    assert LatencyQuery.of(asked) == LatencyQuery()
    assert EventQuery.of(asked) == EventQuery()
    assert SlowQuery.of(asked) in {SlowQuery(), SlowQuery(node="0")}


@pytest.mark.parametrize("value", [value for value in HOSTILE if value not in {"１２", "1e9"}])
@pytest.mark.parametrize("name", ["nodes", "sort", "from", "to"])
def test_nonsense_leaves_the_page_of_commands_as_it_was(name: str, value: str) -> None:
    asked = commands(**{name: value})

    assert (asked.role, asked.node, asked.sort, asked.start, asked.end) == ("primary", 0, "-time", None, None)


@pytest.mark.parametrize(
    ("span", "seconds"),
    [
        ("", 3_600),
        ("x", 3_600),
        ("-60", 3_600),
        ("0", LEAST_SPAN),
        ("59", LEAST_SPAN),
        ("60", 60),
        ("86400", 86_400),
        ("999999999", MOST_SPAN),
        ("9999999999", 3_600),
        ("1.5", 3_600),
    ],
)
def test_a_range_has_bounds(span: str, seconds: int) -> None:
    assert commands(span=span).span == seconds


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-05-04T12:00:00Z", "2026-05-04T13:00:00Z", (12, 13)),
        ("2026-05-04T12:00:00Z", "2026-05-04T12:00:00Z", (12, None)),
        ("2026-05-04T12:00:00Z", "2026-05-04T11:00:00Z", (12, None)),
        ("2026-05-04T21:00:00+09:00", "", (12, None)),
        ("2026-05-04T12:00:00", "soon", (12, None)),
        ("", "2026-05-04T13:00:00Z", (None, None)),
        ("1999-12-31T23:59:59Z", "", (None, None)),
    ],
)
def test_a_fixed_range_begins_before_it_ends(start: str, end: str, expected: tuple[int | None, int | None]) -> None:
    asked = commands(**{"from": start, "to": end})

    hours = tuple(at and at.astimezone(UTC).hour for at in (asked.start, asked.end))
    assert hours == expected


def test_a_range_that_begins_in_the_future_is_the_usual_one() -> None:
    soon = (timezone.now() + timedelta(hours=1)).isoformat()

    start, end = commands(**{"from": soon}).range()

    assert end - start == timedelta(hours=1)
    assert end <= timezone.now()


def test_an_open_range_ends_now() -> None:
    start, end = commands(**{"from": "2026-05-04T12:00:00Z"}).range()

    assert start == datetime(2026, 5, 4, 12, tzinfo=UTC)
    assert abs(end - timezone.now()) < timedelta(seconds=10)


@pytest.mark.parametrize(("nodes", "role", "node"), [("all", "all", 0), ("replica", "replica", 0), ("7", "primary", 7)])
def test_it_counts_the_nodes_of_a_role_or_one(nodes: str, role: str, node: int) -> None:
    asked = commands(nodes=nodes)

    assert (asked.role, asked.node, asked.nodes) == (role, node, nodes)


@pytest.mark.parametrize("name", SORTS)
def test_what_is_not_known_comes_last_in_both_orders(name: str) -> None:
    figures = {"name": "", "calls": "calls_per_second", "time": "time_share", "usec": "usec_per_call"}
    field = figures.get(name) or {"rejected": "rejected_per_second", "failed": "failed_per_second"}.get(name, "")
    field = field or f"{name}_usec"
    rows = [row("a", **{field: 1.0}), row("b"), row("c", **{field: 0.0})] if name != "name" else [row("b"), row("a")]

    up, down = ([one.name for one in commands(sort=f"{sign}{name}").sorted(rows)] for sign in ("", "-"))

    assert (up, down) == ((["a", "b"], ["b", "a"]) if name == "name" else (["c", "a", "b"], ["a", "c", "b"]))


@pytest.mark.parametrize("name", SORTS)
def test_a_second_click_turns_the_order_round(name: str) -> None:
    first = commands(sort="").sort_url(name)
    sort = str(QueryDict(first[1:]).get("sort", "-time"))

    assert CommandQuery.of(given(sort=sort), 60).sort_url(name) != first


def test_a_link_keeps_range_nodes_order_and_command() -> None:
    asked = commands(span="900", nodes="all", sort="calls", command="get")

    assert asked.url() == "?span=900&nodes=all&sort=calls&command=get"
    assert asked.without_command == "?span=900&nodes=all&sort=calls"
    assert commands().url() == "?"


@pytest.mark.parametrize("text", ["a&b=c", "#x", "<b>", "é", "a b+c%"])
def test_a_link_carries_odd_texts_back_unchanged(text: str) -> None:
    back = CommandQuery.of(QueryDict(commands(command=text).url()[1:]), 60)

    assert back.command == text
    assert Query.of(QueryDict(Query.of(given(q=text, label=text)).url()[1:])).label == text


@pytest.mark.parametrize(("text", "length"), [("x" * 40, 40), ("x" * 10_000, 40)])
def test_the_name_of_a_command_has_an_end(text: str, length: int) -> None:
    assert len(commands(command=text).command) == length


@pytest.mark.parametrize(
    ("asked", "prefix"),
    [({}, None), ({"prefix": ""}, ""), ({"prefix": "user:"}, "user:"), ({"prefix": "x" * 999}, None)],
)
def test_no_prefix_is_another_question_than_any(asked: dict[str, str], prefix: str | None) -> None:
    found = SlowQuery.of(given(**asked)).prefix

    assert found == (prefix if len(asked.get("prefix", "")) < 999 else "x" * TEXT_LIMIT)


@pytest.mark.parametrize(
    ("prefix", "url"),
    [(None, "?span=1d&command=GET"), ("", "?span=1d&command=GET&prefix="), ("a:", "?span=1d&command=GET&prefix=a%3A")],
)
def test_the_pages_of_a_group_stay_in_it(prefix: str | None, url: str) -> None:
    assert SlowQuery(command="GET", prefix=prefix).page_url() == url


@pytest.mark.parametrize(("node", "chosen"), [("", [4, 5]), ("4", [4]), ("6", [4, 5])])
def test_a_node_of_another_cache_stands_for_all(node: str, chosen: list[int]) -> None:
    assert SlowQuery(node=node).filter([4, 5], NOW).node_ids == chosen


@pytest.mark.parametrize("state", [*HEALTH_WORDS, "attention"])
def test_each_state_can_be_asked_for(state: str) -> None:
    assert Query.of(given(state=state)).state == state


@pytest.mark.parametrize(("values", "expected"), [({"q": " A  b "}, "A  b"), ({"q": "x" * 999}, "x" * 100), ({}, "")])
def test_the_text_to_look_for_has_an_end(values: dict[str, str], expected: str) -> None:
    assert Query.of(given(**values)).text == expected


def known(name: str, **figures: Any) -> Row:
    return Row(Cache(pk=1, name=name, address="redis://10.0.0.9", labels={"team": "Shop"}), summary(**figures), ())


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("game", True),
        ("GAME", True),
        ("shop game", True),
        ("game chat", False),
        ("10.0.0.9", True),
        ("team=shop", True),
        ("%", False),
        ("", True),
    ],
)
def test_all_words_must_be_found_somewhere(text: str, fits: bool) -> None:
    assert Query(text=text).matches(known("game-cache")) == fits


@pytest.mark.parametrize(("label", "fits"), [("team=Shop", True), ("team=shop", False), ("team", False), ("", True)])
def test_a_label_fits_as_a_whole(label: str, fits: bool) -> None:
    assert Query(label=label).matches(known("game-cache")) == fits


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("memory", "memory_used_ratio"),
        ("cpu", "cpu_ratio"),
        ("hits", "hit_ratio"),
        ("evictions", "evicted_keys_per_second"),
    ],
)
def test_a_cache_that_reports_nothing_is_last_not_zero(name: str, figure: str, sign: str) -> None:
    rows = [known("silent"), known("zero", **{figure: 0.0}), known("some", **{figure: 0.4})]

    names = [row.cache.name for row in Query(sort=f"{sign}{name}").sorted(rows)]

    assert names[-1] == "silent"
    assert names[:2] == (["some", "zero"] if sign else ["zero", "some"])


@pytest.mark.parametrize("name", FLEET_SORTS)
def test_the_first_click_shows_what_matters_most(name: str) -> None:
    url = Query(sort="").sort_url(name)

    assert f"sort={'-' if name in DESCENDING_FIRST else ''}{name}" in url or url == "?"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"HX-Request": "true"}, True),
        ({"HX-Request": "true", "HX-History-Restore-Request": "true"}, False),
    ],
)
def test_going_back_asks_for_the_whole_page(headers: dict[str, str], expected: bool) -> None:
    assert is_refresh(RequestFactory().get("/", headers=headers)) == expected


def test_a_version_changes_with_anything_shown() -> None:
    versions = {fingerprint(*shown) for shown in ((1,), ("1",), (1, 2), (None,), (0,), ((1, 2),), ())}

    assert len(versions) == 7
    assert fingerprint(1, "a") == fingerprint(1, "a")


@pytest.mark.parametrize(
    ("query", "status"), [("?version=abc", 204), ("?version=abd", None), ("", None), ("?version=", None)]
)
def test_the_page_is_left_alone_only_where_nothing_changed(query: str, status: int | None) -> None:
    answer = unchanged(RequestFactory().get(f"/{query}"), "abc")

    assert (answer and answer.status_code) == status
