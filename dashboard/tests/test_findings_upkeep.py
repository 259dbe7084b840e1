"""Findings about maintenance, certificates, ends of life and what Google itself says is wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from collectors.cloud.known import Service
from collectors.cloud.models import CloudInstance
from collectors.cloud.service_facts import Certificate, Message, Schedule
from collectors.cloud.snapshots import facts
from dashboard import findings
from dashboard.findings import Finding, State, upkeep
from dashboard.tests.cast import NOW, member, summary, watched
from dashboard.tests.service_cast import SNAPSHOTS, WINDOW
from dashboard.watched import Watched, WatchedNode

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
CALM = NOW - DAY
QUIET: dict[str, Any] = {"maintenance_policy": {"weekly_maintenance_window": [WINDOW]}}


def known(*nodes: WatchedNode, product: str = "valkey", changed_at: datetime = CALM, **changes: Any) -> Watched:
    """Return a cache with an instance; fields of ServiceFacts may be given, snapshots' fields begin with snap_."""
    snapped = {name.removeprefix("snap_"): value for name, value in changes.items() if name.startswith("snap_")}
    given = {name: value for name, value in changes.items() if not name.startswith("snap_")}
    told = replace(facts(product, SNAPSHOTS[product] | QUIET | snapped), **given)
    service = Service(CloudInstance(changed_at=changed_at, product=product), told)
    return replace(watched(*nodes, latest=summary()), service=service)


def ca(*days: float) -> tuple[Certificate, ...]:
    return tuple(Certificate("pem", NOW + timedelta(days=day)) for day in days)


def said(finding: Finding | None) -> Finding:
    assert finding is not None
    assert finding.chart == "service"
    return finding


@pytest.mark.parametrize("check", upkeep.FINDINGS)
def test_it_is_silent_about_caches_outside_google_cloud(check: Any) -> None:
    assert check(watched(member())) is None


def test_an_instance_that_is_well_has_no_finding() -> None:
    assert [check(known()) for check in upkeep.FINDINGS] == [None] * len(upkeep.FINDINGS)


@pytest.mark.parametrize(
    ("ends", "state", "words"),
    [
        ((30.001,), None, ""),
        ((30,), State.WARNING, "get its successor"),
        ((7.001,), State.WARNING, "get its successor"),
        ((7,), State.CRITICAL, "get its successor"),
        ((0.001,), State.CRITICAL, "get its successor"),
        ((0,), State.CRITICAL, "cannot connect"),
        ((-5,), State.CRITICAL, "cannot connect"),
        ((20, 3_000), State.WARNING, "its successor is there"),
        ((-5, 3_000), None, ""),
        ((3_000, 400), None, ""),
        ((), None, ""),
    ],
    ids=str,
)
def test_a_ca_certificate_is_told_before_its_end(ends: tuple[float, ...], state: State | None, words: str) -> None:
    found = upkeep.ca_expires(known(ca_certs=ca(*ends)))

    assert (found.state if found else None) == state
    assert not found or words in found.sentence


def test_a_certificate_without_an_end_is_no_finding() -> None:
    assert upkeep.ca_expires(known(ca_certs=(Certificate("pem", None),))) is None


def test_what_google_says_is_told_by_its_name() -> None:
    messages = (Message("ZONE_DISTRIBUTION_UNBALANCED", "Nodes are uneven"), Message("", "also this"))

    found = said(upkeep.health_issue(known(messages=messages)))

    assert found.state == State.WARNING
    assert found.reason == "ZONE_DISTRIBUTION_UNBALANCED"
    assert found.sentence == ("Google says of game-cache: ZONE_DISTRIBUTION_UNBALANCED: Nodes are uneven; also this")


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [
        ("UPDATING", State.NOTICE, "changes game-cache now (UPDATING)"),
        ("REPAIRING", State.WARNING, "repairs game-cache now (REPAIRING)"),
        ("MAINTENANCE", State.NOTICE, "maintains game-cache now (MAINTENANCE)"),
    ],
)
def test_a_state_of_the_service_is_told(name: str, state: State, words: str) -> None:
    found = said(upkeep.in_the_service(known(snap_state=name)))

    assert (found.state, words in found.sentence) == (state, True)


@pytest.mark.parametrize("name", ["READY", "DELETING", "77"])
def test_other_states_are_not(name: str) -> None:
    assert upkeep.in_the_service(known(snap_state=name)) is None


def test_an_instance_that_is_gone_says_only_that() -> None:
    cache = known(ca_certs=ca(1), messages=(Message("A", "b"),), windows=())
    assert cache.service is not None
    cache.service.instance.gone_at = NOW

    told = [found for check in upkeep.FINDINGS if (found := check(cache))]

    assert [found.reason for found in told] == ["gone"]


