"""Commands and errors by the API."""

import gzip
import json

import pytest
from django.test import Client

from accounts.models import Role
from accounts.tests.cast import bearer_of
from collectors import tallies
from collectors.tallies import COMMAND, ERROR, NodeTallies, Tally
from collectors.tests.cast import NOON, cache_with_nodes, noon
from dashboard.tests.api import ROOT, call
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db
SPAN = f"from={NOON}&to={NOON + 600}"
PATHS = [
    "commands",
    "commands/nodes?command=get",
    "commands/series",
    "errors",
    "errors/series",
]


def tallied(node: Node, seconds: int = 60, kind: str = COMMAND, /, **by_name: Tally) -> NodeTallies:
    return NodeTallies(node.pk, noon(seconds), 60, kind, by_name, is_primary=node.role == "primary")


def busy_cache() -> Cache:
    cache = cache_with_nodes(shards=2, replicas=1)
    for node in cache.nodes.all():
        gets = Tally(600, 60_000, 0, 6, {6: 600}) if node.role == "primary" else Tally(60, 600)
        tallies.write([tallied(node, get=gets, set=Tally(60, 20_000, 3)), tallied(node, 60, ERROR, OOM=Tally(30))])
    return cache


def test_it_lists_what_commands_did_on_primaries() -> None:
    busy_cache()

    answer = call(Role.VIEWER, "get", f"/caches/game/commands?{SPAN}").json()

    get, _set = answer["commands"]
    assert (answer["role"], answer["nodes"], answer["measured_seconds"]) == ("primary", 2, 60)
    assert (get["name"], get["calls_per_second"], get["failed_per_second"]) == ("get", 20, 0.2)
    assert (get["time_share"], get["command_time_share"]) == (pytest.approx(0.001), pytest.approx(0.75))
    assert (get["latency"], get["usec_per_call"]) == ("histogram", 100)
    assert 33 < get["p50_usec"] < get["p99_usec"] < get["p999_usec"] < 67
    assert (_set["latency"], _set["p99_usec"], _set["rejected_per_second"]) == ("mean", None, 0.1)


def test_it_says_what_to_do_instead_as_the_page_does() -> None:
    node = busy_cache().nodes.filter(role="primary").first()
    assert node is not None
    tallies.write([tallied(node, 120, keys=Tally(600, 60_000))])

    commands = call(Role.VIEWER, "get", f"/caches/game/commands?{SPAN}").json()["commands"]
    nodes = call(Role.VIEWER, "get", f"/caches/game/commands/nodes?{SPAN}&command=keys").json()["nodes"]

    advice = {row["name"]: row["advice"] for row in commands}
    assert advice == {"get": "", "set": "", "keys": "Walks through all keys while everybody waits: use SCAN."}
    assert {one["advice"] for one in nodes if one["calls_per_second"]} == {advice["keys"]}


@pytest.mark.parametrize(("role", "calls"), [("primary", 20), ("replica", 2), ("all", 22)])
def test_it_counts_the_nodes_that_are_asked_for(role: str, calls: float) -> None:
    busy_cache()

    answer = call(Role.VIEWER, "get", f"/caches/game/commands?{SPAN}&role={role}").json()

    assert answer["commands"][0]["calls_per_second"] == calls


def test_it_reads_one_node() -> None:
    node = busy_cache().nodes.filter(role="replica")[0]

    answer = call(Role.VIEWER, "get", f"/caches/game/commands?{SPAN}&node={node.pk}").json()

    assert {row["name"]: row["calls_per_second"] for row in answer["commands"]} == {"get": 1, "set": 1}


def test_it_compares_one_command_over_nodes() -> None:
    cache = busy_cache()

    answer = call(Role.VIEWER, "get", f"/caches/game/commands/nodes?command=get&{SPAN}").json()

    assert {row["node_id"]: row["calls_per_second"] for row in answer["nodes"]} == {
        node.pk: 10 if node.role == "primary" else 1 for node in cache.nodes.all()
    }


