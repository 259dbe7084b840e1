"""Two projects of ours that see the same instance: one cache, one decision, and somebody who looks after it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from collectors.cloud import approval, projects
from collectors.cloud.adoption import same_elsewhere
from collectors.cloud.feed import CloudPlace
from collectors.cloud.models import CloudInstance, CloudProject, Decision
from collectors.cloud.places import Instances, Key
from collectors.cloud.products import Product
from collectors.event import Event, Kind
from collectors.tests.discovery_cast import BORN, Estate, estate
from fleet.models import Cache, Reach

REBORN = BORN + timedelta(days=30)
AUTH = "CloudRedis/GetInstanceAuthString"


@pytest.fixture
def google(db: None) -> Iterator[Estate]:
    with estate() as made:
        yield made


def share(google: Estate, product: Product = Product.REDIS, **fields: Any) -> str:
    """Add an instance of shop-prod that is listed in shop-two as well."""
    name = google.add(product, **fields)
    known = google.emulator.instances.known
    known[product, name.replace("shop-prod", "shop-two")] = known[product, name]
    return name


def hide(google: Estate, project_id: str, product: Product = Product.REDIS) -> None:
    """Let a project's account not see the instance any more."""
    known = google.emulator.instances.known
    del known[next(key for key in known if key[0] == product and f"/{project_id}/" in key[1])]


def both(google: Estate, approve: str = "all") -> tuple[CloudProject, CloudProject]:
    first, second = google.project(approve=approve), google.project("shop-two", approve=approve)
    return google.look(first), google.look(second)


def row(project: CloudProject) -> CloudInstance:
    return CloudInstance.objects.present().select_related("cache", "project").get(project=project)


def owner() -> str:
    """Return the project whose row has the only cache."""
    return CloudInstance.objects.select_related("project").get(cache=Cache.objects.get()).project.project_id


# One decision


@pytest.mark.parametrize("first_to_look", [0, 1])
def test_both_add_all_and_one_cache_is_made(google: Estate, first_to_look: int) -> None:
    share(google)
    made = google.project(), google.project("shop-two")

    for project in (made[first_to_look], made[1 - first_to_look]):
        google.look(project, times=2)

    assert owner() == made[first_to_look].project_id
    assert {one.decision for one in CloudInstance.objects.all()} == {Decision.APPROVED}


def test_what_one_approves_waits_in_the_other_no_more(google: Estate) -> None:
    share(google)
    first, second = both(google, approve="ask")
    assert CloudInstance.objects.waiting().count() == 2

    approval.approve(row(second), timezone.now())

    assert owner() == "shop-two"
    assert not CloudInstance.objects.waiting().exists()
    google.look(first, times=2)
    assert Cache.objects.count() == 1


def test_what_one_adds_by_itself_waits_in_the_other_no_more(google: Estate) -> None:
    share(google)
    first = google.look(google.project(approve="ask"))

    google.look(google.project("shop-two"))

    assert (owner(), row(first).decision) == ("shop-two", Decision.APPROVED)


def test_both_approve_it_one_after_the_other(google: Estate) -> None:
    share(google)
    first, second = both(google, approve="ask")
    cache = approval.approve(row(first), timezone.now())

    assert approval.approve(row(second), timezone.now()) is None
    assert Cache.objects.get() == cache


def test_what_one_ignores_the_other_does_not_add(google: Estate) -> None:
    share(google)
    first = google.look(google.project(approve="ask"))
    assert approval.ignore(row(first))

    second = google.look(google.project("shop-two"), times=2)

    assert row(second).decision == Decision.IGNORED
    assert not Cache.objects.exists()


def test_what_both_ignore_either_may_approve_later(google: Estate) -> None:
    share(google)
    first, second = both(google, approve="ask")
    approval.ignore(row(first))
    assert row(second).decision == Decision.IGNORED

    assert approval.approve(row(second), timezone.now()) is not None

    assert row(first).decision == Decision.APPROVED


def test_a_cache_of_the_other_project_cannot_be_ignored(google: Estate) -> None:
    share(google)
    _first, second = both(google)

    assert not approval.ignore(row(second))
    assert row(second).decision == Decision.APPROVED


@pytest.mark.parametrize("who_looks_first", [0, 1])
def test_a_cache_that_was_deleted_stays_so_whoever_looks_first(google: Estate, who_looks_first: int) -> None:
    share(google)
    made = both(google)
    Cache.objects.all().delete()

    google.look(made[who_looks_first])
    google.look(made[1 - who_looks_first])

    assert not Cache.objects.exists()
    assert {one.decision for one in CloudInstance.objects.all()} == {Decision.IGNORED}


def test_ignored_by_one_and_removed_with_it_it_stays_ignored(google: Estate) -> None:
    share(google)
    first, second = both(google, approve="ask")
    approval.ignore(row(first))

    projects.delete(None, first)
    google.look(second, times=2)

    assert not Cache.objects.exists()


# One that goes


def test_a_removed_project_leaves_the_cache_to_the_other_with_its_labels(google: Estate) -> None:
    share(google)
    first, second = both(google)
    assert Cache.objects.get().labels["project"] == "shop-prod"

    projects.delete(None, first)
    google.look(second)

    assert owner() == "shop-two"
    assert Cache.objects.get().labels["project"] == "shop-two"


