from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import override_settings

from fleet.models import Cache
from fleet.registration import ConflictError, change, drafted, is_host, register
from fleet.tests.certificates import made_pair

GIVEN = {"name": "game-cache", "address": "redis://10.0.0.5:6379"}


@pytest.mark.django_db
def test_it_keeps_a_cache_as_given() -> None:
    register({**GIVEN, "labels": {"env": "test"}, "poll_interval_seconds": 30})

    cache = Cache.objects.get(name="game-cache")
    assert (cache.address, cache.labels, cache.poll_interval_seconds) == (GIVEN["address"], {"env": "test"}, 30)


@pytest.mark.django_db
def test_it_moves_credentials_out_of_the_address_and_encrypts_them() -> None:
    register({**GIVEN, "address": "rediss://watch:s%40cret@db.example:6380"})

    cache = Cache.objects.get()
    assert (cache.address, cache.username, cache.password.reveal()) == ("rediss://db.example:6380", "watch", "s@cret")
    assert "s@cret" not in cache.password.stored


def test_it_refuses_two_different_passwords() -> None:
    with pytest.raises(ValidationError, match="different passwords"):
        drafted(Cache(), {**GIVEN, "address": "redis://:one@a:1", "password": "two"})


@pytest.mark.parametrize("host", ["10.0.0.5", "[::1]", "[fe80::1%25eth0]", "redis_1.internal", "キャッシュ.example"])
def test_it_takes_the_hosts_that_resolvers_take(host: str) -> None:
    assert drafted(Cache(), {**GIVEN, "address": f"redis://{host}:6379"}).seeds()


def test_it_writes_a_list_of_servers_in_one_form() -> None:
    cache = drafted(Cache(), {**GIVEN, "address": "a:7000 , b\nredis://[::1]:7002"})

    assert cache.address == "redis://a:7000, redis://b:6379, redis://[::1]:7002"


@pytest.mark.parametrize(
    ("field", "value", "part"),
    [
        ("name", "", "blank"),
        ("name", "Größe", "small letters"),
        ("name", "a\0b", "cannot be stored"),
        ("name", "a" * 64, "63"),
        ("name", "new", "uses this name itself"),
        ("address", "", "Give an address"),
        ("address", "mysql://a:1", "mysql://"),
        ("address", "redis://a:99999", "1 to 65535"),
        ("address", "redis://a:1, rediss://b:1", "not both"),
        ("address", " ".join(f"host{n}" for n in range(101)), "at most 100"),
        ("address", "redis://" + "a" * 64, "no server can have"),
        ("address", "redis://a*b", "no server can have"),
        ("address", "x" * 4001, "longer than 4000"),
        ("address", "redis://\ud800", "cannot be stored"),
        ("username", "u" * 201, "200"),
        ("password", "p" * 4001, "longer than 4000"),
        ("labels", {"Env": "x"}, "small letters"),
        ("labels", {"env": "a\0"}, "cannot be stored"),
        ("poll_interval_seconds", 0, "greater than or equal to 1"),
        ("poll_interval_seconds", 121, "less than or equal to 120"),
        ("plan_memory_bytes", -1, "greater than or equal to 0"),
        ("plan_memory_bytes", 10**30, "less than or equal"),
        ("ca_bundle", "nonsense", "No certificate"),
        ("client_certificate", "nonsense", "No certificate"),
        ("client_key", "nonsense", "belong together"),
    ],
)
def test_it_names_the_field_and_what_is_wrong(field: str, value: Any, part: str) -> None:
    with pytest.raises(ValidationError) as caught:
        drafted(Cache(), {**GIVEN, field: value})

    assert part in " ".join(caught.value.message_dict[field])


def test_it_refuses_certificates_where_the_address_has_no_tls() -> None:
    with pytest.raises(ValidationError, match="begin the address with rediss://"):
        drafted(Cache(), {**GIVEN, "ca_bundle": made_pair()[0]})


