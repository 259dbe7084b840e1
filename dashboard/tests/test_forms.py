"""The form of a cache: what it hands on, and what it never shows again."""

from typing import Any

import pytest
from django.utils.datastructures import MultiValueDict

from dashboard.cache_changes import differences
from dashboard.forms import CacheForm, ConnectionForm, DeleteForm, initial_of
from fleet.models import Cache
from fleet.secrets import Secret

WHOLE = {"name": "game", "address": "redis://a:6379", "poll_interval_seconds": "15", "tls_check_hostname": "on"}


def form(cache: Cache | None = None, **given: str) -> CacheForm:
    return CacheForm(MultiValueDict({name: [text] for name, text in {**WHOLE, **given}.items()}), cache=cache)


def stored(**given: Any) -> Cache:
    known = {"name": "game", "address": "redis://a:6379, redis://b:6379", "password": Secret.of("hidden words")}
    return Cache(**{**known, "poll_interval_seconds": 30, **given})


def given_by(filled: CacheForm) -> dict[str, Any]:
    assert filled.is_valid(), filled.errors
    return filled.given()


@pytest.mark.parametrize(
    ("field", "value", "is_valid"),
    [
        ("poll_interval_seconds", "1", True),
        ("poll_interval_seconds", "120", True),
        ("poll_interval_seconds", "0", False),
        ("poll_interval_seconds", "121", False),
        ("poll_interval_seconds", "1.5", False),
        ("poll_interval_seconds", "", False),
        ("plan_memory_bytes", "0", True),
        ("plan_memory_bytes", "-1", False),
        ("plan_maxclients", "", True),
        ("plan_maxclients", "many", False),
        ("name", "x" * 63, True),
        ("name", "x" * 64, False),
        ("name", "", False),
        ("address", "", False),
        ("address", "x" * 4_001, False),
        ("username", "x" * 201, False),
        ("password", "x" * 4_001, False),
        ("labels", "env=prod\nteam=game", True),
        ("labels", "env", False),
        ("labels", "=prod", False),
        ("revision", "x", False),
    ],
)
def test_it_checks_each_field_at_its_bounds(field: str, value: str, is_valid: bool) -> None:
    given: dict[str, Any] = {field: value}

    filled = form(**given)

    assert filled.is_valid() == is_valid
    assert is_valid or list(filled.errors) == [field]


def test_an_empty_secret_keeps_what_is_stored() -> None:
    given = given_by(form(stored(), password=""))

    assert "password" not in given
    assert "client_key" not in given


@pytest.mark.parametrize("password", ["", "typed as well"])
def test_a_ticked_box_forgets_it(password: str) -> None:
    given = given_by(form(stored(), password=password, clear_password="on"))

    assert given["password"] == ""


def test_spaces_around_a_password_are_part_of_it() -> None:
    assert given_by(form(password="  a b "))["password"] == "  a b "


@pytest.mark.parametrize(
    ("cache", "offers"), [(None, False), (stored(), True), (stored(password=Secret.of("")), False)]
)
def test_it_offers_to_forget_only_what_is_there(cache: Cache | None, offers: bool) -> None:
    assert ("clear_password" in CacheForm(cache=cache).fields) == offers


def test_what_is_shown_of_a_cache_holds_no_secret() -> None:
    shown = initial_of(stored())

    assert "hidden words" not in f"{shown}{CacheForm(cache=stored()).as_p()}"
    assert not {"password", "client_key"} & {*shown}


def test_each_server_has_its_line() -> None:
    assert initial_of(stored())["address"] == "redis://a:6379\nredis://b:6379"


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("", {}),
        ("\n \n", {}),
        ("env=prod", {"env": "prod"}),
        ("env = prod\r\nteam=a=b", {"env": "prod", "team": "a=b"}),
    ],
)
def test_labels_are_lines(text: str, labels: dict[str, str]) -> None:
    assert given_by(form(labels=text))["labels"] == labels


def test_labels_are_shown_as_they_are_typed() -> None:
    assert str(CacheForm(cache=stored(labels={"env": "prod", "a": "1"}))["labels"].value()) != ""
    assert "env=prod" in str(CacheForm(cache=stored(labels={"env": "prod"}))["labels"])


@pytest.mark.parametrize(("field", "opens"), [("ca_bundle", True), ("client_certificate", True), ("username", False)])
def test_the_part_about_tls_is_open_where_it_is_used(field: str, opens: bool) -> None:
    assert CacheForm(cache=stored(**{field: "x"})).opens_tls == opens


def test_the_part_about_tls_is_open_where_it_is_wrong() -> None:
    assert form(client_key="x" * 10, ca_bundle="\0").opens_tls
    assert not form().opens_tls


def test_every_field_has_its_place_on_the_page() -> None:
    shown = CacheForm(cache=stored(client_key=Secret.of("key")))

    placed = [bound.name for part in (shown.basic(), shown.tls(), shown.limits(), shown.mysql()) for bound in part]

    assert sorted([*placed, "revision"]) == sorted(shown.fields)


def test_a_connection_can_be_tried_before_there_is_a_name() -> None:
    assert ConnectionForm({**WHOLE, "name": ""}).is_valid()
    assert not CacheForm({**WHOLE, "name": ""}).is_valid()


@pytest.mark.parametrize(
    ("typed", "is_valid"), [("game", True), (" game ", True), ("Game", False), ("gam", False), ("", False)]
)
def test_removing_wants_the_very_name(typed: str, is_valid: bool) -> None:
    assert DeleteForm({"name": typed}, cache=stored()).is_valid() == is_valid


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, {}),
        ({"poll_interval_seconds": 60}, {"poll_interval_seconds": "30 -> 60"}),
        ({"is_paused": True}, {"is_paused": "False -> True"}),
        ({"plan_memory_bytes": 1024}, {"plan_memory_bytes": "None -> 1024"}),
        ({"password": Secret.of("other words")}, {"password": "changed"}),
        ({"password": Secret.of("")}, {"password": "changed"}),
        ({"ca_bundle": "-----BEGIN"}, {"ca_bundle": "changed"}),
    ],
)
def test_the_audit_tells_what_changed_and_no_secret(changes: dict[str, Any], told: dict[str, str]) -> None:
    before = stored()

    assert differences(before, stored(**{"password": before.password, **changes})) == told
