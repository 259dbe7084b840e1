"""Google Cloud projects over the API."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role
from collectors.cloud.models import CloudInstance, CloudProject, Decision
from collectors.cloud.products import Product
from collectors.tests.discovery_cast import Estate, estate
from collectors.tests.test_cloud_identities import EMAIL, key_of_account
from dashboard.tests.api import call
from dashboard.tests.project_cast import answered, instance, project
from fleet.models import Cache

pytestmark = pytest.mark.django_db
KEY = json.dumps(key_of_account())
NEW: dict[str, Any] = {"project_id": "shop-prod"}


@pytest.fixture
def google(settings: Any) -> Iterator[Estate]:
    with estate() as made:
        settings.GOOGLE_ENDPOINT = made.emulator.address
        yield made


def test_a_project_is_added_with_what_is_usual() -> None:
    answer = call(Role.OPERATOR, "post", "/projects", NEW)

    assert answer.status_code == 201
    told = answer.json()
    assert (told["project_id"], told["approve"], told["credentials"]) == ("shop-prod", "ask", "adc")
    assert told["products"] == ["redis", "redis-cluster", "valkey", "memcached"]
    assert {state["state"] for state in told["states"]} == {"waiting"}


def test_a_key_is_never_answered_back() -> None:
    answer = call(Role.OPERATOR, "post", "/projects", NEW | {"credentials": "key", "key": KEY})

    assert (answer.json()["has_key"], answer.json()["account"]) == (True, EMAIL)
    assert b"PRIVATE" not in answer.content
    assert b"PRIVATE" not in call(Role.VIEWER, "get", "/projects").content


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"project_id": "Shop"}, "project_id"),
        ({"products": []}, "products"),
        ({"products": ["sql"]}, "products.0"),
        ({"key": "no", "credentials": "key"}, "key"),
        ({"approve": "rule"}, "approve_names"),
        ({"interval_seconds": 1}, "interval_seconds"),
        ({"endpoint": "attacker:1"}, "endpoint"),
        ({"principal": "x"}, "principal"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(given: dict[str, Any], field: str) -> None:
    answer = call(Role.OPERATOR, "post", "/projects", NEW | given)

    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert not CloudProject.objects.exists()


def test_a_project_that_is_there_is_a_conflict() -> None:
    project()

    assert call(Role.OPERATOR, "post", "/projects", NEW).status_code == 409


def test_a_viewer_reads_and_changes_nothing() -> None:
    project()

    assert call(Role.VIEWER, "get", "/projects/shop-prod").status_code == 200
    assert call(Role.VIEWER, "post", "/projects", {"project_id": "shop-two"}).status_code == 403
    assert call(Role.VIEWER, "delete", "/projects/shop-prod").status_code == 403


def test_a_project_tells_how_each_api_answers() -> None:
    project(products=["redis"], state={"redis": answered("permission", "redis.instances.list")})

    (state,) = call(Role.VIEWER, "get", "/projects/shop-prod").json()["states"]

    assert (state["product"], state["state"], state["instances"]) == ("redis", "failed", 1)
    assert "redis.instances.list" in state["sentences"][0]


def test_a_change_names_only_what_changes() -> None:
    project(approve="all")

    answer = call(Role.OPERATOR, "patch", "/projects/shop-prod", {"interval_seconds": 300})

    assert (answer.json()["interval_seconds"], answer.json()["approve"]) == (300, "all")


def test_a_change_of_an_older_revision_is_a_conflict() -> None:
    project(revision=3)

    answer = call(Role.OPERATOR, "patch", "/projects/shop-prod", {"interval_seconds": 300, "revision": 2})

    assert answer.status_code == 409


def test_a_project_is_removed() -> None:
    project()

    assert call(Role.OPERATOR, "delete", "/projects/shop-prod").status_code == 204
    assert call(Role.VIEWER, "get", "/projects/shop-prod").status_code == 404


@pytest.mark.parametrize("name", ["nothing-here", "No", "x" * 200])
def test_an_unknown_project_is_not_found(name: str) -> None:
    assert call(Role.VIEWER, "get", f"/projects/{name}").status_code == 404


def test_a_project_is_looked_into_on_demand() -> None:
    project()

    assert call(Role.OPERATOR, "post", "/projects/shop-prod/look").status_code == 202
    assert CloudProject.objects.get().discovered_at is None


def test_found_instances_are_listed() -> None:
    found = project()
    instance(found, "carts", Cache.objects.create(name="carts", address="redis://10.0.0.3"))
    instance(found, "stock", uid="u-2")

    listed = call(Role.VIEWER, "get", "/projects/shop-prod/instances").json()["instances"]

    assert [(one["short_id"], one["decision"], one["cache"]) for one in listed] == [
        ("stock", "waiting", None),
        ("carts", "approved", "carts"),
    ]


@pytest.mark.parametrize(("products", "is_asked_for"), [(["redis"], True), (["valkey"], False)])
def test_an_instance_tells_whether_it_is_still_asked_for(products: list[str], is_asked_for: bool) -> None:
    instance(project(products=products))

    (listed,) = call(Role.VIEWER, "get", "/projects/shop-prod/instances").json()["instances"]

    assert listed["is_asked_for"] is is_asked_for


@pytest.mark.parametrize(("body", "reach"), [({}, "nodes"), ({"reach": "service"}, "service")])
def test_an_instance_is_approved(body: dict[str, Any], reach: str) -> None:
    found = instance(project())

    answer = call(Role.OPERATOR, "post", f"/projects/shop-prod/instances/{found.pk}/approve", body)

    assert answer.json()["cache"] == "carts"
    assert Cache.objects.get().reach == reach


def test_an_instance_is_ignored() -> None:
    found = instance(project())

    answer = call(Role.OPERATOR, "post", f"/projects/shop-prod/instances/{found.pk}/ignore")

    assert answer.json()["decision"] == "ignored"
    assert CloudInstance.objects.get().decision == Decision.IGNORED


def test_what_is_gone_cannot_be_approved() -> None:
    found = instance(project(), gone_at=timezone.now())

    answer = call(Role.OPERATOR, "post", f"/projects/shop-prod/instances/{found.pk}/approve", {})

    assert (answer.status_code, answer.json()["error"]) == (400, "It is gone.")


@pytest.mark.parametrize("number", [0, -1, 2**70, 987_654_321])
def test_an_unknown_instance_is_not_found(number: int) -> None:
    project()

    assert call(Role.OPERATOR, "post", f"/projects/shop-prod/instances/{number}/ignore").status_code == 404


def test_an_instance_of_another_project_is_not_found() -> None:
    project()
    other = instance(project("shop-two"))

    assert call(Role.OPERATOR, "post", f"/projects/shop-prod/instances/{other.pk}/ignore").status_code == 404


def test_a_test_tells_what_is_missing_and_how_to_grant_it(google: Estate) -> None:
    google.add(Product.REDIS)
    google.emulator.faults.deny("Memorystore/ListInstances")

    told = call(Role.OPERATOR, "post", "/projects/test", NEW).json()

    assert not told["ok"]
    assert {check["api"]: check["ok"] for check in told["checks"]} == {
        "redis": True,
        "redis-cluster": True,
        "valkey": False,
        "memcached": True,
        "metrics": True,
    }
    assert [command.split("--role=")[1].split()[0] for command in told["commands"]] == ["roles/memorystore.viewer"]


def test_a_test_uses_the_stored_key(google: Estate) -> None:
    call(Role.OPERATOR, "post", "/projects", NEW | {"credentials": "key", "key": KEY})

    assert call(Role.OPERATOR, "post", "/projects/test", NEW).json()["account"] == EMAIL


def test_how_a_cache_logs_in_and_is_reached_is_told_and_changed() -> None:
    Cache.objects.create(name="carts", address="redis://10.0.0.3")

    answer = call(Role.OPERATOR, "patch", "/caches/carts", {"login": "google-iam", "reach": "service"})

    assert (answer.json()["login"], answer.json()["reach"]) == ("google-iam", "service")


@pytest.mark.parametrize("given", [{"login": "magic"}, {"reach": "maybe"}])
def test_a_cache_takes_no_other_login_or_reach(given: dict[str, str]) -> None:
    Cache.objects.create(name="carts", address="redis://10.0.0.3")

    assert call(Role.OPERATOR, "patch", "/caches/carts", given).status_code == 400