def test_it_answers_a_series_a_measure() -> None:
    busy_cache()

    for measure, expected in (("calls", 20), ("time", 0.001), ("failed", 0.2), ("usec", 100)):
        answer = call(Role.VIEWER, "get", f"/caches/game/commands/series?measure={measure}&{SPAN}").json()

        line = next(line for line in answer["lines"] if line["name"] == "get")
        assert line["values"][1] == pytest.approx(expected)
        assert line["values"][5] is None


def test_it_lists_errors_of_all_nodes() -> None:
    busy_cache()

    answer = call(Role.VIEWER, "get", f"/caches/game/errors?{SPAN}").json()
    series = call(Role.VIEWER, "get", f"/caches/game/errors/series?{SPAN}").json()

    (error,) = answer["errors"]
    assert (error["name"], error["per_second"], error["count"]) == ("OOM", 2.0, 120)
    assert (error["meaning"][:14], error["action"][:7], error["is_usual"]) == ("Memory is full", "Give it", False)
    assert series["lines"][0]["values"][1] == 2


@pytest.mark.parametrize("path", PATHS)
def test_nothing_measured_is_no_error(path: str) -> None:
    cache_with_nodes()

    answer = call(Role.VIEWER, "get", f"/caches/game/{path}")

    assert answer.status_code == 200
    assert answer.json().get("measured_seconds", 0) == 0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "query",
    [
        "from=yesterday",
        "from=nan",
        "to=99999999999999",
        "from=2026-05-02&to=2026-05-01",
        "from=%00",
        "node=x",
        "node=-1",
        "node=99999999999999999999",
    ],
)
def test_it_refuses_bad_ranges_and_nodes(path: str, query: str) -> None:
    cache_with_nodes()

    answer = call(Role.VIEWER, "get", f"/caches/game/{path}{'&' if '?' in path else '?'}{query}")

    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "commands?role=x",
        "commands/nodes",
        "commands/nodes?command=",
        "commands/nodes?command=a%00",
        "commands/series?measure=x",
        "commands/series?limit=0",
        "commands/series?limit=51",
        "commands/series?step=0",
        "commands/series?from=2020-01-01&to=2026-01-01&step=60",
        "errors/series?limit=x",
    ],
)
def test_it_refuses_what_cannot_be_drawn(path: str) -> None:
    cache_with_nodes()

    assert call(Role.VIEWER, "get", f"/caches/game/{path}").status_code == 400


@pytest.mark.parametrize("path", ["commands", "commands/series", "errors", "errors/series"])
def test_it_knows_no_node_of_another_cache(path: str) -> None:
    cache_with_nodes()
    other = cache_with_nodes(name="other").nodes.get()

    assert call(Role.VIEWER, "get", f"/caches/game/{path}?node={other.pk}").status_code == 404


@pytest.mark.parametrize("path", PATHS)
def test_it_needs_the_same_queries_for_many_nodes(
    path: str, django_assert_max_num_queries: pytest.FixtureRequest
) -> None:
    cache_with_nodes(shards=30)
    headers = bearer_of()

    with django_assert_max_num_queries(10):  # type: ignore[operator]
        Client().get(f"{ROOT}/caches/game/{path}", headers=headers)


def test_it_compresses_long_series() -> None:
    cache = cache_with_nodes()
    names = {f"command-{n}": Tally(n, n) for n in range(60)}
    tallies.write([tallied(cache.nodes.get(), seconds, **names) for seconds in range(60, 600, 60)])

    answer = Client().get(
        f"{ROOT}/caches/game/commands/series?limit=20&{SPAN}", headers={**bearer_of(), "Accept-Encoding": "gzip"}
    )

    lines = json.loads(gzip.decompress(answer.content))["lines"]
    assert [len(lines), lines[0]["name"], lines[-1]["name"]] == [21, "command-59", "other"]
