"""Switches in the API: what operators can do, and what each of them is told when it cannot be."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import person
from dashboard.tests.api import call
from switches import approving, changing
from switches.models import ClientKey, Switch
from switches.tests.cast import WHY, cache, instance, operator, switch

pytestmark = pytest.mark.django_db
ROOT = "/control/switches"
ONE = f"{ROOT}/user-cache"
OPERATOR = Role.OPERATOR


def post(path: str, **body: Any) -> Any:
    return call(OPERATOR, "post", path, {"reason": "sick", **body})


def test_it_makes_a_switch() -> None:
    cache("user")

    answer = post(ROOT, key="user-cache", cache_now="user", label="Users", fallback="closed", floor_per_second=2)

    assert answer.status_code == 201
    found = answer.json()
    assert (found["percent"], found["cache_now"], found["fallback"], found["floor_per_second"]) == (
        100,
        "user",
        "closed",
        2.0,
    )


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"key": "a/b"}, "key"),
        ({"key": "reports"}, "key"),
        ({"key": "a", "cache_now": "none"}, "cache_now"),
        ({"key": "a", "ttl_seconds": 0}, "ttl_seconds"),
        ({"key": "a", "reason": ""}, "reason"),
        ({"key": "a", "colour": "red"}, "colour"),
    ],
)
def test_it_says_which_field_is_wrong(body: dict[str, Any], field: str) -> None:
    answer = post(ROOT, **body)

    assert answer.status_code == 400
    assert field in answer.json()["field"]


def test_a_taken_key_is_a_conflict() -> None:
    switch()

    assert post(ROOT, key="user-cache").status_code == 409


def test_it_lists_switches_without_retired_ones() -> None:
    switch("a")
    changing.retire(switch("b"), operator(), WHY, 1)

    assert [one["key"] for one in call(OPERATOR, "get", ROOT).json()["switches"]] == ["a"]


def test_off_and_on_again_as_a_canary() -> None:
    switch()

    off = post(f"{ONE}/off").json()
    on = post(f"{ONE}/on", revision=off["revision"], percent=10).json()

    assert (off["can_use"], off["percent"], on["can_use"], on["percent"]) == (False, 0, True, 10)


def test_a_stale_revision_is_a_conflict_that_names_the_other() -> None:
    changing.turn_off(switch(), operator("ann"), WHY)

    answer = post(f"{ONE}/on", revision=1)

    assert answer.status_code == 409
    assert "ann changed" in answer.json()["error"]


def test_what_needs_two_people_is_proposed_and_agreed_to() -> None:
    changing.turn_off(switch(needs_two_people=True), operator(), WHY)

    proposed = post(f"{ONE}/on", revision=2)
    own = call(OPERATOR, "post", f"{ONE}/proposals/{proposed.json()['id']}", {"agrees": True})
    other = call(Role.ADMIN, "post", f"{ONE}/proposals/{proposed.json()['id']}", {"agrees": True})

    assert (proposed.status_code, own.status_code, other.status_code) == (202, 400, 200)
    assert other.json()["percent"] == 100
    assert call(OPERATOR, "get", ONE).json()["proposals"][0]["decided_by"] == "admin"


def test_a_proposal_can_be_declined() -> None:
    off = changing.turn_off(switch(needs_two_people=True), operator(), WHY)
    made = approving.turn_on(off, operator(), WHY, 2, 10)

    declined = call(OPERATOR, "post", f"{ONE}/proposals/{made.pk}", {"agrees": False})
    again = call(OPERATOR, "post", f"{ONE}/proposals/{made.pk}", {"agrees": True})

    assert (declined.json()["percent"], again.status_code) == (0, 409)


def test_it_points_elsewhere() -> None:
    changing.turn_off(switch(cache_now=cache("old")), operator(), WHY)
    cache("new")

    moved = post(f"{ONE}/repoint", revision=2, cache="new").json()

    assert (moved["cache_now"], moved["cache_next"], moved["is_repointing"]) == ("new", "old", True)


def test_an_edit_changes_what_it_names_alone() -> None:
    switch(owner="web", cache_next=cache())

    body = {"reason": "x", "revision": 1, "note": "night shift", "cache_next": None, "label": None}
    edited = call(OPERATOR, "patch", ONE, body).json()

    told = [edited[name] for name in ("note", "owner", "cache_next", "revision")]
    assert told == ["night shift", "web", None, 2]


def test_retired_is_for_good() -> None:
    switch()

    assert post(f"{ONE}/retire", revision=1).json()["retired_at"]
    assert post(f"{ONE}/off").status_code == 409


def test_changes_tell_who_and_why() -> None:
    changing.turn_off(switch(), operator("ann"), WHY)

    found = call(Role.VIEWER, "get", f"{ONE}/changes?page_size=1").json()

    assert (found["count"], len(found["changes"])) == (2, 1)
    assert [found["changes"][0][name] for name in ("kind", "by", "ticket")] == ["off", "ann", "OPS-1"]


def test_the_proof_names_readers_and_what_is_missing() -> None:
    off = changing.turn_off(switch(cache_now=cache()), operator(), WHY)
    instance(off, "pod-1", address="10.1.1.1")
    instance(off, "pod-2", revision=1)

    found = call(Role.VIEWER, "get", f"{ONE}/proof").json()

    assert (found["state"], found["is_safe_to_repoint"]) == ("draining", False)
    assert [(one["name"], one["standing"]) for one in found["readers"]] == [("pod-1", "applied"), ("pod-2", "behind")]


def test_a_plan_is_made_put_off_and_cancelled() -> None:
    switch()
    later = (timezone.now() + timedelta(hours=2)).isoformat()

    made = post(f"{ONE}/plans", ends_at=later).json()
    put_off = call(OPERATOR, "post", f"{ONE}/plans/{made['id']}/extend", {"ends_at": later})
    cancelled = call(OPERATOR, "post", f"{ONE}/plans/{made['id']}/cancel")

    assert (made["state"], put_off.status_code, cancelled.json()["state"]) == ("waiting", 409, "cancelled")
    assert call(OPERATOR, "get", ONE).json()["plans"][0]["id"] == made["id"]


@pytest.mark.parametrize("given", [{"starts_at": "soon"}, {"ends_at": "2020-01-01T00:00:00Z"}, {"percent": 101}])
def test_a_plan_that_cannot_be_is_refused(given: dict[str, Any]) -> None:
    switch()

    assert post(f"{ONE}/plans", **given).status_code == 400


@pytest.mark.parametrize("path", ["off", "on", "repoint", "retire", "plans"])
def test_viewers_change_nothing(path: str) -> None:
    switch()

    answer = call(Role.VIEWER, "post", f"{ONE}/{path}", {"reason": "x", "revision": 1})

    assert (answer.status_code, Switch.objects.get().revision) == (403, 1)


@pytest.mark.parametrize("path", ["", "/proof", "/changes"])
def test_an_unknown_switch_is_not_found(path: str) -> None:
    assert call(Role.VIEWER, "get", f"{ROOT}/none{path}").status_code == 404


def test_a_client_key_is_shown_once_and_revoked() -> None:
    body = {"name": "shop", "scope": ["shop.*"]}
    made = call(OPERATOR, "post", "/control/client-keys", body).json()

    listed = call(OPERATOR, "get", "/control/client-keys").json()["client_keys"]
    revoked = [call(OPERATOR, "delete", f"/control/client-keys/{made['id']}").status_code for _ in range(2)]

    assert made["text"].startswith("swc_")
    assert [("text" in key, key["scope"]) for key in listed] == [(False, ["shop.*"])]
    assert revoked == [204, 404]


def test_a_third_key_of_an_application_is_a_conflict() -> None:
    for _ in range(2):
        ClientKey.issue("shop", [], "ann")

    assert call(OPERATOR, "post", "/control/client-keys", {"name": "shop"}).status_code == 409


def test_only_an_administrator_lifts_the_second_person() -> None:
    switch(needs_two_people=True)
    person(Role.ADMIN)
    body = {"reason": "x", "revision": 1, "needs_two_people": False}

    assert [call(role, "patch", ONE, body).status_code for role in (OPERATOR, Role.ADMIN)] == [400, 200]