def test_it_takes_a_client_certificate_with_its_key() -> None:
    certificate, key = made_pair()

    cache = drafted(
        Cache(), {"name": "a", "address": "rediss://a", "client_certificate": certificate, "client_key": key}
    )

    assert cache.client_key.reveal() == key


def test_it_refuses_a_key_of_another_certificate() -> None:
    given = {"client_certificate": made_pair("one")[0], "client_key": made_pair("two")[1]}

    with pytest.raises(ValidationError, match="does not belong"):
        drafted(Cache(), {"name": "a", "address": "rediss://a", **given})


@pytest.mark.django_db
def test_it_refuses_a_name_that_is_taken() -> None:
    register(GIVEN)

    with pytest.raises(ConflictError, match="exists already"):
        register(GIVEN)


@pytest.mark.django_db
def test_it_changes_only_what_is_given() -> None:
    cache = register({**GIVEN, "password": "secret", "labels": {"env": "test"}})

    change(cache, {"poll_interval_seconds": 60}, cache.revision)

    stored = Cache.objects.get()
    assert (stored.poll_interval_seconds, stored.password.reveal(), stored.labels) == (60, "secret", {"env": "test"})
    assert stored.revision == 2


@pytest.mark.django_db
def test_it_lets_only_the_first_of_two_editors_save() -> None:
    register(GIVEN)
    mine, theirs = Cache.objects.get(), Cache.objects.get()
    change(theirs, {"is_paused": True}, theirs.revision)

    with pytest.raises(ConflictError, match="in the meantime"):
        change(mine, {"poll_interval_seconds": 60}, mine.revision)

    assert Cache.objects.get().poll_interval_seconds == 15


@pytest.mark.django_db
def test_it_asks_again_for_a_secret_whose_key_is_lost() -> None:
    register({**GIVEN, "password": "secret"})

    with (
        override_settings(ENCRYPTION_KEYS=["MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA="]),
        pytest.raises(ValidationError, match="give it again"),
    ):
        change(Cache.objects.get(), {"is_paused": True}, 1)


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["rediss://evil.example:6380", "redis://db.example:6380", "rediss://db.example:1"])
def test_it_sends_a_stored_password_to_no_other_server(address: str) -> None:
    cache = register({**GIVEN, "address": "rediss://db.example:6380", "password": "secret"})

    with pytest.raises(ValidationError, match="give the password again"):
        drafted(cache, {"address": address})

    assert drafted(cache, {"address": address, "password": "other"}).password.reveal() == "other"
    assert not drafted(cache, {"address": address, "password": ""}).password


@pytest.mark.django_db
def test_it_lets_a_server_leave_the_list_with_the_password_kept() -> None:
    cache = register({**GIVEN, "address": "redis://a:1 redis://b:1", "password": "secret"})

    assert drafted(cache, {"address": "redis://b:1"}).password.reveal() == "secret"


@pytest.mark.parametrize("address", ["redis://host:0", "redis://host:99999", "redis://host:x"])
def test_it_refuses_a_port_that_is_none(address: str) -> None:
    with pytest.raises(ValidationError, match="1 to 65535"):
        drafted(Cache(), {**GIVEN, "address": address})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", True),
        ("a" * 63, True),
        ("a" * 64, False),
        (".".join(["a" * 49] * 5), True),
        (".".join(["a" * 50] * 5), False),
        ("redis_1", True),
        ("::ffff:10.0.0.1", True),
        ("fe80::1%eth0", True),
        ("a..b", False),
        ("", False),
        ("a b", False),
        ("a/b", False),
        ("$(reboot)", False),
        ("::1;x", False),
    ],
)
def test_it_knows_names_that_no_resolver_takes(name: str, expected: bool) -> None:
    assert is_host(name) is expected


