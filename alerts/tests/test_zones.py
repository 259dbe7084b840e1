"""Zones of nodes, as their servers name them: a label for routes, silences and rules that stand for others."""

from datetime import timedelta

import pytest
from django.utils import timezone

from alerts.alert import Alert
from alerts.decision import Decision
from alerts.models import Channel, Delivery
from alerts.route import Route
from alerts.silence import Silence
from alerts.tests.cast import channel
from alerts.tests.judged import Fleet, fleet, rule
from collectors.models import NodeFact

pytestmark = pytest.mark.django_db
What = Decision.What
WEST, EAST = "us-west1-a", "us-east1-b"


@pytest.fixture(autouse=True)
def pager() -> Channel:
    made = channel()
    Route.objects.create(name="root").channels.add(made)
    return made


def zoned(name: str, *zones: str) -> Fleet:
    """Return a cache with a node in each of the zones; its server names none where that is empty."""
    made = fleet(shards=len(zones), name=name)
    for node, zone in zip(made.nodes, zones, strict=True):
        NodeFact.objects.create(node=node, name="availability_zone", value=zone, since=timezone.now())
    return made


def told() -> list[str]:
    return [row.payload["title"] for row in Delivery.objects.order_by("pk")]


def test_an_alert_has_the_zone_of_its_node() -> None:
    rule()

    zoned("game", WEST).poll(0.95)

    assert Alert.objects.get().labels["zone"] == WEST


def test_a_server_that_names_none_has_no_such_label() -> None:
    rule()

    zoned("game", "").poll(0.95)

    assert "zone" not in Alert.objects.get().labels


def test_a_zone_that_was_left_counts_no_more() -> None:
    rule()
    watched = zoned("game", WEST)
    NodeFact.objects.update(until=timezone.now())

    watched.poll(0.95)

    assert "zone" not in Alert.objects.get().labels


def test_the_zone_of_a_node_goes_over_that_of_its_cache() -> None:
    rule()
    watched = zoned("game", WEST)
    watched.cache.labels = {"zone": "all"}
    watched.cache.save()

    watched.poll(0.95)

    assert Alert.objects.get().labels["zone"] == WEST


def test_eviction_policies_are_still_no_zones() -> None:
    rule()
    watched = fleet()
    NodeFact.objects.create(node=watched.nodes[0], name="maxmemory_policy", value="noeviction", since=timezone.now())

    watched.poll(0.95)

    assert "zone" not in Alert.objects.get().labels


def test_a_rule_stands_for_what_is_wrong_in_its_zone() -> None:
    rule()
    rule("zone", hides=["zone"], warning=None, critical=0.97)
    watched = zoned("game", WEST, WEST, EAST)

    watched.poll(0.98, 0.95, 0.95)

    assert told() == [
        "game: Zone: shard 1, 127.0.0.1:7010 98% (bound 97%)",
        "game: Memory: shard 3, 127.0.0.1:7030 95% (bound 90%)",
    ]


def test_it_does_so_in_other_caches_too() -> None:
    rule(where={"cache": "other"})
    rule("zone", hides=["zone"], warning=None, critical=0.97)
    zoned("game", WEST).poll(0.98)

    zoned("other", WEST).poll(0.95)

    assert Alert.objects.get(cache_name="other").kept_back == What.HIDDEN


def test_a_silence_of_a_zone_hides_its_nodes_alone() -> None:
    rule()
    now = timezone.now()
    times = {"starts_at": now - timedelta(hours=1), "ends_at": now + timedelta(hours=1)}
    Silence.objects.create(matchers=[f"zone={WEST}"], author="ann", comment="planned", **times)

    zoned("game", WEST, EAST).poll(0.95, 0.95)

    assert [alert.kept_back for alert in Alert.objects.order_by("node_address")] == [What.SILENCED, ""]
