"""The pages of Google Cloud projects."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from collectors.cloud.models import CloudInstance, CloudProject, Decision
from collectors.cloud.products import Product
from collectors.tests.discovery_cast import Estate, estate
from collectors.tests.test_cloud_identities import EMAIL, key_of_account
from dashboard.tests.project_cast import answered, instance, project
from dashboard.tests.test_every_page import text_of
from fleet.models import Cache, Reach

pytestmark = pytest.mark.django_db
NEW = {
    "project_id": "shop-prod",
    "credentials": "adc",
    "products": ["redis", "valkey"],
    "interval_seconds": "60",
    "approve": "ask",
    "reach": "nodes",
}
KEY = json.dumps(key_of_account())
HTMX = {"HX-Request": "true"}


@pytest.fixture
def operator() -> Client:
    return client_of(Role.OPERATOR)


@pytest.fixture
def google(settings: Any) -> Iterator[Estate]:
    with estate() as made:
        settings.GOOGLE_ENDPOINT = made.emulator.address
        yield made


def words(path: str, role: str = Role.OPERATOR, **headers: str) -> str:
    answer = client_of(role).get(path, headers=headers)
    assert answer.status_code == 200
    return text_of(answer.content.decode())


# The list


def test_an_empty_list_says_what_a_project_brings() -> None:
    assert "No projects yet" in words("/projects/")
    assert "Add a project" in words("/projects/")


def test_the_list_tells_a_reason_once_for_all_products_that_share_it() -> None:
    state = {"redis": answered("unreachable"), "valkey": answered("unreachable"), "memcached": answered()}
    project(products=["redis", "valkey", "memcached"], state=state)

    told = words("/projects/")

    assert told.count("Google cannot be reached from here") == 1
    assert "Memorystore for Redis, Memorystore for Valkey: Google cannot" in told


def test_a_viewer_is_told_who_can_add_one() -> None:
    assert "An operator or administrator can add one." in words("/projects/", Role.VIEWER)


def test_the_list_counts_what_was_found_and_what_waits() -> None:
    found = project()
    instance(found, "carts", Cache.objects.create(name="carts", address="redis://10.0.0.3"))
    instance(found, "stock")
    instance(found, "old", gone_at=timezone.now())

    assert "shop-prod works 2 1 1 30 s ago" in words("/projects/")


def test_the_list_names_what_failed_and_what_to_do() -> None:
    state = {"redis": answered(), "valkey": answered("permission", "memorystore.instances.list")}
    project(products=["redis", "valkey"], state=state)

    told = words("/projects/")
    assert "failed Memorystore for Valkey: The account lacks a permission: memorystore.instances.list" in told


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "works"),
        ({"is_paused": True}, "paused"),
        ({"state": {}, "discovered_at": None}, "not asked yet not known yet"),
        ({"state": {"redis": answered(unreachable=["us-east1"])}, "products": ["redis"]}, "in part"),
        ({"state": {"redis": answered("brand_new", "Something new.")}, "products": ["redis"]}, "failed"),
    ],
)
def test_the_list_tells_the_worst_state(fields: dict[str, Any], expected: str) -> None:
    project(**fields)

    assert f"shop-prod {expected}" in words("/projects/")


def test_the_list_costs_the_same_for_many_projects(django_assert_num_queries: Any) -> None:
    for number in range(5):
        instance(project(f"shop-prod-{number}"))
    client = client_of(Role.VIEWER)
    client.get("/projects/")

    with django_assert_num_queries(4):
        client.get("/projects/")


@pytest.mark.parametrize("path", ["/projects/", "/projects/shop-prod/"])
def test_a_refresh_brings_the_living_part_alone(path: str) -> None:
    project()

    answer = client_of(Role.VIEWER).get(path, headers=HTMX)

    assert b"<main" not in answer.content
    assert b'id="live"' in answer.content


# One project


def test_a_project_shows_each_api_with_its_age() -> None:
    project(state={"redis": answered(count=3)}, products=["redis", "valkey"])

    told = words("/projects/shop-prod/")
    assert "Memorystore for Redis works 3 30 s ago 30 s ago" in told
    assert "Memorystore for Valkey not asked yet It has not been asked yet. not known yet" in told


def test_a_region_that_is_down_and_a_missing_extra_are_said() -> None:
    auth = {"at": "", "cause": "permission", "words": "redis.instances.getAuthString"}
    project(state={"redis": answered(unreachable=["us-east1"], auth=auth)}, products=["redis"])

    told = words("/projects/shop-prod/")
    assert "so that nothing is known of it: us-east1." in told
    assert "AUTH strings of Redis: The account lacks a permission: redis.instances.getAuthString" in told


def test_found_instances_show_product_size_and_state() -> None:
    found = project()
    instance(found, "carts", Cache.objects.create(name="carts", address="redis://10.0.0.3"))

    told = words("/projects/shop-prod/")
    assert "carts asia-northeast1 Memorystore for Redis STANDARD_HA · 2 nodes · 5 GiB up carts" in told


def test_what_waits_comes_first_and_what_is_gone_last() -> None:
    found = project()
    instance(found, "aaa", gone_at=timezone.now())
    instance(found, "bbb", Cache.objects.create(name="bbb", address="redis://10.0.0.3"))
    instance(found, "ccc")

    told = words("/projects/shop-prod/")
    assert told.index("ccc") < told.index("bbb") < told.index("aaa")


def test_what_another_project_sees_too_says_so() -> None:
    first, second = project(), project("shop-two")
    instance(first, cache=Cache.objects.create(name="carts", address="redis://10.0.0.3"), name="same")
    instance(second, name="same", decision=Decision.APPROVED)

    assert "carts also seen by shop-prod" in words("/projects/shop-two/")


def test_what_is_ignored_in_another_project_is_not_said_to_wait() -> None:
    first, second = project(), project("shop-two")
    instance(first, name="same", decision=Decision.IGNORED)
    instance(second, name="same", decision=Decision.IGNORED)

    told = words("/projects/shop-two/")
    assert "ignored" in told
    assert "as soon as the service names its address" not in told


def test_instances_of_a_product_that_was_unticked_stay_and_say_so(operator: Client) -> None:
    found = project(products=["valkey"])
    instance(found, "carts", Cache.objects.create(name="carts", address="redis://10.0.0.3"))
    instance(found, "stock")

    html = operator.get("/projects/shop-prod/", headers=HTMX).content.decode()

    assert html.count("no longer asked for") == 2
    assert 'type="checkbox"' in html
    assert " checked" not in html
    assert "shop-prod works 2 1 none" in words("/projects/")


def test_a_product_that_is_ticked_again_is_asked_for_as_before() -> None:
    found = project(products=["valkey"])
    instance(found)
    CloudProject.objects.update(products=["redis", "valkey"])

    told = words("/projects/shop-prod/")

    assert "no longer asked for" not in told
    assert "waits for approval" in told


def test_a_gone_instance_of_an_unticked_product_is_just_gone() -> None:
    instance(project(products=["valkey"]), gone_at=timezone.now())

    assert "no longer asked for" not in words("/projects/shop-prod/")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "There is no instance in this project"),
        ({"discovered_at": None, "state": {}}, "is being looked into"),
        ({"state": {"redis": answered("unreachable", ok_at=None)}}, "nobody knows what is in this project"),
    ],
)
def test_an_empty_project_says_why(fields: dict[str, Any], expected: str) -> None:
    project(**fields)

    assert expected in words("/projects/shop-prod/")


def test_an_unknown_project_is_not_found() -> None:
    assert client_of(Role.VIEWER).get("/projects/nothing-here/").status_code == 404


def test_a_viewer_sees_no_buttons() -> None:
    instance(project())

    told = words("/projects/shop-prod/", Role.VIEWER)
    assert "Look now" not in told
    assert "Add those chosen" not in told


def test_an_enum_that_nobody_knows_yet_is_shown_as_it_is() -> None:
    instance(project(), state="unknown", state_name="77", snapshot={"state": 77, "tier": 42})

    assert "42 · 1 node unknown (77)" in words("/projects/shop-prod/")


# The form


def test_a_project_is_added(operator: Client) -> None:
    answer = operator.post("/projects/new/", NEW)

    made = CloudProject.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, "/projects/shop-prod/")
    assert made.products == ["redis", "valkey"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"project_id": "Shop"}, "A project id has 6 to 30"),
        ({"credentials": "key"}, "Paste the key of the service account"),
        ({"credentials": "key", "key": "{}"}, "service_account"),
        ({"credentials": "key", "key": "no"}, "This is not JSON"),
        ({"products": []}, "This field is required"),
        ({"approve": "rule"}, "A rule needs labels or names"),
        ({"approve_labels": "team"}, "has no value"),
        ({"interval_seconds": "1"}, "greater than or equal to 30"),
    ],
)
def test_what_is_wrong_is_said_on_the_form(operator: Client, given: dict[str, Any], expected: str) -> None:
    answer = operator.post("/projects/new/", NEW | given)

    assert answer.status_code == 400
    assert expected in text_of(answer.content.decode())
    assert not CloudProject.objects.exists()


def test_the_same_project_again_is_refused(operator: Client) -> None:
    project()

    assert "This project is here already." in text_of(operator.post("/projects/new/", NEW).content.decode())


def test_a_change_keeps_the_project_and_the_key(operator: Client) -> None:
    operator.post("/projects/new/", NEW | {"credentials": "key", "key": KEY})

    given = NEW | {"project_id": "other-one", "credentials": "key", "interval_seconds": "300", "revision": "1"}
    answer = operator.post("/projects/shop-prod/edit/", given)

    assert answer.status_code == 302
    changed = CloudProject.objects.get()
    assert (changed.project_id, changed.interval_seconds, changed.key.reveal()) == ("shop-prod", 300, KEY)


def test_the_second_of_two_people_is_told(operator: Client) -> None:
    project(revision=5)

    answer = operator.post("/projects/shop-prod/edit/", NEW | {"revision": "4"})

    assert answer.status_code == 400
    assert "Somebody else changed" in text_of(answer.content.decode())


@pytest.mark.parametrize("path", ["/projects/shop-prod/edit/", "/projects/shop-prod/", "/projects/"])
def test_a_key_is_never_shown_again(operator: Client, path: str) -> None:
    operator.post("/projects/new/", NEW | {"credentials": "key", "key": KEY})

    assert b"PRIVATE KEY" not in operator.get(path).content


def test_a_refused_form_does_not_repeat_the_key(operator: Client) -> None:
    answer = operator.post("/projects/new/", NEW | {"credentials": "key", "key": KEY, "interval_seconds": "1"})

    assert answer.status_code == 400
    assert b"PRIVATE KEY" not in answer.content


def test_the_form_shows_what_all_of_it_needs(operator: Client) -> None:
    project(products=["memcached"])

    assert "--role=roles/memcache.viewer" in operator.get("/projects/shop-prod/edit/").content.decode()


# The test


def test_a_test_says_api_by_api_what_is_missing(operator: Client, google: Estate) -> None:
    google.add(Product.REDIS)
    google.emulator.faults.deny("Memorystore/ListInstances")

    answer = operator.post("/projects/test/", NEW, headers=HTMX).content.decode()

    assert "It answers: 1 instance." in answer
    assert "memorystore.instances.list" in answer
    assert "--role=roles/memorystore.viewer" in answer
    assert "roles/redis.viewer" not in answer
    assert not CloudProject.objects.exists()


def test_a_test_of_all_that_works_grants_nothing(operator: Client, google: Estate) -> None:
    answer = operator.post("/projects/test/", NEW, headers=HTMX).content.decode()

    assert "gcloud" not in answer


def test_a_test_uses_the_stored_key_and_names_its_account(operator: Client, google: Estate) -> None:
    operator.post("/projects/new/", NEW | {"credentials": "key", "key": KEY})

    given = NEW | {"credentials": "key", "editing": "shop-prod"}
    answer = operator.post("/projects/test/", given, headers=HTMX).content.decode()

    assert f"asked as {EMAIL}" in answer


def test_a_test_without_scripts_brings_the_form_again(operator: Client, google: Estate) -> None:
    answer = operator.post("/projects/test/", NEW)

    assert answer.status_code == 200
    assert "Test, API by API" in text_of(answer.content.decode())


@pytest.mark.parametrize("given", [{"project_id": "No"}, {"credentials": "key"}, {"editing": "a\0b", "products": []}])
def test_a_test_of_a_wrong_form_says_what_is_wrong(operator: Client, given: dict[str, Any]) -> None:
    answer = operator.post("/projects/test/", NEW | given, headers=HTMX)

    assert b"note-error" in answer.content


# Decisions


def test_what_is_ticked_becomes_caches(operator: Client, google: Estate) -> None:
    found = project()
    chosen, other = instance(found), instance(found, "stock", uid="u-2", name="stock")

    operator.post("/projects/shop-prod/decide/", {"instance": [chosen.pk], "what": "add"})

    chosen.refresh_from_db()
    other.refresh_from_db()
    assert (chosen.cache, other.cache) == (Cache.objects.get(), None)
    assert AuditEntry.objects.get(action="project.approve").target == "asia-northeast1/carts"


def test_they_may_be_added_with_cloud_monitoring_alone(operator: Client) -> None:
    chosen = instance(project())

    operator.post("/projects/shop-prod/decide/", {"instance": [chosen.pk], "what": "add-service"})

    assert Cache.objects.get().reach == Reach.SERVICE


def test_they_may_be_ignored(operator: Client) -> None:
    chosen = instance(project())

    operator.post("/projects/shop-prod/decide/", {"instance": [chosen.pk], "what": "ignore"})

    assert CloudInstance.objects.get().decision == Decision.IGNORED
    assert "ignored" in words("/projects/shop-prod/")


@pytest.mark.parametrize(
    ("fields", "what", "expected"),
    [
        ({"gone_at": timezone.now()}, "add", "It is gone."),
        ({"cache": True}, "ignore", "It is a cache already"),
        ({"cache": True}, "add", "It is a cache already"),
        ({}, "explode", "There is no such decision."),
    ],
)
def test_a_decision_that_is_not_possible_says_why(
    operator: Client, fields: dict[str, Any], what: str, expected: str
) -> None:
    if "cache" in fields:
        fields = {"cache": Cache.objects.create(name="carts", address="redis://10.0.0.3")}
    chosen = instance(project(), **fields)

    answer = operator.post("/projects/shop-prod/decide/", {"instance": [chosen.pk], "what": what}, follow=True)

    assert expected in text_of(answer.content.decode())


@pytest.mark.parametrize("given", [[], ["x"], ["9" * 30], ["-1"]])
def test_nothing_chosen_is_said(operator: Client, given: list[str]) -> None:
    project()

    answer = operator.post("/projects/shop-prod/decide/", {"instance": given, "what": "add"}, follow=True)

    assert "Choose at least one instance." in text_of(answer.content.decode())


def test_instances_of_other_projects_are_left_alone(operator: Client) -> None:
    project()
    other = instance(project("shop-two"))

    operator.post("/projects/shop-prod/decide/", {"instance": [other.pk], "what": "ignore"})

    assert CloudInstance.objects.get().decision == Decision.WAITING


def test_an_instance_without_an_address_says_what_it_waits_for(operator: Client) -> None:
    chosen = instance(project(), snapshot={"state": "CREATING"})

    operator.post("/projects/shop-prod/decide/", {"instance": [chosen.pk], "what": "add"})

    assert "as soon as the service names its address" in words("/projects/shop-prod/")


def test_a_project_is_looked_into_on_demand(operator: Client) -> None:
    project()

    operator.post("/projects/shop-prod/look/")

    assert CloudProject.objects.get().discovered_at is None


def test_a_project_is_removed_and_its_caches_stay(operator: Client) -> None:
    instance(project(), cache=Cache.objects.create(name="carts", address="redis://10.0.0.3"))
    assert "1 cache that was found here stays" in words("/projects/shop-prod/delete/")

    operator.post("/projects/shop-prod/delete/")

    assert (CloudProject.objects.exists(), Cache.objects.exists()) == (False, True)


def test_what_google_says_is_shown_as_text(operator: Client) -> None:
    hostile = "<script>alert(1)</script>"
    found = project(state={"redis": answered("other", hostile, unreachable=[hostile])}, products=["redis"])
    instance(found, hostile, snapshot={"display_name": hostile, "tier": hostile, "redis_version": hostile})

    for path in ("/projects/", "/projects/shop-prod/"):
        assert b"<script>alert" not in operator.get(path).content


# What follows on other pages


def test_a_gone_instance_is_a_finding_of_the_fleet_though_its_cache_is_paused() -> None:
    cache = Cache.objects.create(name="carts", address="redis://10.0.0.3", is_paused=True)
    instance(project(), cache=cache, gone_at=timezone.now())

    assert "carts is not in its Google Cloud project any more" in words("/")


def test_other_findings_of_a_paused_cache_are_left_out() -> None:
    cache = Cache.objects.create(name="carts", address="redis://10.0.0.3", is_paused=True)
    messages = {"suspension_reasons": ["CUSTOMER_MANAGED_KEY_ISSUE"], "status_message": "The key is disabled."}
    instance(project(), cache=cache, snapshot={"state": "READY", **messages})

    assert "The key is disabled." not in words("/")
