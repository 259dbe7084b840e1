"""Testing a project, and the commands that grant what it lacks."""

import re
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from django.conf import settings

from collectors.cloud import permissions
from collectors.cloud.apis import AUTH, AUTHORITIES, LISTS, METRICS, Api
from collectors.cloud.errors import CloudCause
from collectors.cloud.models import CloudProject, Credentials
from collectors.cloud.products import Product
from collectors.tests.certificates import Authority
from collectors.tests.discovery_cast import Estate, estate

EMAIL = "shardwatch@shop-prod.iam.gserviceaccount.com"
DOCS = (settings.BASE_DIR / "docs" / "google-cloud.md").read_text(encoding="utf-8")
# Nothing that a shell would take for more than a word.
SAFE = re.compile(r"""[A-Za-z0-9 =/@.:,_"()-]+""")


@pytest.fixture
def google() -> Iterator[Estate]:
    with estate() as made:
        yield made


def project_of(google: Estate, **fields: Any) -> CloudProject:
    """A project that is not stored, as a form holds it."""
    return CloudProject(project_id="shop-prod", endpoint=google.emulator.address, principal=EMAIL, **fields)


def by_api(checks: list[permissions.Check]) -> dict[str, permissions.Check]:
    return {check.api.key: check for check in checks}


def test_it_asks_every_api_that_the_project_wants(google: Estate) -> None:
    google.add(Product.REDIS)

    found = by_api(permissions.test(project_of(google)))

    assert list(found) == ["redis", "redis-cluster", "valkey", "memcached", "metrics"]
    assert all(check.ok for check in found.values())
    assert (found["redis"].sentence, found["metrics"].sentence) == ("It answers: 1 instance.", "It answers.")


def test_it_leaves_out_products_that_are_not_wanted(google: Estate) -> None:
    assert list(by_api(permissions.test(project_of(google, products=["valkey"])))) == ["valkey", "metrics"]


def test_it_says_which_permission_is_missing_on_which_api(google: Estate) -> None:
    google.emulator.faults.deny("CloudMemcache/ListInstances")
    google.emulator.faults.deny("MetricService/ListTimeSeries")

    found = by_api(permissions.test(project_of(google)))

    assert [key for key, check in found.items() if not check.ok] == ["memcached", "metrics"]
    assert "memcache.instances.list" in found["memcached"].sentence
    assert "monitoring.timeSeries.list" in found["metrics"].sentence


def test_it_grants_exactly_what_is_missing(google: Estate) -> None:
    google.emulator.faults.deny("CloudMemcache/ListInstances")
    project = project_of(google)

    (command,) = permissions.missing(project, EMAIL, permissions.test(project))

    assert command == (
        "gcloud projects add-iam-policy-binding shop-prod"
        f" --member=serviceAccount:{EMAIL} --role=roles/memcache.viewer --condition=None"
    )


def test_two_products_of_one_role_need_it_once(google: Estate) -> None:
    google.emulator.faults.deny("CloudRedis/ListInstances")
    google.emulator.faults.deny("CloudRedisCluster/ListClusters")
    project = project_of(google)

    (command,) = permissions.missing(project, EMAIL, permissions.test(project))

    assert "--role=roles/redis.viewer" in command


def test_an_api_that_is_not_enabled_is_enabled_first(google: Estate) -> None:
    words = "Memorystore API has not been used in project 1 before or it is disabled."
    google.emulator.faults.fail("Memorystore/ListInstances", grpc.StatusCode.PERMISSION_DENIED, words)
    project = project_of(google)

    checks = permissions.test(project)

    assert by_api(checks)["valkey"].error is not None
    enable, grant = permissions.missing(project, "", checks)
    assert enable == "gcloud services enable memorystore.googleapis.com --project=shop-prod"
    assert "--member=serviceAccount:ACCOUNT_EMAIL --role=roles/memorystore.viewer" in grant


def test_metrics_are_asked_of_their_scoping_project(google: Estate) -> None:
    project = project_of(google, metrics_project_id="shop-metrics")
    google.emulator.faults.deny("MetricService/ListTimeSeries")

    commands = permissions.missing(project, EMAIL, permissions.test(project))

    (call,) = google.emulator.asked("ListTimeSeries")
    assert call.request.name == "projects/shop-metrics"
    assert commands[0].startswith("gcloud projects add-iam-policy-binding shop-metrics ")


