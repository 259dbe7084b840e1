"""Adding, changing and removing projects."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models import AuditEntry, Role, User
from accounts.tests.cast import person
from collectors.cloud import projects
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.cloud.products import Product
from collectors.tests.discovery_cast import Estate, estate, only
from collectors.tests.test_cloud_identities import EMAIL, key_of_account
from fleet.models import Cache
from fleet.registration import ConflictError

KEY = json.dumps(key_of_account())
PLAIN: dict[str, Any] = {"project_id": "shop-prod"}


@pytest.fixture
def by(db: None) -> User:
    return person(Role.OPERATOR, "oki")


@pytest.fixture
def google(db: None) -> Iterator[Estate]:
    with estate() as made:
        yield made


def refused(given: dict[str, Any]) -> dict[str, list[str]]:
    """Return what is said against a project, by field."""
    with pytest.raises(ValidationError) as raised:
        projects.add(None, PLAIN | given)
    return raised.value.message_dict


def test_a_project_begins_with_all_products_and_asks(by: User) -> None:
    project = projects.add(by, PLAIN)

    assert project.products == ["redis", "redis-cluster", "valkey", "memcached"]
    assert (project.approve, project.credentials, project.interval_seconds) == ("ask", "adc", 60)
    entry = AuditEntry.objects.get()
    assert (entry.username, entry.action, entry.target) == ("oki", "project.add", "shop-prod")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "shop",
        "Shop-prod",
        "1shop-prod",
        "shop-prod-",
        "x" * 31,
        "123456789012",
        "shop prod",
        "a/b-project",
        "shop-prod\n",
        "$(reboot)",
    ],
)
def test_a_wrong_project_id_is_refused(db: None, name: str) -> None:
    assert list(refused({"project_id": name})) == ["project_id"]


@pytest.mark.parametrize("name", ["shop-prod", "abcdef", "example.com:shop-prod"])
def test_the_ids_of_projects_are_taken(db: None, name: str) -> None:
    assert projects.add(None, {"project_id": name}).project_id == name


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"metrics_project_id": "No"}, "metrics_project_id"),
        ({"credentials": "magic"}, "credentials"),
        ({"products": []}, "products"),
        ({"products": ["redis", "sql"]}, "products"),
        ({"interval_seconds": 5}, "interval_seconds"),
        ({"interval_seconds": 90_000}, "interval_seconds"),
        ({"approve": "maybe"}, "approve"),
        ({"approve": "rule"}, "approve_names"),
        ({"approve_names": "shop; drop"}, "approve_names"),
        ({"approve_labels": {"Team": "x"}}, "approve_labels"),
        ({"reach": "no"}, "reach"),
        ({"credentials": "key"}, "key"),
        ({"credentials": "key", "key": "{}"}, "key"),
        ({"key": KEY}, "key"),
        ({"approve_names": "a\0b"}, "approve_names"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(db: None, given: dict[str, Any], field: str) -> None:
    assert list(refused(given)) == [field]


def test_a_project_is_there_once(db: None) -> None:
    projects.add(None, PLAIN)

    with pytest.raises(ConflictError):
        projects.add(None, PLAIN)


def test_a_key_is_kept_encrypted_and_tells_whose_it_is(db: None) -> None:
    projects.add(None, PLAIN | {"credentials": "key", "key": f"\n{KEY}\n"})

    project = CloudProject.objects.get()
    assert (project.key.reveal(), project.principal) == (KEY, EMAIL)
    assert "PRIVATE" not in project.key.stored
    assert "PRIVATE" not in str(AuditEntry.objects.values_list("detail", flat=True))


def test_an_empty_key_keeps_what_is_stored(db: None) -> None:
    project = projects.add(None, PLAIN | {"credentials": "key", "key": KEY})

    projects.change(None, project, {"key": "", "interval_seconds": 120}, project.revision)

    assert CloudProject.objects.get().key.reveal() == KEY


def test_another_kind_of_credentials_forgets_the_key(db: None) -> None:
    project = projects.add(None, PLAIN | {"credentials": "key", "key": KEY})

    projects.change(None, project, {"credentials": "adc"}, project.revision)

    project = CloudProject.objects.get()
    assert (bool(project.key), project.principal) == (False, "")


def test_a_change_tells_the_audit_which_fields_and_no_secret(by: User) -> None:
    project = projects.add(by, PLAIN)

    projects.change(by, project, {"credentials": "key", "key": KEY}, project.revision)

    assert AuditEntry.objects.first().detail == {"settings": "credentials, key"}  # type: ignore[union-attr]


def test_the_second_of_two_people_is_told(db: None) -> None:
    project = projects.add(None, PLAIN)
    projects.change(None, project, {"interval_seconds": 120}, project.revision)

    with pytest.raises(ConflictError):
        projects.change(None, project, {"interval_seconds": 300}, project.revision)


def test_a_change_is_looked_into_at_once(google: Estate) -> None:
    project = google.look(google.project())
    assert project.discovered_at is not None

    projects.change(None, project, {"interval_seconds": 600}, project.revision)

    assert CloudProject.objects.get().discovered_at is None


def test_a_project_can_be_looked_into_at_once(google: Estate, by: User) -> None:
    project = google.look(google.project())

    projects.look_now(by, project)

    assert CloudProject.objects.get().discovered_at is None
    assert AuditEntry.objects.get().action == "project.look"


def test_caches_follow_a_change_of_the_projects_reach(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())

    google.look(projects.change(None, project, {"reach": "service"}, project.revision))

    assert Cache.objects.get().reach == "service"


def test_caches_stay_when_their_project_is_removed(google: Estate, by: User) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project())

    projects.delete(by, project)

    assert Cache.objects.get().name == "carts"
    assert not CloudInstance.objects.exists()
    assert AuditEntry.objects.get().action == "project.delete"


def test_another_project_that_sees_it_takes_a_cache_over(google: Estate) -> None:
    name = google.add(Product.VALKEY)
    first = google.look(google.project())
    google.emulator.instances.known[Product.VALKEY, name.replace("shop-prod", "shop-two")] = (
        google.emulator.instances.known[Product.VALKEY, name]
    )
    second = google.look(google.project("shop-two"))

    projects.delete(None, first)
    google.look(second)

    assert only(Product.VALKEY).cache == Cache.objects.get()
