"""Each row of the real services' behaviour, seen by Google's own clients."""

import threading
import time
import warnings
from pathlib import Path

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import memorystore_v1, redis_cluster_v1, redis_v1

from collectors.cloud.products import Product
from demo.cloud.emulator import Emulator
from demo.cloud.faults import PERMISSIONS
from demo.tests.cloud import (
    NOW,
    PROJECT,
    REGION,
    SECONDS,
    BareClients,
    Clock,
    add_instance,
    add_points,
    asking,
    resource_name,
)
from launcher import children

EVERYWHERE = f"projects/{PROJECT}/locations/-"
LISTS = {
    Product.REDIS: "CloudRedis/ListInstances",
    Product.REDIS_CLUSTER: "CloudRedisCluster/ListClusters",
    Product.VALKEY: "Memorystore/ListInstances",
    Product.MEMCACHED: "CloudMemcache/ListInstances",
}
each_product = pytest.mark.parametrize("product", list(Product), ids=Product.values)


def names(google: BareClients, product: Product, parent: str = EVERYWHERE, **more: int) -> list[str]:
    pager = google.list(product)(request={"parent": parent, **more}, timeout=SECONDS, retry=None)
    return [found.name for found in pager]


@each_product
def test_it_lists_what_a_project_has(emulator: Emulator, google: BareClients, product: Product) -> None:
    add_instance(emulator, product, "carts")
    add_instance(emulator, product, "ranking", region="europe-west1")

    found = names(google, product)

    assert found == [resource_name(product, "carts"), resource_name(product, "ranking", "europe-west1")]


@each_product
def test_it_lists_one_region(emulator: Emulator, google: BareClients, product: Product) -> None:
    add_instance(emulator, product, "carts")
    add_instance(emulator, product, "ranking", region="europe-west1")

    assert names(google, product, f"projects/{PROJECT}/locations/{REGION}") == [resource_name(product, "carts")]
    assert names(google, product, "projects/another/locations/-") == []


@each_product
def test_it_lists_page_by_page(emulator: Emulator, google: BareClients, product: Product) -> None:
    for number in range(5):
        add_instance(emulator, product, f"carts-{number}")

    found = names(google, product, page_size=2)

    assert len(found) == 5
    assert len(emulator.asked(LISTS[product])) == 3


@each_product
def test_it_names_unreachable_regions_on_the_first_page(
    emulator: Emulator, google: BareClients, product: Product
) -> None:
    for number in range(3):
        add_instance(emulator, product, f"carts-{number}")
    emulator.instances.unreachable[product] = ["europe-west1"]

    pager = google.list(product)(request={"parent": EVERYWHERE, "page_size": 2}, timeout=SECONDS)

    assert [list(page.unreachable) for page in pager.pages] == [["europe-west1"], []]
    assert list(pager.unreachable) == []


@each_product
def test_it_leaves_out_what_lies_in_an_unreachable_region(
    emulator: Emulator, google: BareClients, product: Product
) -> None:
    add_instance(emulator, product, "carts")
    add_instance(emulator, product, "ranking", region="europe-west1")
    emulator.instances.unreachable[product] = [f"projects/{PROJECT}/locations/europe-west1"]

    assert names(google, product) == [resource_name(product, "carts")]


@each_product
def test_it_may_put_a_placeholder_for_an_unreachable_region(
    emulator: Emulator, google: BareClients, product: Product
) -> None:
    emulator.instances.unreachable[product] = ["europe-west1"]
    emulator.instances.has_placeholders = True

    assert names(google, product) == [resource_name(product, "-", "europe-west1")]


@each_product
def test_it_forgets_what_is_deleted(emulator: Emulator, google: BareClients, product: Product) -> None:
    instance = add_instance(emulator, product, "carts")

    emulator.instances.remove(product, instance.name)

    assert names(google, product) == []


@each_product
def test_it_denies_with_the_name_of_the_permission(emulator: Emulator, google: BareClients, product: Product) -> None:
    emulator.faults.deny(LISTS[product])

    with pytest.raises(exceptions.PermissionDenied, match=PERMISSIONS[LISTS[product]]):
        names(google, product)


@each_product
def test_it_sees_the_routing_header_of_the_client(emulator: Emulator, google: BareClients, product: Product) -> None:
    names(google, product)

    assert emulator.asked(LISTS[product])[0].params == f"parent={EVERYWHERE}"


