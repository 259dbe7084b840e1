"""What events say about what Google does to an instance."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.cloud import upkeep
from collectors.cloud.models import InstanceState
from collectors.cloud.service_facts import Schedule, ServiceFacts, Target
from collectors.event import Event, Kind
from collectors.tests.cast import cache_with_nodes
from dashboard.event_words import mark_of, sentence

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
START = datetime(2026, 11, 25, 2, tzinfo=UTC)
LATER = datetime(2026, 11, 26, 2, tzinfo=UTC)


def maintenance(step: str, **data: str) -> Event:
    return Event(kind=Kind.MAINTENANCE, at=NOW, story_id=data.pop("story", None), data={"step": step, **data})


def state(until: datetime | None = None, state: str = "changing", name: str = "UPDATING", **data: Any) -> Event:
    return Event(kind=Kind.SERVICE, at=NOW, until=until, data={"state": state, "state_name": name, **data})


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (maintenance("planned"), "Maintenance by Google"),
        (maintenance("over"), "Maintenance by Google"),
        (
            maintenance("cancelled", start=START.isoformat()),
            "Google cancelled the maintenance that was planned for 2026-11-25 02:00:00 UTC",
        ),
        (
            maintenance("planned", story="1", start=START.isoformat()),
            "Google planned maintenance for 2026-11-25 02:00:00 UTC",
        ),
        (
            maintenance("moved", story="1", before=START.isoformat(), start=LATER.isoformat()),
            "Google moved the maintenance from 2026-11-25 02:00:00 UTC to 2026-11-26 02:00:00 UTC",
        ),
    ],
)
def test_maintenance_is_told_step_by_step(event: Event, expected: str) -> None:
    assert sentence(event) == expected


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (state(), "Google changes the instance (UPDATING)"),
        (state(state="repair", name="FAILING_OVER"), "Google repairs the instance (FAILING_OVER)"),
        (state(state="maintenance", name="MAINTENANCE"), "Google maintains the instance (MAINTENANCE)"),
        (state(NOW + timedelta(minutes=7)), "Google changes the instance (UPDATING), for 7 min"),
        (
            state(target={"shards": 5}, shards_before=3, shards_now=4),
            "Google changes the instance (UPDATING): 5 shards wanted, 4 serve now",
        ),
        (
            state(NOW + timedelta(hours=1), target={"shards": 1}, shards_before=3, shards_now=1),
            "Google changes the instance (UPDATING): 1 shard wanted, for 1 h",
        ),
        (
            state(target={"replicas_per_shard": 0}, replicas_before=1),
            "Google changes the instance (UPDATING): 0 replicas a shard wanted",
        ),
        (state(target={"shards": 3}, shards_before=3), "Google changes the instance (UPDATING)"),
        (
            state(target={"version": "8.0", "node_type": "HIGHMEM_MEDIUM"}),
            "Google changes the instance (UPDATING): 8.0, HIGHMEM_MEDIUM",
        ),
    ],
)
def test_a_state_tells_where_it_leads_and_how_far_it_is(event: Event, expected: str) -> None:
    assert sentence(event) == expected


def test_both_have_marks_of_their_own() -> None:
    assert [mark_of(event).letter for event in (maintenance("planned"), state())] == ["M", "G"]


@pytest.mark.django_db
def test_a_page_tells_the_whole_story() -> None:
    cache = cache_with_nodes()
    facts = ServiceFacts("valkey", "n", "u", InstanceState.CHANGING, "UPDATING", target=Target(5, None, "", ""))
    upkeep.note(cache, facts, NOW)
    for start in (START, LATER):
        upkeep.follow_schedule(cache, Schedule(start, None, None, None), NOW)
    client = client_of(Role.VIEWER)

    pages = [client.get(event.get_absolute_url()).content.decode() for event in Event.objects.filter(story=None)]

    assert any("Google moved the maintenance" in page and "Google planned" in page for page in pages)
    assert any("5 shards wanted" in page for page in pages)


@pytest.mark.django_db
def test_what_is_planned_stands_in_the_list_of_events() -> None:
    upkeep.follow_schedule(cache_with_nodes(), Schedule(START, None, None, None), NOW)

    html = client_of(Role.VIEWER).get("/caches/game/events/?span=all").content.decode()

    assert "Maintenance by Google" in html


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("found", "Found as carts in us-east1 of the project shop-prod"),
        ("joined", "Recognised as carts in us-east1 of the project shop-prod"),
        ("gone", "carts is not in the project shop-prod any more; the cache is paused"),
        ("returned", "carts is in the project shop-prod again"),
        ("recreated", "carts was made anew in the project shop-prod, under the same name"),
        ("renamed", "It is called carts in the project shop-prod now"),
    ],
)
def test_discovery_is_told_with_instance_and_project(what: str, expected: str) -> None:
    data = {"what": what, "product": "redis", "instance": "carts", "region": "us-east1", "project": "shop-prod"}
    event = Event(kind=Kind.CLOUD, at=NOW, data=data)

    assert (sentence(event), mark_of(event).letter) == (expected, "P")