def test_what_one_account_sees_no_more_the_other_looks_after(google: Estate) -> None:
    share(google)
    first, second = both(google)
    hide(google, "shop-prod")

    for _turn in range(3):
        google.look(first)
        google.look(second)

    assert owner() == "shop-two"
    assert not Cache.objects.get().is_paused
    assert not Event.objects.filter(kind=Kind.CLOUD, data__what="gone").exists()


def test_what_both_see_no_more_is_gone(google: Estate) -> None:
    share(google)
    first, second = both(google)
    hide(google, "shop-prod")
    hide(google, "shop-two")

    for _turn in range(4):
        google.look(first)
        google.look(second)

    assert Cache.objects.get().is_paused
    assert not CloudInstance.objects.present().exists()


def test_what_the_other_has_not_seen_lately_is_gone_all_the_same(google: Estate) -> None:
    share(google)
    first, second = both(google)
    google.look(first)
    CloudProject.objects.filter(pk=second.pk).update(is_paused=True)
    hide(google, "shop-prod")

    google.look(first, times=2)

    assert owner() == "shop-prod"
    assert Cache.objects.get().is_paused


def test_what_was_gone_for_one_goes_on_with_the_project_that_sees_it(google: Estate) -> None:
    share(google)
    first = google.look(google.project())
    hide(google, "shop-prod")
    google.look(first, times=2)
    assert Cache.objects.get().is_paused

    google.look(google.project("shop-two"))

    assert owner() == "shop-two"
    assert not Cache.objects.get().is_paused


def test_what_comes_back_for_the_first_stays_with_the_second(google: Estate) -> None:
    name = share(google)
    first, second = both(google)
    hide(google, "shop-prod")
    for _turn in range(3):
        google.look(first)
        google.look(second)
    known = google.emulator.instances.known
    known[Product.REDIS, name] = known[Product.REDIS, name.replace("shop-prod", "shop-two")]

    google.look(first, times=2)

    assert owner() == "shop-two"
    assert same_elsewhere(row(first)) is not None


# Keys with different rights


def test_the_project_that_has_the_cache_asks_for_its_password(google: Estate) -> None:
    name = share(google, auth_enabled=True)
    google.emulator.instances.auth_strings[name] = "s3cret"
    denied = google.emulator.faults.deny(AUTH)
    first, second = both(google)
    assert Cache.objects.get().reach == Reach.SERVICE

    google.emulator.faults.on.remove(denied)
    projects.delete(None, first)
    google.look(second)

    cache = Cache.objects.get()
    assert (cache.password.reveal(), cache.reach) == ("s3cret", Reach.NODES)


def test_one_account_that_may_not_list_leaves_the_cache_with_the_other(google: Estate) -> None:
    share(google)
    first, second = both(google)
    google.emulator.faults.deny("CloudRedis/ListInstances", containing="projects/shop-prod/")

    first, second = google.look(first, times=3), google.look(second, times=3)

    assert (first.state["redis"]["ok"], second.state["redis"]["ok"]) == (False, True)
    assert owner() == "shop-prod"
    assert CloudInstance.objects.present().count() == 2


# Recreated under the same name


@pytest.mark.parametrize("who_looks_first", [0, 1])
def test_what_is_recreated_keeps_its_cache_whoever_notices_first(google: Estate, who_looks_first: int) -> None:
    share(google)
    made = both(google)
    share(google, create_time=REBORN, host="10.0.0.99")

    for _turn in range(3):
        google.look(made[who_looks_first])
        google.look(made[1 - who_looks_first])

    cache = Cache.objects.get()
    assert (cache.name, cache.address, cache.is_paused) == ("carts", "redis://10.0.0.99:6379", False)
    assert CloudInstance.objects.present().count() == 2
    assert Event.objects.filter(kind=Kind.CLOUD, data__what="recreated").count() == 1


def test_charts_of_what_is_recreated_go_on(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())
    place = CloudPlace.objects.create(instance=row(project), role="primary", seen_on=timezone.now().date())
    google.add(Product.REDIS, create_time=REBORN)

    google.look(project)

    place.refresh_from_db()
    assert place.instance == row(project)


# Figures of both in one metrics scope


@pytest.mark.parametrize("who_has_the_cache", [0, 1])
@pytest.mark.parametrize("product", [Product.REDIS, Product.VALKEY])
def test_figures_belong_to_the_row_that_has_the_cache(google: Estate, product: Product, who_has_the_cache: int) -> None:
    name = share(google, product)
    made = google.project(), google.project("shop-two")
    google.look(made[who_has_the_cache])
    google.look(made[1 - who_has_the_cache])
    mine = row(made[who_has_the_cache])
    uid = mine.uid if product is Product.VALKEY else ""

    found = Instances.of(made)

    assert found.find(Key(product, "shop-prod", name, uid, "", "node-0", "primary")) == mine.pk
    assert found.find(Key(product, "shop-prod", "carts", uid, "asia-northeast1-b", "", "")) == mine.pk
    assert found.find(Key(product, "shop-prod", "carts", uid, "", "", "")) == mine.pk
