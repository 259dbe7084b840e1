"""Bounds of rules on the charts of a cache."""

import json
import re
from typing import Any

import pytest

from accounts.tests.cast import client_of
from alerts import pack
from alerts.rule import Override, Rule
from alerts.tests.judged import rule
from collectors.models import NodeFact
from collectors.tests.cast import cache_with_nodes
from dashboard.charts import CHARTS, Chart
from dashboard.tests.test_fleet import sampled
from fleet.models import Cache

pytestmark = pytest.mark.django_db


@pytest.fixture
def cache() -> Cache:
    made = cache_with_nodes(2, 1)
    sampled(made, used_memory=1)
    return made


def page() -> str:
    return client_of().get("/caches/game/").content.decode()


def drawn(chart: str = "memory-share") -> list[tuple[str, float]]:
    """Return level and value of what the script is told to draw on a chart."""
    specs = json.loads(re.findall(r'id="chart-specs" type="application/json">(.+?)</script>', page())[0])
    found: list[dict[str, Any]] = next(spec["bounds"] for spec in specs if spec["key"] == chart)
    return [(bound["level"], bound["value"]) for bound in found]


def test_a_chart_shows_from_where_on_somebody_is_told(cache: Cache) -> None:
    rule(read="avg", over="2m")

    assert drawn() == [("warning", 0.8), ("critical", 0.9)]
    assert drawn("memory") == drawn("cpu") == []


def test_it_names_the_rule_and_leads_to_it(cache: Cache) -> None:
    rule()

    html = page()

    assert '<a href="/rules/memory/">Memory (warning)</a>' in html
    assert '<a href="/rules/memory/">Memory (critical)</a>' in html


def test_it_shows_the_bounds_that_count_for_this_cache(cache: Cache) -> None:
    made = rule()
    Override.objects.create(rule=made, cache=cache, bounds={"0": {"warning": 0.5, "critical": None}})
    Override.objects.create(rule=made, node=cache.nodes.first(), bounds={"0": {"warning": 0.1}})

    assert drawn() == [("warning", 0.5)]


@pytest.mark.parametrize(
    "changes",
    [
        {"where": {"cache": "other"}},
        {"where": {"labels": {"env": "prod"}}},
        {"gates": ["not-cluster", "cluster"]},
        {"read": "forecast", "over": "1h", "level": 1.0},
        {"judged": "cache", "across": "sum"},
        {"judged": "spread"},
    ],
    ids=["another cache", "other labels", "a gate", "not the amount itself", "a sum", "a spread"],
)
def test_it_leaves_out_what_no_line_can_cross(cache: Cache, changes: dict[str, Any]) -> None:
    rule(**changes)

    assert drawn() == []


def test_the_highest_node_of_a_cache_may_cross_it(cache: Cache) -> None:
    rule(judged="cache", across="max")

    assert drawn() == [("warning", 0.8), ("critical", 0.9)]


def test_a_rule_that_is_off_draws_nothing(cache: Cache) -> None:
    made = rule()
    Override.objects.create(rule=made, cache=cache, is_enabled=False)
    assert drawn() == []

    Override.objects.all().delete()
    Rule.objects.update(is_enabled=False)

    assert drawn() == []


def test_a_rule_that_cannot_be_read_breaks_nothing(cache: Cache) -> None:
    rule()
    Rule.objects.create(key="odd", text={"rule": "odd", "when": "?"})

    assert drawn() == [("warning", 0.8), ("critical", 0.9)]


@pytest.mark.parametrize(("policy", "is_drawn"), [("noeviction", True), ("allkeys-lru", False)])
def test_a_cache_that_evicts_by_design_may_be_full(cache: Cache, policy: str, is_drawn: bool) -> None:
    pack.install()
    for node in cache.nodes.all():
        NodeFact.objects.create(node=node, name="maxmemory_policy", value=policy, since="2026-01-01T00:00Z")

    assert (("warning", 0.8) in drawn()) is is_drawn
    assert ("warning", 0.7) in drawn("cpu")


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_a_chart_of_sums_shows_nodes_one_by_one(chart: Chart) -> None:
    assert {name for name, _label in chart.by_node} <= chart.of_nodes