def test_it_opens_one_instance(emulator: Emulator, google: BareClients) -> None:
    carts = add_instance(emulator, Product.REDIS, "carts", memory_size_gb=5)
    ranking = add_instance(emulator, Product.REDIS_CLUSTER, "ranking")
    bags = add_instance(emulator, Product.VALKEY, "bags")
    pages = add_instance(emulator, Product.MEMCACHED, "pages")

    assert google.redis.get_instance(name=carts.name, timeout=SECONDS).memory_size_gb == 5
    assert google.cluster.get_cluster(name=ranking.name, timeout=SECONDS).name == ranking.name
    assert google.valkey.get_instance(name=bags.name, timeout=SECONDS).name == bags.name
    assert google.memcached.get_instance(name=pages.name, timeout=SECONDS).name == pages.name


def test_it_knows_no_instance_of_another_name(google: BareClients) -> None:
    with pytest.raises(exceptions.NotFound, match="carts"):
        google.redis.get_instance(name=resource_name(Product.REDIS, "carts"), timeout=SECONDS)


def test_it_refuses_a_parent_that_is_none(google: BareClients) -> None:
    with pytest.raises(exceptions.InvalidArgument, match="Invalid resource name"):
        names(google, Product.REDIS, "projects/shop-prod")


def test_it_refuses_a_page_that_it_never_gave(google: BareClients) -> None:
    with pytest.raises(exceptions.InvalidArgument, match="page token"):
        google.redis.list_instances(request={"parent": EVERYWHERE, "page_token": "second"}, timeout=SECONDS)


def test_it_tells_the_password_of_an_instance(emulator: Emulator, google: BareClients) -> None:
    carts = add_instance(emulator, Product.REDIS, "carts", auth_enabled=True)
    emulator.instances.auth_strings[carts.name] = "open sesame"

    told = google.redis.get_instance_auth_string(name=carts.name, timeout=SECONDS)

    assert told.auth_string == "open sesame"


def test_it_tells_the_authority_of_a_cluster(emulator: Emulator, google: BareClients) -> None:
    ranking = add_instance(emulator, Product.REDIS_CLUSTER, "ranking")
    emulator.instances.authorities[ranking.name] = ["first", "second"]
    name = f"{ranking.name}/certificateAuthority"

    told = google.cluster.get_cluster_certificate_authority(name=name, timeout=SECONDS)

    assert [list(chain.certificates) for chain in told.managed_server_ca.ca_certs] == [["first"], ["second"]]


def test_it_tells_the_authority_of_a_valkey(emulator: Emulator, google: BareClients) -> None:
    bags = add_instance(emulator, Product.VALKEY, "bags")
    emulator.instances.authorities[bags.name] = ["only"]
    name = f"{bags.name}/certificateAuthority"

    told = google.valkey.get_certificate_authority(name=name, timeout=SECONDS)

    assert [list(chain.certificates) for chain in told.managed_server_ca.ca_certs] == [["only"]]


@pytest.mark.parametrize("product", [Product.REDIS_CLUSTER, Product.VALKEY], ids=str)
def test_it_tells_the_authority_of_a_region(emulator: Emulator, google: BareClients, product: Product) -> None:
    region = f"projects/{PROJECT}/locations/{REGION}"
    emulator.instances.authorities[region] = ["shared"]
    client = google.cluster if product == Product.REDIS_CLUSTER else google.valkey
    name = f"{region}/sharedRegionalCertificateAuthority"

    told = client.get_shared_regional_certificate_authority(request={"name": name}, timeout=SECONDS)

    assert [list(chain.certificates) for chain in told.managed_server_ca.ca_certs] == [["shared"]]


def test_it_knows_no_authority_of_what_is_not_there(google: BareClients) -> None:
    name = resource_name(Product.VALKEY, "bags") + "/certificateAuthority"

    with pytest.raises(exceptions.NotFound):
        google.valkey.get_certificate_authority(name=name, timeout=SECONDS)


def test_it_replaces_an_instance_of_the_same_name(emulator: Emulator, google: BareClients) -> None:
    add_instance(emulator, Product.VALKEY, "bags", uid="first")
    add_instance(emulator, Product.VALKEY, "bags", uid="second")

    (bags,) = google.valkey.list_instances(parent=EVERYWHERE, timeout=SECONDS)

    assert bags.uid == "second"