@pytest.mark.parametrize(
    "given",
    [
        {"username": "a\0"},
        {"password": "\udfff"},
        {"labels": {"env": "\ud800"}},
        {"labels": {"e\0": "x"}},
        {"ca_bundle": "-----BEGIN\0"},
    ],
)
def test_it_refuses_what_postgres_cannot_keep(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        drafted(Cache(), {**GIVEN, **given})

    assert list(caught.value.message_dict) == list(given)


def test_it_takes_any_other_character_in_a_password() -> None:
    password = "é\u2028\U0001f511 \t\x01'\"\\%s{}"

    assert drafted(Cache(), {**GIVEN, "password": password}).password.reveal() == password


def test_it_leaves_the_cache_at_hand_as_it_was() -> None:
    cache = Cache(name="before", address="redis://a:1")

    drafted(cache, {"name": "after", "address": "redis://b:2"})

    assert (cache.name, cache.address) == ("before", "redis://a:1")


def test_it_takes_the_same_password_in_both_places() -> None:
    cache = drafted(Cache(), {**GIVEN, "address": "redis://:same@a:1", "password": "same"})

    assert (cache.address, cache.password.reveal()) == ("redis://a:1", "same")


def test_it_names_all_wrong_fields_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        drafted(Cache(), {"name": "A b", "address": "a:0", "labels": {"X": "y"}, "poll_interval_seconds": 0})

    assert {*caught.value.message_dict} == {"name", "address", "labels", "poll_interval_seconds"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("poll_interval_seconds", 1),
        ("poll_interval_seconds", 120),
        ("plan_memory_bytes", 0),
        ("plan_memory_bytes", 2**63 - 1),
        ("plan_maxclients", None),
        ("plan_maxclients", 2**31 - 1),
    ],
)
def test_it_takes_numbers_at_their_bounds(field: str, value: int | None) -> None:
    assert getattr(drafted(Cache(), {**GIVEN, field: value}), field) == value


@pytest.mark.django_db
def test_an_edit_of_a_cache_that_is_gone_brings_nothing_back() -> None:
    cache = register(GIVEN)
    Cache.objects.all().delete()

    with pytest.raises(ConflictError, match="changed or deleted"):
        change(cache, {"is_paused": True}, cache.revision)

    assert not Cache.objects.exists()


@pytest.mark.django_db
def test_an_edit_by_an_older_page_changes_nothing() -> None:
    cache = register(GIVEN)
    for interval in (20, 30):
        cache = change(cache, {"poll_interval_seconds": interval}, cache.revision)

    with pytest.raises(ConflictError):
        change(cache, {"poll_interval_seconds": 40}, 1)

    assert (Cache.objects.get().poll_interval_seconds, Cache.objects.get().revision) == (30, 3)


@pytest.mark.django_db
def test_it_refuses_to_rename_a_cache_to_another_ones_name() -> None:
    register(GIVEN)
    other = register({**GIVEN, "name": "other"})

    with pytest.raises(ConflictError, match="exists already"):
        change(other, {"name": "game-cache"}, other.revision)

    assert {cache.name for cache in Cache.objects.all()} == {"game-cache", "other"}


@pytest.mark.parametrize(
    ("address", "engine"),
    [("memcached://a", "memcached"), ("memcached+discovery://a", "memcached"), ("redis://a", "")],
)
def test_an_address_tells_what_a_cache_cannot_be(address: str, engine: str) -> None:
    assert drafted(Cache(), {**GIVEN, "address": address}).engine == engine


@pytest.mark.django_db
def test_a_cache_that_moves_to_another_kind_of_server_is_another_kind() -> None:
    cache = register({**GIVEN, "address": "memcached://a"})

    change(cache, {"address": "redis://a"}, cache.revision)

    assert Cache.objects.get().engine == ""


@pytest.mark.django_db
def test_what_polls_found_out_survives_an_edit() -> None:
    cache = register(GIVEN)
    Cache.objects.update(engine="valkey")

    change(cache, {"is_paused": True}, cache.revision)

    assert Cache.objects.get().engine == "valkey"