@pytest.mark.parametrize(
    ("now", "state"),
    [
        (datetime(2026, 11, 1, tzinfo=UTC), State.NOTICE),
        (datetime(2028, 1, 31, tzinfo=UTC), State.NOTICE),
        (datetime(2028, 2, 1, tzinfo=UTC), State.WARNING),
        (datetime(2028, 11, 1, tzinfo=UTC), State.WARNING),
        (datetime(2028, 11, 2, tzinfo=UTC), State.CRITICAL),
        (datetime(2030, 1, 1, tzinfo=UTC), State.CRITICAL),
    ],
)
def test_memorystore_for_memcached_ends(now: datetime, state: State) -> None:
    found = said(upkeep.end_of_life(replace(known(product="memcached"), now=now)))

    assert found.state == state
    assert all(words in found.sentence for words in ("Jan. 31, 2029", "Feb. 1, 2027", "Memorystore for Valkey"))


@pytest.mark.parametrize("product", ["redis", "valkey"])
def test_other_products_do_not_end(product: str) -> None:
    assert upkeep.end_of_life(known(product=product)) is None


def test_planned_maintenance_leads_to_readiness() -> None:
    schedule = Schedule(NOW + 3 * DAY, NOW + 3 * DAY + DAY / 24, None, None)

    found = said(upkeep.maintenance_planned(known(schedule=schedule)))

    assert (found.state, found.figure, found.url) == (State.NOTICE, "3 d", "/caches/game-cache/readiness/")


@pytest.mark.parametrize(
    ("start", "end", "figure"),
    [
        (timedelta(0), DAY, "now"),
        (-DAY, SECOND, "now"),
        (-DAY, timedelta(0), ""),
        (-DAY, None, "now"),
        (None, None, ""),
    ],
    ids=str,
)
def test_maintenance_under_way_is_told_until_its_end(
    start: timedelta | None, end: timedelta | None, figure: str
) -> None:
    times = [None if after is None else NOW + after for after in (start, end)]

    found = upkeep.maintenance_planned(known(schedule=Schedule(times[0], times[1], None, None)))

    assert (found.figure if found else "") == figure


def test_a_missing_window_is_told() -> None:
    assert said(upkeep.no_window(known(windows=()))).reason == "no maintenance window"


def nodes(shards: int, replicas: int = 1, **node_facts: str) -> list[WatchedNode]:
    roles = ["primary"] + ["replica"] * replicas
    found = [member(shard, role, facts=node_facts, used_memory=1) for shard in range(1, shards + 1) for role in roles]
    for number, node in enumerate(found):
        node.node.shard_id = number // len(roles) + 1
    return found


@pytest.mark.parametrize(
    ("shards", "replicas", "figure"), [(3, 1, ""), (2, 1, "3/2"), (4, 1, "3/4"), (3, 0, "3/6"), (3, 2, "")]
)
def test_shards_and_missing_nodes_are_compared(shards: int, replicas: int, figure: str) -> None:
    found = upkeep.shape_differs(known(*nodes(shards, replicas)))

    assert (found.figure if found else "") == figure


@pytest.mark.parametrize(
    "changes",
    [{"snap_state": "UPDATING"}, {"changed_at": NOW - timedelta(minutes=9)}],
    ids=["being changed", "changed lately"],
)
def test_nothing_is_compared_while_it_changes(changes: dict[str, Any]) -> None:
    assert upkeep.shape_differs(known(*nodes(2), **changes)) is None
    assert upkeep.version_differs(known(*nodes(2, valkey_version="7.2.4"), **changes)) is None


@pytest.mark.parametrize("changes", [{"shards": None}, {"snap_mode": "CLUSTER_DISABLED"}], ids=str)
def test_shapes_are_compared_where_both_are_known(changes: dict[str, Any]) -> None:
    assert upkeep.shape_differs(known(*nodes(2), **changes)) is None
    assert upkeep.shape_differs(known()) is None


@pytest.mark.parametrize(
    ("product", "node_facts", "speaks"),
    [
        ("valkey", {"valkey_version": "8.0.6", "redis_version": "7.2.4"}, False),
        ("valkey", {"valkey_version": "8.1.1"}, True),
        ("valkey", {}, False),
        ("redis", {"redis_version": "7.2.4"}, False),
        ("redis", {"redis_version": "7.0.15"}, True),
    ],
    ids=str,
)
def test_versions_are_compared_as_far_as_google_names_them(
    product: str, node_facts: dict[str, Any], speaks: bool
) -> None:
    assert bool(upkeep.version_differs(known(*nodes(1, **node_facts), product=product))) == speaks


def test_a_version_that_is_not_told_differs_from_none() -> None:
    assert upkeep.version_differs(known(*nodes(1, valkey_version="8.1.1"), version="")) is None


def test_the_caches_health_counts_what_is_serious() -> None:
    told = findings.of(known(ca_certs=ca(3), windows=()))

    assert [found.state for found in told if found.chart == "service"] == [State.CRITICAL, State.NOTICE]
