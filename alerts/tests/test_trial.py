"""Trying rules on the past: what they would have found, counted as in earnest."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from alerts import trial
from alerts.rule import Override, Rule
from alerts.spec_form import read_spec
from alerts.tests.judged import rule
from alerts.trial import Trial
from collectors import partitions, tallies, tally_rollups
from collectors.event import Event, Kind
from collectors.metrics.slots import ROLLED, SLOT
from collectors.tallies import ERROR, NodeTallies, Tally
from collectors.tests.cast import cache_with_nodes
from fleet.models import Cache, Node

pytestmark = pytest.mark.django_db
STEP = 300
NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
INSERT = (
    "INSERT INTO rollup_5m (at, node_id, samples, mean, minimum, maximum, last)"
    " VALUES (%s, %s, 20, %s::real[], %s::real[], %s::real[], %s::real[])"
)


@pytest.fixture
def cache(db: None) -> Cache:
    return cache_with_nodes()


def rolled(node: Node, memory: str, metric: str = "memory_used_ratio", back: int = 0) -> None:
    """Store a rollup for each digit, tenths of the limit; the last one ends now, or `back` steps ago. `_` is a gap."""
    with connection.cursor() as cursor:
        for index, digit in enumerate(memory):
            at = NOW - timedelta(seconds=STEP * (len(memory) - index + back))
            if digit != "_":
                values: list[float | None] = [None] * len(ROLLED)
                values[SLOT[metric] - 1] = int(digit) / 10
                partitions.ensure_partition("rollup_5m", at)
                cursor.execute(INSERT, [at, node.pk, values, values, values, values])


def tried(**changes: Any) -> Trial:
    hours, overrides = changes.pop("hours", 24), changes.pop("overrides", ())
    term = {"metric": "memory_used_ratio", "warning": 0.65, "critical": 0.85}
    term |= {name: changes.pop(name) for name in ("metric", "warning", "critical", "read", "over") if name in changes}
    given: Mapping[str, Any] = {"rule": "memory", "when": {"all": [term]}} | changes
    return trial.run(read_spec(given), NOW, timedelta(hours=hours), overrides)


def spans(found: Trial) -> list[tuple[int, int | None, str]]:
    """Return in minutes before the end when each firing began and ended, and how bad it was."""
    return [
        (
            round((found.end - (one.fired_at or one.began_at)) / timedelta(minutes=1)),
            round((found.end - one.ended_at) / timedelta(minutes=1)) if one.ended_at else None,
            one.severity,
        )
        for one in found.fired
    ]


def test_it_finds_what_would_have_fired(cache: Cache) -> None:
    rolled(Node.objects.get(), "1117771111")

    found = tried()

    assert spans(found) == [(35, 20, "warning")]
    assert (len(found.pages), found.flaps, found.waited_only) == (1, 0, 0)


def test_it_keeps_the_worst_of_an_episode(cache: Cache) -> None:
    rolled(Node.objects.get(), "1179711")

    (episode,) = tried().fired

    assert (episode.severity, episode.bound) == ("critical", 0.85)
    assert episode.value == pytest.approx(0.9)


def test_what_waits_in_vain_is_counted_apart(cache: Cache) -> None:
    rolled(Node.objects.get(), "1117111771177711")

    found = tried(**{"for": "10m"})

    assert (found.waited_only, len(found.fired)) == (2, 1)


def test_a_rules_time_counts_within_the_points(cache: Cache) -> None:
    rolled(Node.objects.get(), "1171")

    assert [len(tried(**{"for": wait}).fired) for wait in ("1s", "4m", "5m")] == [1, 1, 0]


def test_what_still_fires_has_no_end(cache: Cache) -> None:
    rolled(Node.objects.get(), "1177")

    assert tried().fired[0].ended_at is None


def test_what_flaps_is_seen_and_paged_less_often(cache: Cache) -> None:
    rolled(Node.objects.get(), "1" + "71" * 20)

    found = tried()

    assert found.flaps == 1
    assert len(found.pages) == len(found.fired) < 20


def test_alerts_of_one_group_are_one_page(db: None) -> None:
    cache_with_nodes(3)
    for node in Node.objects.all():
        rolled(node, "1177711")

    found = tried()

    assert (len(found.fired), len(found.pages)) == (3, 1)


def test_an_hour_says_nothing_of_a_week(cache: Cache) -> None:
    rolled(Node.objects.get(), "17" * 3 + "1" * 6)

    assert tried(hours=7 * 24).pages_a_week is None
    assert tried(hours=7 * 24).known == timedelta(minutes=60)


def test_pages_a_week_are_those_of_the_time_that_is_known(cache: Cache) -> None:
    rolled(Node.objects.get(), "1177" + "1" * 284, back=36)

    found = tried(hours=7 * 24)

    assert (found.known, len(found.pages)) == (timedelta(days=1), 1)
    assert found.pages_a_week == pytest.approx(7)


def test_what_one_of_several_nodes_tells_is_known(db: None) -> None:
    cache_with_nodes(2)
    rolled(Node.objects.all()[0], "1" * 12)
    rolled(Node.objects.all()[1], "1" * 6, back=3)

    found = tried(hours=1)

    assert (found.known, found.unknown_share) == (timedelta(hours=1), 0.25)


def test_what_is_unknown_stays_unknown(cache: Cache) -> None:
    rolled(Node.objects.get(), "17__7711____")

    found = tried(hours=1)

    assert found.unknown_share == pytest.approx(0.5)
    assert spans(found) == [(55, 30, "warning")]


def test_a_metric_without_a_past_is_wholly_unknown(cache: Cache) -> None:
    rolled(Node.objects.get(), "7" * 12)

    found = tried(hours=1, metric="mem_clients_slaves", warning=1, critical=2)

    assert (found.unknown_share, found.fired) == (1.0, [])


def test_calm_after_events_counts(cache: Cache) -> None:
    rolled(Node.objects.get(), "1177771111")
    Event.objects.create(cache=cache, kind=Kind.RESTART, at=NOW - timedelta(minutes=40))

    assert spans(tried(calm={"restart": "12m"})) == [(25, 20, "warning")]
    assert spans(tried(calm={"failover": "12m"})) == [(40, 20, "warning")]


def test_overrides_count(cache: Cache) -> None:
    rolled(Node.objects.get(), "1177711")
    kept = rule()
    higher = Override.objects.create(rule=kept, cache=cache, bounds={"0": {"warning": 0.8}})

    assert len(tried().fired) == 1
    assert len(tried(overrides=(higher,)).fired) == 0


def test_gates_and_places_count(cache: Cache) -> None:
    rolled(Node.objects.get(), "1177711")

    assert tried(gates=["replicated"]).targets == 0
    assert tried(where={"cache": "shop"}).nodes == 0
    assert len(tried(judged="cache").fired) == 1


def outage(cache: Cache, minutes: float, lasted: float, **entry: Any) -> None:
    node, at = Node.objects.get(), NOW - timedelta(minutes=minutes)
    until = at + timedelta(minutes=lasted)
    nodes = [{"id": node.pk, "since": at.timestamp(), "until": until.timestamp(), "cause": "refused"} | entry]
    Event.objects.create(cache=cache, kind=Kind.UNREACHABLE, at=at, until=until, data={"nodes": nodes})


@pytest.mark.parametrize(
    ("lasted", "entry", "fired"),
    [(10, {}, 1), (10, {"cause": "silent"}, 1), (0.2, {}, 0), (0.9, {"cause": "silent"}, 0)],
)
def test_outages_are_known_from_events(cache: Cache, lasted: float, entry: dict[str, Any], fired: int) -> None:
    rolled(Node.objects.get(), "1" * 12)
    outage(cache, 30, lasted, **entry)

    found = tried(hours=1, metric="down", warning=None, critical=0, **{"for": "1s"})

    assert (len(found.fired), found.unknown_share) == (fired, 0)


def test_errors_are_counted_by_ten_minutes(cache: Cache) -> None:
    node, at = Node.objects.get(), int((NOW - timedelta(hours=2)).timestamp())
    for minute in range(60):
        calls = 600 if 20 <= minute < 30 else 0
        when = datetime.fromtimestamp(at + minute * 60, UTC)
        tallies.write([NodeTallies(node.pk, when, 60, ERROR, {"OOM": Tally(calls=calls)})])
    tally_rollups.roll_up_tallies(NOW)

    found = tried(hours=3, metric="errors.OOM", warning=None, critical=1)

    assert (found.step, len(found.fired)) == (600, 1)


def test_many_nodes_make_the_steps_coarser(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_with_nodes(4)
    monkeypatch.setattr(trial, "POINTS", 24 * 4)

    found = tried()

    assert (found.step, found.nodes, found.is_partial) == (3_600, 4, False)


def test_too_many_nodes_are_said_to_be_left_out(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("game", "shop"):
        cache_with_nodes(4, name=name)
    monkeypatch.setattr(trial, "POINTS", 8 * 4)

    found = tried()

    assert (found.step, found.nodes, found.of_nodes, found.is_partial) == (10_800, 4, 8, True)


def test_trying_writes_nothing(cache: Cache) -> None:
    rolled(Node.objects.get(), "1177711")

    tried()

    assert not Rule.objects.exists()