def test_auth_strings_are_tried_where_an_instance_has_one(google: Estate) -> None:
    google.add(Product.REDIS, auth_enabled=True)
    google.emulator.faults.deny("CloudRedis/GetInstanceAuthString")
    project = project_of(google)

    checks = permissions.test(project)

    check = by_api(checks)["auth"]
    assert (check.ok, check.api.is_optional) == (False, True)
    create, grant = permissions.missing(project, EMAIL, checks)
    assert "--permissions=redis.instances.getAuthString" in create
    assert "--role=projects/shop-prod/roles/shardwatchAuthStrings" in grant


def test_auth_strings_do_not_show_up_in_the_test(google: Estate) -> None:
    google.emulator.instances.auth_strings[google.add(Product.REDIS, auth_enabled=True)] = "s3cret"

    assert "s3cret" not in repr(permissions.test(project_of(google)))


@pytest.mark.parametrize(
    ("product", "mode", "key"),
    [
        (Product.REDIS_CLUSTER, "TRANSIT_ENCRYPTION_MODE_SERVER_AUTHENTICATION", "redis-cluster-ca"),
        (Product.VALKEY, "SERVER_AUTHENTICATION", "valkey-ca"),
    ],
)
def test_authorities_are_tried_where_an_instance_has_tls(google: Estate, product: Product, mode: str, key: str) -> None:
    name = google.add(product, transit_encryption_mode=mode)
    google.emulator.instances.authorities[name] = [Authority().pem]

    assert by_api(permissions.test(project_of(google)))[key].ok


def test_a_region_that_is_down_is_said(google: Estate) -> None:
    google.emulator.instances.unreachable[Product.REDIS] = ["us-central1"]

    check = by_api(permissions.test(project_of(google)))["redis"]

    assert check.sentence == "It answers: 0 instances. Unreachable at the moment: us-central1"


def test_missing_credentials_are_said_for_every_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")

    checks = permissions.test(CloudProject(project_id="shop-prod"))

    assert {check.error.cause for check in checks if check.error} == {CloudCause.NO_CREDENTIALS}
    assert len(checks) == 5


def test_nobody_knows_who_asks_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")

    assert permissions.who_asks(CloudProject(project_id="shop-prod")) == ""


def test_a_key_says_who_asks() -> None:
    assert permissions.who_asks(CloudProject(credentials=Credentials.KEY, principal=EMAIL)) == EMAIL


def test_all_that_a_project_needs_is_known_before_it_is_added() -> None:
    found = permissions.needed(CloudProject(project_id="shop-prod", products=["valkey", "memcached"]))

    assert [command for command in found if "enable" in command] == [
        "gcloud services enable memorystore.googleapis.com --project=shop-prod",
        "gcloud services enable memcache.googleapis.com --project=shop-prod",
        "gcloud services enable monitoring.googleapis.com --project=shop-prod",
    ]
    roles = [command.partition("--role=")[2].split()[0] for command in found if "--role=" in command]
    assert roles == ["roles/memorystore.viewer", "roles/memcache.viewer", "roles/monitoring.viewer"]
    assert all(SAFE.fullmatch(command) for command in found)


# docs/google-cloud.md


@pytest.mark.parametrize("api", [*LISTS.values(), METRICS, AUTH, *AUTHORITIES.values()], ids=lambda api: str(api.key))
def test_the_docs_name_what_each_call_needs(api: Api) -> None:
    (row,) = [line for line in DOCS.splitlines() if line.startswith("|") and f"`{api.permission}`" in line]

    assert api.is_own_role or f"`{api.role}`" in row
    assert api is AUTH or f"(`{api.service}`)" in row


def test_the_docs_print_the_commands_that_the_pages_print() -> None:
    project = CloudProject(project_id="shop-prod", principal="EMAIL")

    enabled, granted = list[str](), list[str]()
    for command in permissions.needed(project) + permissions.commands(project, "EMAIL", [AUTH]):
        (enabled if "enable" in command else granted).append(command)

    assert set(granted) - set(DOCS.splitlines()) == set()
    services = " ".join(command.split()[3] for command in enabled)
    assert f"gcloud services enable {services} --project=shop-prod" in DOCS.splitlines()
