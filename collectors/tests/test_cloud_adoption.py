"""Caches of found instances: how they are made, and what people's edits are worth."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from collectors.cloud import approval, auth_strings, authorities
from collectors.cloud.adoption import merged
from collectors.cloud.auth_strings import AGAIN_SECONDS
from collectors.cloud.models import CloudInstance, CloudProject, Decision
from collectors.cloud.products import Product
from collectors.event import Event, Kind
from collectors.models import NodeStatus
from collectors.tests.certificates import Authority
from collectors.tests.discovery_cast import Estate, estate, only
from fleet.engines import Engine
from fleet.models import Cache, Login, Node, Reach
from fleet.secrets import Secret

WITH_AUTH: dict[str, Any] = {"auth_enabled": True}
CLUSTER_TLS = {"transit_encryption_mode": "TRANSIT_ENCRYPTION_MODE_SERVER_AUTHENTICATION"}
VALKEY_TLS = {"transit_encryption_mode": "SERVER_AUTHENTICATION"}


@pytest.fixture
def google(db: None) -> Iterator[Estate]:
    with estate() as made:
        yield made


def found(
    google: Estate, product: Product = Product.REDIS, project: CloudProject | None = None, **fields: Any
) -> Cache:
    """Return the cache that an instance with these fields becomes."""
    google.add(product, **fields)
    google.look(project or google.project())
    cache = only(product).cache
    assert cache is not None
    return cache


# What becomes a cache


def test_a_project_that_asks_makes_no_cache_by_itself(google: Estate) -> None:
    google.add(Product.REDIS)

    google.look(google.project(approve="ask"), times=2)

    assert only().decision == Decision.WAITING
    assert not Cache.objects.exists()


@pytest.mark.parametrize(
    ("labels", "names", "expected"),
    [
        ({"team": "shop"}, "", True),
        ({"team": "shop", "env": "prod"}, "", False),
        ({}, "cart*", True),
        ({}, "stock* cart?", True),
        ({}, "stock*", False),
        ({"team": "shop"}, "stock*", False),
        ({}, "", False),
    ],
)
def test_a_rule_takes_labels_and_names_together(
    google: Estate, labels: dict[str, str], names: str, expected: bool
) -> None:
    google.add(Product.REDIS, labels={"team": "shop"})

    google.look(google.project(approve="rule", approve_labels=labels, approve_names=names))

    assert (only().cache is not None) is expected


def test_a_rule_that_comes_later_takes_what_waits(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project(approve="ask"))
    CloudProject.objects.update(approve="all")

    google.look(project)

    assert only().cache is not None


def test_what_is_approved_becomes_a_cache_at_once(google: Estate) -> None:
    google.add(Product.REDIS)
    google.look(google.project(approve="ask"))

    cache = approval.approve(only(), timezone.now())

    assert cache == only().cache
    assert Event.objects.get(kind=Kind.CLOUD).data["what"] == "found"


def test_what_is_ignored_stays_ignored(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project(approve="ask"))

    assert approval.ignore(only())

    CloudProject.objects.update(approve="all")
    google.look(project)
    assert (only().decision, only().cache) == (Decision.IGNORED, None)


def test_a_cache_cannot_be_ignored_any_more(google: Estate) -> None:
    found(google)

    assert not approval.ignore(only())
    assert only().decision == Decision.APPROVED


def test_a_cache_that_somebody_deleted_is_not_made_again(google: Estate) -> None:
    found(google).delete()

    google.look(CloudProject.objects.get(), times=2)

    assert only().decision == Decision.IGNORED
    assert not Cache.objects.exists()


def test_a_deleted_cache_comes_back_when_somebody_approves_it(google: Estate) -> None:
    found(google).delete()
    google.look(CloudProject.objects.get())

    assert approval.approve(only(), timezone.now()) is not None


def test_an_instance_without_an_address_becomes_a_cache_when_it_has_one(google: Estate) -> None:
    google.add(Product.REDIS, host="", state="CREATING")
    project = google.look(google.project())
    assert only().cache is None

    google.add(Product.REDIS)
    google.look(project)

    assert only().cache is not None


def test_what_is_being_deleted_becomes_no_cache(google: Estate) -> None:
    google.add(Product.REDIS, state="DELETING")

    google.look(google.project())

    assert not Cache.objects.exists()


# Names and addresses


@pytest.mark.parametrize(
    ("product", "fields", "address"),
    [
        (Product.REDIS, {}, "redis://10.0.0.3:6379"),
        (Product.REDIS, {"transit_encryption_mode": "SERVER_AUTHENTICATION", "port": 6378}, "rediss://10.0.0.3:6378"),
        (Product.REDIS_CLUSTER, {}, "redis://10.0.1.3:6379"),
        (Product.REDIS_CLUSTER, CLUSTER_TLS, "rediss://10.0.1.3:6379"),
        (Product.VALKEY, {}, "redis://10.0.2.3:6379"),
        (Product.MEMCACHED, {}, "memcached+discovery://10.0.3.3:11211"),
    ],
)
def test_the_address_is_the_one_that_stays(
    google: Estate, product: Product, fields: dict[str, Any], address: str
) -> None:
    assert found(google, product, **fields).address == address


def test_valkey_without_a_cluster_is_reached_at_its_primary(google: Estate) -> None:
    kinds = ("CONNECTION_TYPE_READER", "CONNECTION_TYPE_PRIMARY")
    connections = [
        {"psc_auto_connection": {"ip_address": f"10.2.0.{number}", "port": 6379, "connection_type": kind}}
        for number, kind in enumerate(kinds)
    ]
    endpoints = [{"connections": connections}]

    cache = found(google, Product.VALKEY, mode="CLUSTER_DISABLED", shard_count=1, endpoints=endpoints)

    assert cache.address == "redis://10.2.0.1:6379"


def test_memcached_is_known_as_such_before_it_answers(google: Estate) -> None:
    assert found(google, Product.MEMCACHED).engine == Engine.MEMCACHED


def test_names_that_are_taken_get_their_region_and_project(google: Estate) -> None:
    Cache.objects.create(name="carts", address="redis://192.0.2.1")
    assert found(google).name == "carts.asia-northeast1"
    google.add(Product.VALKEY)

    google.look(CloudProject.objects.get())

    assert only(Product.VALKEY).cache == Cache.objects.get(name="carts.asia-northeast1.shop-prod")


@pytest.mark.parametrize(
    ("short_id", "name"), [("new", "new.asia-northeast1"), ("Carts", "carts"), ("carts_1", "redis-2")]
)
def test_every_instance_gets_a_name_that_caches_can_have(google: Estate, short_id: str, name: str) -> None:
    google.add(Product.REDIS, short_id)

    google.look(google.project())

    assert Cache.objects.get().name == name


def test_labels_are_those_of_the_service_and_where_it_is(google: Estate) -> None:
    cache = found(google, labels={"team": "shop", "empty": "", "Übel": "x"})

    assert cache.labels == {"team": "shop", "project": "shop-prod", "region": "asia-northeast1", "product": "redis"}


def test_a_cache_that_is_watched_under_this_address_is_recognised(google: Estate) -> None:
    mine = Cache.objects.create(name="mine", address="redis://10.0.0.3:6379", labels={"team": "me"}, reach=Reach.NODES)

    assert found(google, labels={"team": "shop"}) == mine

    mine.refresh_from_db()
    assert (mine.name, mine.labels) == ("mine", {"team": "me"})
    assert Event.objects.get(kind=Kind.CLOUD).data["what"] == "joined"


def test_a_longer_address_is_another_one(google: Estate) -> None:
    Cache.objects.create(name="other", address="redis://110.0.0.3:6379")

    assert found(google).name == "carts"


def test_caches_begin_with_the_reach_of_their_project(google: Estate) -> None:
    assert found(google, project=google.project(reach="service")).reach == Reach.SERVICE


def test_whoever_approves_may_say_that_nodes_are_out_of_reach(google: Estate) -> None:
    google.add(Product.REDIS)
    project = google.look(google.project(approve="ask"))

    approval.approve(only(), timezone.now(), reach="service")

    google.add(Product.REDIS, memory_size_gb=5)
    google.look(project)
    assert Cache.objects.get().reach == Reach.SERVICE


@pytest.mark.parametrize(
    ("product", "mode", "login", "reach"),
    [
        (Product.REDIS_CLUSTER, "AUTH_MODE_IAM_AUTH", Login.GOOGLE_IAM, Reach.NODES),
        (Product.VALKEY, "IAM_AUTH", Login.GOOGLE_IAM, Reach.NODES),
        (Product.VALKEY, "AUTH_DISABLED", Login.PASSWORD, Reach.NODES),
        (Product.VALKEY, "TOKEN_AUTH", Login.PASSWORD, Reach.SERVICE),
    ],
)
def test_how_to_sign_in_is_what_the_service_says(
    google: Estate, product: Product, mode: str, login: Login, reach: Reach
) -> None:
    cache = found(google, product, authorization_mode=mode)

    assert (cache.login, cache.reach) == (login, reach)


# AUTH strings


def test_the_auth_string_is_fetched_and_kept_as_a_secret(google: Estate) -> None:
    google.emulator.instances.auth_strings[google.add(Product.REDIS, **WITH_AUTH)] = "s3cret"

    google.look(google.project())

    cache = Cache.objects.get()
    assert (cache.password.reveal(), cache.reach) == ("s3cret", Reach.NODES)
    assert "s3cret" not in str(only().applied)


def test_without_the_permission_the_nodes_are_left_alone_until_it_is_granted(google: Estate) -> None:
    name = google.add(Product.REDIS, **WITH_AUTH)
    google.emulator.instances.auth_strings[name] = "s3cret"
    google.emulator.faults.deny("CloudRedis/GetInstanceAuthString")
    project = google.look(google.project())
    assert (Cache.objects.get().reach, project.state["redis"]["auth"]["words"]) == (
        Reach.SERVICE,
        "redis.instances.getAuthString",
    )

    google.emulator.faults.clear()
    long_ago = (timezone.now() - timedelta(seconds=AGAIN_SECONDS + 1)).isoformat()
    project.state["redis"]["auth"]["at"] = long_ago
    project.save()
    project = google.look(project)

    cache = Cache.objects.get()
    assert (cache.password.reveal(), cache.reach, project.state["redis"]["auth"]) == ("s3cret", Reach.NODES, {})


def test_after_a_refusal_it_does_not_ask_again_for_a_while(google: Estate) -> None:
    for number in range(3):
        google.add(Product.REDIS, f"carts-{number}", host=f"10.0.0.{number + 1}", **WITH_AUTH)
    google.emulator.faults.deny("CloudRedis/GetInstanceAuthString")

    google.look(google.project(), times=2)

    assert len(google.emulator.asked("GetInstanceAuthString")) == 1


def test_the_auth_string_is_not_asked_for_again_by_another_project(google: Estate) -> None:
    name = google.add(Product.REDIS, **WITH_AUTH)
    google.emulator.instances.auth_strings[name] = "s3cret"
    google.look(google.project())
    google.emulator.instances.known[Product.REDIS, name.replace("shop-prod", "shop-two")] = (
        google.emulator.instances.known[Product.REDIS, name]
    )

    google.look(google.project("shop-two"))

    assert len(google.emulator.asked("GetInstanceAuthString")) == 1


def test_what_takes_too_long_comes_with_the_next_look(google: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    google.emulator.instances.auth_strings[google.add(Product.REDIS, **WITH_AUTH)] = "s3cret"
    google.emulator.instances.authorities[google.add(Product.VALKEY, **VALKEY_TLS)] = [Authority().pem]
    monkeypatch.setattr(authorities, "SECONDS", -1)
    monkeypatch.setattr(auth_strings, "SECONDS", -1)
    project = google.look(google.project())
    assert not google.emulator.asked("GetInstanceAuthString") + google.emulator.asked("GetCertificateAuthority")

    monkeypatch.undo()
    google.look(project)

    assert {cache.ca_bundle != "" or cache.password.reveal() == "s3cret" for cache in Cache.objects.all()} == {True}


def test_a_password_that_servers_do_not_take_any_more_is_fetched_again(google: Estate) -> None:
    name = google.add(Product.REDIS, **WITH_AUTH)
    google.emulator.instances.auth_strings[name] = "old"
    project = google.look(google.project())
    google.emulator.instances.auth_strings[name] = "new"
    node = Node.objects.create(cache=Cache.objects.get(), identity="n", host="10.0.0.3", port=6379)
    NodeStatus.objects.create(node=node, failed_cause="password_wrong")

    google.look(project)

    assert Cache.objects.get().password.reveal() == "new"


def test_a_password_that_a_person_gave_is_left_alone(google: Estate) -> None:
    name = google.add(Product.REDIS, **WITH_AUTH)
    google.emulator.instances.auth_strings[name] = "service"
    project = google.look(google.project())
    cache = Cache.objects.get()
    cache.password = Secret.of("mine")
    cache.save()
    node = Node.objects.create(cache=cache, identity="n", host="10.0.0.3", port=6379)
    NodeStatus.objects.create(node=node, failed_cause="password_wrong")

    google.look(project)

    assert Cache.objects.get().password.reveal() == "mine"


# Authorities


@pytest.mark.parametrize(("product", "fields"), [(Product.REDIS_CLUSTER, CLUSTER_TLS), (Product.VALKEY, VALKEY_TLS)])
def test_the_authority_of_a_cluster_is_fetched_before_it_is_polled(
    google: Estate, product: Product, fields: dict[str, Any]
) -> None:
    authority = Authority()
    google.emulator.instances.authorities[google.add(product, **fields)] = [authority.pem]

    google.look(google.project())

    cache = Cache.objects.get()
    assert (cache.ca_bundle, cache.tls_check_hostname) == (authority.pem, False)


def test_the_authority_of_redis_stands_in_its_listing(google: Estate) -> None:
    authority = Authority()
    certificates = [{"cert": authority.pem}]

    cache = found(google, transit_encryption_mode="SERVER_AUTHENTICATION", server_ca_certs=certificates)

    assert cache.ca_bundle == authority.pem


def test_a_new_authority_is_taken_in_beside_the_old_one(google: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorities, "AGAIN", timedelta(0))
    old, new = Authority(), Authority()
    name = google.add(Product.VALKEY, **VALKEY_TLS)
    google.emulator.instances.authorities[name] = [old.pem]
    project = google.look(google.project())
    google.emulator.instances.authorities[name] = [old.pem, new.pem]

    google.look(project)

    assert Cache.objects.get().ca_bundle == old.pem + new.pem


def test_authorities_are_not_asked_for_at_each_look(google: Estate) -> None:
    google.emulator.instances.authorities[google.add(Product.VALKEY, **VALKEY_TLS)] = [Authority().pem]

    google.look(google.project(), times=3)

    assert len(google.emulator.asked("GetCertificateAuthority")) == 1


def test_an_authority_is_kept_when_the_instance_changes(google: Estate) -> None:
    authority = Authority()
    google.emulator.instances.authorities[google.add(Product.VALKEY, **VALKEY_TLS)] = [authority.pem]
    project = google.look(google.project())
    google.add(Product.VALKEY, **VALKEY_TLS, replica_count=1)

    google.look(project)

    assert Cache.objects.get().ca_bundle == authority.pem


def test_an_authority_that_is_not_told_is_said_on_the_project(google: Estate) -> None:
    google.add(Product.VALKEY, **VALKEY_TLS)
    google.emulator.faults.deny("Memorystore/GetCertificateAuthority")

    project = google.look(google.project())

    assert project.state["valkey"]["ok"]
    assert project.state["valkey"]["authority"]["cause"] == "permission"


# Edits


def test_what_the_service_changes_is_followed(google: Estate) -> None:
    cache = found(google)
    google.add(Product.REDIS, host="10.0.0.77", labels={"team": "shop"})

    google.look(CloudProject.objects.get())

    revision = cache.revision
    cache.refresh_from_db()
    assert (cache.address, cache.labels["team"], cache.revision) == ("redis://10.0.0.77:6379", "shop", revision + 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("address", "redis://proxy.example.net:6379"),
        ("reach", "service"),
        ("tls_check_hostname", False),
        ("ca_bundle", "mine"),
        ("login", "google-iam"),
        ("name", "renamed"),
    ],
)
def test_what_a_person_edited_is_not_overwritten(google: Estate, field: str, value: Any) -> None:
    found(google)
    Cache.objects.update(**{field: value})
    google.add(Product.REDIS, host="10.0.0.77", transit_encryption_mode="SERVER_AUTHENTICATION")

    google.look(CloudProject.objects.get())

    assert getattr(Cache.objects.get(), field) == value


def test_an_edit_of_one_field_leaves_the_others_to_the_service(google: Estate) -> None:
    found(google)
    Cache.objects.update(tls_check_hostname=False)
    google.add(Product.REDIS, host="10.0.0.77")

    google.look(CloudProject.objects.get())

    assert Cache.objects.get().address == "redis://10.0.0.77:6379"


@pytest.mark.parametrize(
    ("before", "held", "said", "expected"),
    [
        ({"a": "1"}, {"a": "1"}, {"a": "2"}, {"a": "2"}),
        ({"a": "1"}, {"a": "mine"}, {"a": "2"}, {"a": "mine"}),
        ({"a": "1"}, {"a": "1", "own": "x"}, {"a": "2"}, {"a": "2", "own": "x"}),
        ({"a": "1"}, {}, {"a": "1"}, {}),
        ({"a": "1"}, {"a": "1"}, {}, {}),
        ({}, {"b": "mine"}, {"b": "2"}, {"b": "mine"}),
        ({}, {}, {"b": "2"}, {"b": "2"}),
    ],
)
def test_labels_are_merged_one_by_one(
    before: dict[str, str], held: dict[str, str], said: dict[str, str], expected: dict[str, str]
) -> None:
    assert merged(before, held, said) == expected


def test_a_save_at_the_same_moment_wins_and_the_next_look_follows(
    google: Estate, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(google)
    google.add(Product.REDIS, host="10.0.0.77")
    project = CloudProject.objects.get()
    refresh = Cache.objects.filter
    lost = [True]

    def filter_once(**named: Any) -> Any:
        if "revision" in named and lost:
            lost.pop()
            return refresh(pk=0)
        return refresh(**named)

    monkeypatch.setattr(Cache.objects, "filter", filter_once)
    google.look(project)
    assert Cache.objects.get().address == "redis://10.0.0.3:6379"

    google.look(project)

    assert Cache.objects.get().address == "redis://10.0.0.77:6379"


def test_an_address_that_is_not_told_any_more_is_kept(google: Estate) -> None:
    found(google)
    google.add(Product.REDIS, host="", state="REPAIRING")

    google.look(CloudProject.objects.get())

    assert Cache.objects.get().address == "redis://10.0.0.3:6379"


def test_published_limits_reach_a_new_cache(google: Estate) -> None:
    cache = found(google, Product.REDIS_CLUSTER, node_type="REDIS_HIGHMEM_MEDIUM")

    cache.refresh_from_db()
    assert cache.service_maxclients


def test_instances_remember_what_they_were_first_and_last(google: Estate) -> None:
    found(google)
    first = only().first_seen_at

    google.look(CloudProject.objects.get())

    assert CloudInstance.objects.get().first_seen_at == first