def test_it_shows_a_change_at_the_next_look(emulator: Emulator, google: BareClients) -> None:
    carts = add_instance(emulator, Product.REDIS, "carts", memory_size_gb=5)

    carts.memory_size_gb = 8

    assert google.redis.get_instance(name=carts.name, timeout=SECONDS).memory_size_gb == 8


def test_it_remembers_what_it_was_asked(emulator: Emulator, google: BareClients) -> None:
    names(google, Product.REDIS)
    names(google, Product.MEMCACHED)

    assert [call.method for call in emulator.asked()] == [LISTS[Product.REDIS], LISTS[Product.MEMCACHED]]
    assert emulator.asked("CloudMemcache/ListInstances")[0].request.parent == EVERYWHERE
    assert {call.at for call in emulator.asked()} == {NOW}


def test_every_method_can_be_denied_by_name(emulator: Emulator) -> None:
    assert {method.short for method in emulator.methods()} == set(PERMISSIONS)


def test_it_passes_on_numbers_of_enums_that_the_client_does_not_know(emulator: Emulator, google: BareClients) -> None:
    carts = add_instance(emulator, Product.REDIS, "carts")
    redis_v1.Instance.pb(carts).state = 99

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        state = google.redis.get_instance(name=carts.name, timeout=SECONDS).state

    assert state == 99
    assert not isinstance(state, redis_v1.Instance.State)
    assert any("99" in str(warning.message) for warning in warned)


def test_it_keeps_apart_what_was_not_told_and_what_is_empty(emulator: Emulator, google: BareClients) -> None:
    add_instance(emulator, Product.REDIS_CLUSTER, "told", shard_count=0, maintenance_schedule={})
    add_instance(emulator, Product.REDIS_CLUSTER, "untold")

    told, untold = google.cluster.list_clusters(parent=EVERYWHERE, timeout=SECONDS)

    assert ("shard_count" in told, "maintenance_schedule" in told) == (True, True)
    assert ("shard_count" in untold, "maintenance_schedule" in untold) == (False, False)


def test_it_has_products_whose_numbers_mean_the_opposite(emulator: Emulator, google: BareClients) -> None:
    cluster, valkey = redis_cluster_v1.AuthorizationMode, memorystore_v1.Instance.AuthorizationMode
    add_instance(emulator, Product.REDIS_CLUSTER, "ranking", authorization_mode=cluster.AUTH_MODE_IAM_AUTH)
    add_instance(emulator, Product.VALKEY, "bags", authorization_mode=valkey.AUTH_DISABLED)

    ranking = google.cluster.get_cluster(name=resource_name(Product.REDIS_CLUSTER, "ranking"), timeout=SECONDS)
    bags = google.valkey.get_instance(name=resource_name(Product.VALKEY, "bags"), timeout=SECONDS)

    assert int(ranking.authorization_mode) == int(bags.authorization_mode) == 1
    assert ranking.authorization_mode.name != bags.authorization_mode.name


def test_it_fails_as_often_as_it_is_told(emulator: Emulator, google: BareClients) -> None:
    emulator.faults.unavailable("CloudRedis/ListInstances", times=2)

    for _ in range(2):
        with pytest.raises(exceptions.ServiceUnavailable):
            names(google, Product.REDIS)

    assert names(google, Product.REDIS) == []


def test_it_is_asked_again_by_clients_that_retry_what_is_unavailable(emulator: Emulator, google: BareClients) -> None:
    emulator.faults.unavailable("MetricService/ListTimeSeries", times=1)

    list(google.metrics.list_time_series(request=asking(), timeout=SECONDS))

    assert len(emulator.asked("ListTimeSeries")) == 2


def test_it_is_not_asked_again_when_the_quota_is_used_up(emulator: Emulator, google: BareClients) -> None:
    emulator.faults.exhaust(PROJECT)

    with pytest.raises(exceptions.ResourceExhausted, match="limit 'QueryRequestsPerMinutePerProject'"):
        list(google.metrics.list_time_series(request=asking(), timeout=SECONDS))

    assert len(emulator.asked("ListTimeSeries")) == 1


def test_it_exhausts_one_project_alone(emulator: Emulator, google: BareClients) -> None:
    emulator.faults.exhaust("another-project")

    assert list(google.series()) == []


