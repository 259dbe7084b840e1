"""Discovery against the emulated services, faults included."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import grpc
import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import tasks
from collectors.cloud import adoption, discovery
from collectors.cloud.models import CloudInstance, CloudProject, Decision, InstanceState
from collectors.cloud.products import Product
from collectors.event import Event, Kind
from collectors.tests.discovery_cast import BORN, REGION, Estate, estate, only
from fleet.models import Cache
from fleet.secrets import Secret

LATER = BORN + timedelta(days=30)
EVERY = pytest.mark.parametrize("product", list(Product))


@pytest.fixture
def google(db: None) -> Iterator[Estate]:
    with estate() as made:
        yield made


def whats() -> list[str]:
    """Return what the events say that happened, oldest first."""
    return [event.data["what"] for event in Event.objects.filter(kind=Kind.CLOUD).order_by("pk")]


@EVERY
def test_it_finds_the_instances_of_every_product(google: Estate, product: Product) -> None:
    name = google.add(product)

    project = google.look(google.project())

    found = only(product)
    assert (found.name, found.region, found.short_id, found.state) == (name, REGION, "carts", InstanceState.UP)
    assert found.decision == Decision.APPROVED
    assert (project.state[product]["ok"], project.state[product]["count"]) == (True, 1)


def test_it_asks_for_all_regions_at_once(google: Estate) -> None:
    google.look(google.project())

    asked = google.emulator.asked("ListInstances") + google.emulator.asked("ListClusters")
    assert len(asked) == 4
    assert {call.request.parent for call in asked} == {"projects/shop-prod/locations/-"}


def test_it_asks_only_for_the_products_that_are_wanted(google: Estate) -> None:
    project = google.look(google.project(products=["valkey"]))

    assert [call.method for call in google.emulator.calls] == ["Memorystore/ListInstances"]
    assert list(project.state) == ["valkey"]


def test_it_walks_all_pages(google: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.cloud.listing.PAGE_SIZE", 2)
    for number in range(5):
        google.add(Product.REDIS, f"carts-{number}", host=f"10.0.0.{number + 1}")

    google.look(google.project(products=["redis"]))

    assert CloudInstance.objects.count() == 5
    assert len(google.emulator.asked("ListInstances")) == 3


def test_what_did_not_change_is_only_seen_again(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    before = only()

    google.look(project)

    after = only()
    assert (after.changed_at, after.snapshot) == (before.changed_at, before.snapshot)
    assert after.seen_at > before.seen_at


def test_what_changed_is_taken_in(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    before = only()
    google.add(Product.REDIS, state="UPDATING", memory_size_gb=5)

    google.look(project)

    after = only()
    assert (after.state, after.state_name) == (InstanceState.CHANGING, "UPDATING")
    assert after.snapshot["memory_size_gb"] == 5
    assert after.changed_at > before.changed_at


@pytest.mark.filterwarnings("ignore:Unrecognized")
def test_enums_that_nobody_knows_yet_do_no_harm(google: Estate) -> None:
    google.add(Product.REDIS, state=77, tier=42, transit_encryption_mode=9)
    google.add(Product.VALKEY, state=78, node_type=99, authorization_mode=9)

    project = google.look(google.project())

    assert {one.state for one in CloudInstance.objects.all()} == {InstanceState.UNKNOWN}
    assert all(project.state[product]["ok"] for product in project.products)


def test_a_placeholder_is_no_instance_but_a_region_that_is_down(google: Estate) -> None:
    google.emulator.instances.has_placeholders = True
    google.emulator.instances.unreachable[Product.REDIS] = [REGION]

    project = google.look(google.project())

    assert not CloudInstance.objects.exists()
    assert project.state["redis"]["unreachable"] == [REGION]


@pytest.mark.parametrize(
    "name", ["projects/p/locations/r/things/x", "carts", "projects/p/locations/r/instances/" + "x" * 300]
)
def test_a_name_of_another_shape_is_left_out(google: Estate, name: str) -> None:
    google.add(Product.REDIS, "good")
    google.add(Product.REDIS, "bad")
    key = next(key for key in google.emulator.instances.known if key[1].endswith("/bad"))
    google.emulator.instances.known[key].name = name

    google.look(google.project())

    assert only().short_id == "good"


# What is missing, and what is not


def test_what_is_missing_once_is_still_there(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    google.remove(Product.REDIS)

    google.look(project)

    assert only().gone_at is None


def test_what_is_missing_twice_is_gone_and_its_cache_is_paused_with_its_history(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    cache = Cache.objects.get()
    google.remove(Product.REDIS)

    google.look(project, times=2)

    gone = CloudInstance.objects.get()
    assert (gone.state, gone.cache) == (InstanceState.GONE, cache)
    assert gone.gone_at is not None
    cache.refresh_from_db()
    assert cache.is_paused
    assert whats() == ["found", "gone"]


def test_it_is_told_once_that_something_is_gone(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    google.remove(Product.REDIS)

    google.look(project, times=4)

    assert whats() == ["found", "gone"]


def test_what_comes_back_goes_on(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    google.remove(Product.REDIS)
    google.look(project, times=2)
    google.add(Product.REDIS)

    google.look(project)

    assert only().cache == Cache.objects.get(is_paused=False)
    assert whats() == ["found", "gone", "returned"]


def test_what_a_person_paused_stays_paused(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    Cache.objects.update(is_paused=True)
    google.remove(Product.REDIS)
    google.look(project, times=2)
    google.add(Product.REDIS)

    google.look(project)

    assert Cache.objects.get().is_paused


def test_a_region_that_is_down_deletes_nothing(google: Estate) -> None:
    google.add(Product.REDIS)
    google.add(Product.REDIS, "other", region="us-central1", host="10.0.0.9")
    project = google.look(google.project())
    google.emulator.instances.unreachable[Product.REDIS] = [f"projects/shop-prod/locations/{REGION}"]

    project = google.look(project, times=3)

    assert CloudInstance.objects.present().count() == 2
    assert project.state["redis"]["unreachable"] == [REGION]


def test_the_first_answer_after_a_region_came_back_deletes_nothing(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    google.emulator.instances.unreachable[Product.REDIS] = [REGION]
    google.look(project, times=2)
    google.emulator.instances.unreachable.clear()
    google.remove(Product.REDIS)

    google.look(project)
    assert only().gone_at is None

    google.look(project)
    assert not CloudInstance.objects.present().exists()


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED]
)
def test_an_api_that_fails_deletes_nothing(google: Estate, code: grpc.StatusCode, settings: Settings) -> None:
    settings.CLOUD_RETRY_SECONDS = 0.05
    google.add(Product.REDIS)
    project = google.look(google.project())
    google.remove(Product.REDIS)
    google.emulator.faults.fail("CloudRedis/ListInstances", code, "Not now.")

    project = google.look(project, times=3)

    assert only().gone_at is None
    assert not project.state["redis"]["ok"]


def test_a_failure_between_two_answers_begins_the_count_anew(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    google.remove(Product.REDIS)
    google.look(project)
    fault = google.emulator.faults.fail("CloudRedis/ListInstances", grpc.StatusCode.INTERNAL, "Not now.")
    google.look(project)
    google.emulator.faults.on.remove(fault)

    google.look(project)

    assert only().gone_at is None


# Faults of single APIs


def test_one_permission_that_is_missing_leaves_the_other_products_alone(google: Estate) -> None:
    for product in Product:
        google.add(product)
    google.emulator.faults.deny("Memorystore/ListInstances")

    project = google.look(google.project())

    assert set(CloudInstance.objects.values_list("product", flat=True)) == {"redis", "redis-cluster", "memcached"}
    told = project.state["valkey"]
    assert (told["ok"], told["cause"], told["words"]) == (False, "permission", "memorystore.instances.list")
    assert told["failing_since"] == told["at"]


def test_a_failure_knows_since_when_it_lasts(google: Estate) -> None:
    google.emulator.faults.deny("Memorystore/ListInstances")
    project = google.look(google.project())
    began = project.state["valkey"]["at"]

    project = google.look(project)

    assert project.state["valkey"]["failing_since"] == began
    google.emulator.faults.clear()
    assert google.look(project).state["valkey"]["failing_since"] is None


def test_a_slow_api_delays_no_other(google: Estate, settings: Settings) -> None:
    settings.CLOUD_CALL_TIMEOUT_SECONDS = 0.3
    google.add(Product.REDIS)
    google.add(Product.VALKEY)
    google.emulator.faults.slow("CloudRedis/ListInstances", seconds=5)

    project = google.look(google.project())

    assert (project.state["redis"]["cause"], project.state["valkey"]["ok"]) == ("slow", True)
    assert only(Product.VALKEY).cache is not None


def test_credentials_that_are_revoked_in_the_middle_are_told_and_delete_nothing(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    words = "Request had invalid authentication credentials."
    google.emulator.faults.fail("", grpc.StatusCode.UNAUTHENTICATED, words)

    project = google.look(project, times=3)

    assert {state["cause"] for state in project.state.values()} == {"revoked"}
    assert only().cache == Cache.objects.get(is_paused=False)


def test_the_emulator_unplugged_is_told_and_deletes_nothing(google: Estate, settings: Settings) -> None:
    settings.CLOUD_RETRY_SECONDS = 0.05
    google.add(Product.REDIS)
    project = google.look(google.project())
    google.emulator.stop()

    project = google.look(project)

    assert {state["cause"] for state in project.state.values()} <= {"unreachable", "unavailable"}
    assert only().cache == Cache.objects.get(is_paused=False)


def test_a_stored_key_that_nothing_decrypts_is_told(google: Estate) -> None:
    project = google.project(endpoint="", credentials="key")
    CloudProject.objects.filter(pk=project.pk).update(key=Secret("no-token"))

    project = google.look(project)

    assert {state["cause"] for state in project.state.values()} == {"secret_unreadable"}


# Another instance under the same name


@pytest.mark.parametrize(
    ("product", "born"),
    [
        (Product.REDIS, {"create_time": LATER, "host": "10.0.0.99"}),
        (Product.VALKEY, {"uid": "u-other", "discovery_endpoints": [{"address": "10.0.0.99", "port": 6379}]}),
    ],
)
def test_what_is_recreated_is_a_new_instance_and_the_cache_stays(
    google: Estate, product: Product, born: dict[str, Any]
) -> None:
    google.add(product)
    project = google.look(google.project())
    cache = Cache.objects.get()
    google.add(product, **born)

    google.look(project)

    assert only(product).cache == cache
    assert CloudInstance.objects.filter(cache=None).exclude(gone_at=None).count() == 1
    cache.refresh_from_db()
    assert (cache.address, cache.is_paused) == ("redis://10.0.0.99:6379", False)
    assert whats() == ["found", "recreated"]


def test_what_is_recreated_after_it_was_gone_takes_its_cache_up_again(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    google.remove(Product.REDIS)
    google.look(project, times=2)
    google.add(Product.REDIS, create_time=LATER)

    google.look(project)

    assert only().cache == Cache.objects.get(is_paused=False)
    assert whats() == ["found", "gone", "recreated"]


def test_what_is_renamed_is_the_same_instance(google: Estate) -> None:
    google.add(Product.VALKEY, "carts")
    project = google.look(google.project())
    google.remove(Product.VALKEY, "carts")
    google.add(Product.VALKEY, "baskets")

    google.look(project)

    assert (only(Product.VALKEY).short_id, CloudInstance.objects.count()) == ("baskets", 1)
    assert Cache.objects.get().name == "carts"
    assert whats() == ["found", "renamed"]


# Two projects, two workers


def test_two_projects_that_see_the_same_instance_make_one_cache(google: Estate) -> None:
    name = google.add(Product.VALKEY)
    first = google.look(google.project())
    google.emulator.instances.known[Product.VALKEY, name.replace("shop-prod", "shop-two")] = (
        google.emulator.instances.known[Product.VALKEY, name]
    )
    second = google.project("shop-two")

    google.look(second)
    google.look(first)

    assert CloudInstance.objects.present().count() == 2
    assert Cache.objects.count() == 1
    assert not CloudInstance.objects.waiting().exists()


def test_whoever_comes_second_at_the_same_moment_makes_none(google: Estate) -> None:
    name = google.add(Product.VALKEY)
    google.look(google.project())
    row = only(Product.VALKEY)
    second = CloudInstance.objects.create(
        project=google.project("shop-two"), product=row.product, name=name, uid=row.uid, snapshot=row.snapshot
    )

    assert adoption.adopt(second, timezone.now()) is None
    assert Cache.objects.count() == 1


def test_a_cache_that_was_deleted_is_not_made_again_by_the_other_project(google: Estate) -> None:
    name = google.add(Product.VALKEY)
    first = google.look(google.project())
    google.emulator.instances.known[Product.VALKEY, name.replace("shop-prod", "shop-two")] = (
        google.emulator.instances.known[Product.VALKEY, name]
    )
    second = google.look(google.project("shop-two"))
    Cache.objects.all().delete()

    google.look(first)
    google.look(second)

    assert not Cache.objects.exists()


def test_only_one_worker_looks_at_a_time(google: Estate) -> None:
    project = google.project(lease_until=timezone.now() + timedelta(minutes=1))

    assert not discovery.discover(project.pk, is_asked=True)
    assert not google.emulator.calls


def test_the_lease_is_given_back(google: Estate) -> None:
    project = google.look(google.project())

    assert project.lease_until <= timezone.now()


def test_the_lease_is_given_back_after_a_fault_of_ours(google: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(discovery, "ask", fail)
    project = google.project()

    with pytest.raises(ZeroDivisionError):
        discovery.discover(project.pk, is_asked=True)

    project.refresh_from_db()
    assert project.lease_until <= timezone.now()


@pytest.mark.parametrize(
    ("ago", "fields", "expected"),
    [
        (None, {}, True),
        (70, {}, True),
        (20, {}, False),
        (70, {"interval_seconds": 600}, False),
        (70, {"is_paused": True}, False),
    ],
)
def test_a_project_is_due_when_its_interval_is_over(
    db: None, ago: int | None, fields: dict[str, Any], expected: bool
) -> None:
    at = timezone.now() - timedelta(seconds=ago) if ago else None
    project = CloudProject.objects.create(project_id="shop-prod", discovered_at=at, **fields)

    assert (discovery.due() == [project.pk]) is expected


def test_a_project_that_somebody_looks_into_is_not_due(db: None) -> None:
    CloudProject.objects.create(project_id="shop-prod", lease_until=timezone.now() + timedelta(minutes=1))

    assert discovery.due() == []


def test_a_project_deleted_while_we_look_leaves_nothing(google: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    google.add(Product.REDIS)
    project = google.project()
    ask = discovery.ask

    def ask_and_lose(*words: Any) -> Any:
        found = ask(*words)
        CloudProject.objects.all().delete()
        return found

    monkeypatch.setattr(discovery, "ask", ask_and_lose)

    discovery.discover(project.pk)

    assert not CloudInstance.objects.exists()


def test_it_comes_in_by_tasks(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.project()

    tasks.discover_cloud()
    tasks.discover_project(project.pk)

    assert only().cache is not None
