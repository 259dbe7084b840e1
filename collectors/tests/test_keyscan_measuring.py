"""One giant measured whole on demand: at what cost, where, and only while its node has time."""

from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import samples
from collectors.keyscan import measuring
from collectors.keyscan.models import Scan, ScanKey
from collectors.keyscan.reasons import Reason, ScanRefusedError
from collectors.models import NodeStatus
from collectors.tests.cast import cache_with_nodes, reading
from collectors.tests.keyscan import client_of
from conftest import ValkeyFactory
from fleet.models import Cache, Node
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db
ELEMENTS = 3_000


def key_of(cache: Cache, **more: Any) -> ScanKey:
    """Return a giant hash as a scan of the first node knows it."""
    address = cache.nodes.order_by("pk")[0].address
    given = {"name": b"giant", "digest": 1, "size": 9, "is_exact": False, "type": "hash", "elements": ELEMENTS, **more}
    return ScanKey.objects.create(scan=Scan.objects.create(cache=cache), shard=1, address=address, **given)


@pytest.fixture
def server(valkey_server: ValkeyFactory) -> Valkey:
    server = valkey_server()
    client_of(server).hset("giant", mapping={f"f{n}": "v" * (n % 200) for n in range(ELEMENTS)})
    return server


@pytest.fixture
def cache(server: Valkey) -> Cache:
    cache = cache_with_nodes(1)
    Node.objects.filter(cache=cache).update(port=server.port)
    Cache.objects.filter(pk=cache.pk).update(address=server.url)
    return Cache.objects.get(pk=cache.pk)


def test_it_looks_at_every_element(server: Valkey, cache: Cache) -> None:
    found = measuring.measure(cache, key_of(cache))

    assert found is not None
    assert found.detail.size == client_of(server).memory_usage("giant", samples=0)
    assert (found.detail.elements, found.address) == (ELEMENTS, f"127.0.0.1:{server.port}")
    assert 0 < found.seconds < 5


def test_a_key_that_is_gone_is_none(server: Valkey, cache: Cache) -> None:
    client_of(server).delete("giant")

    assert measuring.measure(cache, key_of(cache)) is None


@pytest.mark.parametrize("more", [{"is_exact": True}, {"elements": None}])
def test_it_measures_only_what_is_estimated(cache: Cache, more: dict[str, Any]) -> None:
    key = key_of(cache, **more)

    assert measuring.cost_of(cache, key) is None
    with pytest.raises(ScanRefusedError) as caught:
        measuring.measure(cache, key)
    assert caught.value.cause == Reason.IS_MEASURED


def test_it_tells_the_cost_before() -> None:
    cost = measuring.Cost("a:1", is_replica=True, elements=1_000_000)

    assert cost.least_seconds == pytest.approx(0.015)
    assert cost.most_seconds == pytest.approx(0.4)


def test_it_does_not_keep_a_server_busy_for_too_long(
    server: Valkey, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "MOST_SECONDS", 0.01)
    client_of(server).config_resetstat()

    with pytest.raises(ScanRefusedError) as caught:
        measuring.measure(cache, key_of(cache))

    assert (caught.value.cause, caught.value.data) == (Reason.TOO_LONG, {"elements": 500})


def test_it_waits_for_a_better_time_where_the_node_has_none(server: Valkey, cache: Cache) -> None:
    client: Any = client_of(server)
    client.config_set("maxmemory", client.info("memory")["used_memory"] + 1_000)

    with pytest.raises(ScanRefusedError) as caught:
        measuring.measure(cache, key_of(cache))

    assert caught.value.cause == Reason.NODE_BUSY
    assert "memory is" in str(caught.value)


def test_it_goes_to_a_replica_that_keeps_up() -> None:
    cache = cache_with_nodes(1, replicas=1)
    replica = cache.nodes.get(role="replica")
    samples.write([reading(replica, master_link_up=True, replication_lag_bytes=0)])

    cost = measuring.cost_of(cache, key_of(cache))

    assert cost is not None
    assert (cost.address, cost.is_replica, cost.elements) == (replica.address, True, ELEMENTS)


@pytest.mark.parametrize("trouble", ["lags", "is silent"])
def test_it_goes_where_the_scan_was_without_a_good_replica(trouble: str, settings: Settings) -> None:
    cache = cache_with_nodes(1, replicas=1)
    replica = cache.nodes.get(role="replica")
    samples.write([reading(replica, master_link_up=True, replication_lag_bytes=10**9 if trouble == "lags" else 0)])
    if trouble == "is silent":
        NodeStatus.objects.create(node=replica, failing_since=timezone.now())

    cost = measuring.cost_of(cache, key_of(cache))

    assert cost is not None
    assert (cost.address, cost.is_replica) == (cache.nodes.get(role="primary").address, False)