def test_it_counts_the_queries_of_each_project_and_minute(emulator: Emulator, google: BareClients) -> None:
    clock = emulator.clock
    assert isinstance(clock, Clock)
    emulator.metrics.quota.per_minute = 2
    list(google.series())
    list(google.series())

    with pytest.raises(exceptions.ResourceExhausted, match=f"projects/{PROJECT}"):
        list(google.series())
    assert list(google.series(name="projects/another")) == []
    clock.now = NOW + 60
    assert list(google.series()) == []


def test_it_fails_only_the_requests_that_are_meant(emulator: Emulator, google: BareClients) -> None:
    emulator.faults.fail("ListTimeSeries", grpc.StatusCode.NOT_FOUND, "Cannot find it.", containing="clients/blocked")

    assert list(google.series()) == []
    with pytest.raises(exceptions.NotFound):
        list(google.series(type_="redis.googleapis.com/clients/blocked"))


def test_it_keeps_a_slow_answer_back(emulator: Emulator, google: BareClients) -> None:
    emulator.faults.slow("CloudRedis/ListInstances", 30)

    began = time.monotonic()
    with pytest.raises(exceptions.DeadlineExceeded):
        google.redis.list_instances(parent=EVERYWHERE, timeout=0.2)

    assert time.monotonic() - began < 5


def test_it_answers_others_while_it_keeps_one_back(emulator: Emulator, google: BareClients) -> None:
    emulator.faults.slow("CloudRedis/ListInstances", 30, times=1)
    ended = threading.Event()
    stuck = google.channel.unary_unary("/google.cloud.redis.v1.CloudRedis/ListInstances").future(b"", timeout=30)
    stuck.add_done_callback(lambda _: ended.set())

    assert names(google, Product.VALKEY) == []

    assert not ended.is_set()
    emulator.stop()
    assert ended.wait(SECONDS)


def test_it_is_well_again_once_the_faults_are_cleared(emulator: Emulator, google: BareClients) -> None:
    emulator.faults.deny("CloudRedis/ListInstances")

    emulator.faults.clear()

    assert names(google, Product.REDIS) == []


def test_it_comes_back_on_its_port_after_it_was_unplugged(emulator: Emulator, google: BareClients) -> None:
    port = emulator.port
    add_instance(emulator, Product.REDIS, "carts")
    emulator.stop()
    with pytest.raises(exceptions.ServiceUnavailable):
        names(google, Product.REDIS)

    emulator.start()

    again = BareClients(emulator.address)
    assert emulator.port == port
    assert names(again, Product.REDIS) == [resource_name(Product.REDIS, "carts")]
    again.close()


def test_programs_can_be_started_beside_it(emulator: Emulator, google: BareClients, tmp_path: Path) -> None:
    names(google, Product.REDIS)

    with (tmp_path / "log").open("wb") as log:
        started = [children.spawn(["true"], log=log.fileno()) for _ in range(10)]

    assert [child.wait(SECONDS) for child in started] == [0] * 10
    assert (tmp_path / "log").read_bytes() == b""


def test_it_does_not_share_its_port(emulator: Emulator) -> None:
    with pytest.raises(RuntimeError):
        Emulator(port=emulator.port).start()


def test_it_refuses_connections_that_speak_tls(emulator: Emulator) -> None:
    channel = grpc.secure_channel(emulator.address, grpc.ssl_channel_credentials())

    with pytest.raises(grpc.FutureTimeoutError):
        grpc.channel_ready_future(channel).result(timeout=0.3)
    channel.close()


def test_it_serves_asyncio_clients_too(emulator: Emulator) -> None:
    import asyncio

    from google.cloud.monitoring_v3 import MetricServiceAsyncClient
    from google.cloud.monitoring_v3.services.metric_service.transports import MetricServiceGrpcAsyncIOTransport

    add_points(emulator, 7)

    async def ask() -> list[float]:
        async with grpc.aio.insecure_channel(emulator.address) as channel:
            client = MetricServiceAsyncClient(transport=MetricServiceGrpcAsyncIOTransport(channel=channel))
            pager = await client.list_time_series(request=asking(), timeout=SECONDS)
            return [series.points[0].value.int64_value async for series in pager]

    assert asyncio.run(ask()) == [7]
