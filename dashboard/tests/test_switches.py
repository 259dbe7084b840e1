"""Pages of switches: the list, the form, what one sees, and what one does."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from switches import changing
from switches.models import ClientKey, Instance, Plan, Proposal, Sighting, Switch, SwitchChange
from switches.tests.cast import WHY, cache, instance, operator, switch

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
GIVEN: dict[str, Any] = {
    "key": "user-cache",
    "fallback": "closed",
    "ttl_seconds": "5",
    "floor_per_second": "5",
    "reason": "new",
    "owner": "shop team",
}


def page(path: str = "/switches/user-cache/", role: str = Role.OPERATOR, status: int = 200) -> str:
    answer = client_of(role).get(path)
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def post(path: str, role: str = Role.OPERATOR, **given: Any) -> Any:
    return client_of(role).post(f"/switches/user-cache/{path}", given)


def off(**given: Any) -> Switch:
    return changing.turn_off(switch(**given), operator(), WHY)


def stored() -> Switch:
    return Switch.objects.get(key="user-cache")


def test_an_empty_list_says_what_to_do() -> None:
    assert "There is no switch yet" in page("/switches/")
    assert "Ask an operator" in page("/switches/", Role.VIEWER)


def test_the_list_tells_states_caches_and_owners() -> None:
    switch("a", cache_now=cache("game"), owner="team game")
    changing.turn_on(switch("b"), operator(), WHY, 1, 10)
    changing.turn_off(switch("c"), operator(), WHY)

    seen = page("/switches/", Role.VIEWER)

    assert all(words in seen for words in ("enabled", "canary 10 %", "disabled, unproven", "team game", ">game</a>"))
    assert "Add a switch" not in seen


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"a", "b", "c"}),
        ("show=off", {"c"}),
        ("show=canary", {"b"}),
        ("show=on", {"a"}),
        ("show=retired", {"d"}),
        ("show=overdue", {"c"}),
        ("show=unused", set()),
        ("q=TEAM", {"a"}),
        ("q=game", {"a"}),
        ("cache=game", {"a"}),
        ("show=nonsense", {"a", "b", "c"}),
    ],
)
def test_the_list_is_filtered(query: str, shown: set[str]) -> None:
    switch("a", cache_now=cache("game"), owner="team game")
    changing.turn_on(switch("b"), operator(), WHY, 1, 10)
    changing.turn_off(switch("c"), operator(), WHY)
    changing.retire(switch("d"), operator(), WHY, 1)
    Switch.objects.filter(key="c").update(stepped_at=timezone.now() - timedelta(days=8))

    seen = page(f"/switches/?{query}")

    assert {key for key in "abcd" if f'href="/switches/{key}/"' in seen} == shown


def test_connections_that_nobody_could_count_are_not_known() -> None:
    held = off(cache_now=cache("game"))
    Sighting.objects.create(switch=held, read_at=timezone.now(), failed_cause="no-permission", failed_words="NOPERM")

    seen = page()

    assert "the client lists cannot be read" in seen
    assert "client lists read" not in seen


def test_the_list_marks_what_was_forgotten() -> None:
    off()
    long_ago = timezone.now() - timedelta(days=40)
    Switch.objects.update(stepped_at=long_ago, created_at=long_ago)

    seen = page("/switches/")

    assert "1 switch has been off for more than a week" in seen
    assert "unused" in seen


def test_a_filter_without_a_hit_leads_back() -> None:
    switch()

    assert "No switch fits" in page("/switches/?q=nothing")


@pytest.mark.parametrize("count", [1, 8])
def test_the_list_asks_the_same_however_many_are_on(
    count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(count):
        switch(f"s{number}", cache_now=cache(f"c{number}"))
    client = client_of()

    with django_assert_max_num_queries(6):
        client.get("/switches/")


def test_an_operator_makes_one() -> None:
    cache("game")

    answer = client_of(Role.OPERATOR).post("/new-switch/", GIVEN | {"cache_now": "game"})

    made = stored()
    assert (answer.status_code, answer["Location"]) == (302, "/switches/user-cache/")
    assert (made.fallback, made.owner, made.cache_now and made.cache_now.name) == ("closed", "shop team", "game")
    assert AuditEntry.objects.get(action="switch.created").username == "operator"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"key": "User Cache"}, "small letters"),
        ({"key": ".."}, "choose another"),
        ({"key": "reports"}, "choose another"),
        ({"ttl_seconds": "0"}, "greater than or equal to 1"),
        ({"ttl_seconds": "301"}, "less than or equal to 300"),
        ({"fallback": "maybe"}, "valid choice"),
        ({"reason": " "}, "required"),
        ({"cache_now": "nothing"}, "valid choice"),
        ({"cache_now": "game", "cache_next": "game"}, "another cache"),
        ({"note": "x" * 2_001}, "at most 2000"),
        ({"floor_per_second": "nan"}, "number"),
    ],
)
def test_the_form_says_what_is_wrong(changes: dict[str, str], words: str) -> None:
    cache("game")

    answer = client_of(Role.OPERATOR).post("/new-switch/", GIVEN | changes)

    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert not Switch.objects.exists()


def test_a_key_is_taken_once() -> None:
    switch()

    answer = client_of(Role.OPERATOR).post("/new-switch/", GIVEN)

    assert answer.status_code == 400
    assert "exists already" in answer.content.decode()


def test_the_form_says_what_open_and_closed_lead_to() -> None:
    seen = page("/new-switch/")

    assert "a wrong write is worse than a slow answer" in seen
    assert "leaves the cache alone" in seen


def test_an_operator_changes_one() -> None:
    switch(owner="one")

    answer = post("edit/", **GIVEN, revision="1")

    assert (answer.status_code, stored().owner, stored().revision) == (302, "shop team", 2)


def test_two_operators_do_not_overwrite_each_other() -> None:
    made = switch(owner="one")
    changing.edit(made, operator("bob"), {"owner": "theirs"}, WHY, 1)

    answer = post("edit/", **GIVEN, revision="1")

    seen = answer.content.decode()
    assert (answer.status_code, stored().owner) == (409, "theirs")
    assert "bob changed this switch" in seen
    assert "owner: one → theirs" in seen
    assert 'value="shop team"' in seen
    assert 'name="revision" value="2"' in seen


def test_only_an_administrator_takes_the_second_person_away() -> None:
    switch(needs_two_people=True)

    answer = post("edit/", **GIVEN, revision="1")

    assert answer.status_code == 400
    assert "Only an administrator" in answer.content.decode()
    assert post("edit/", Role.ADMIN, **GIVEN, revision="1").status_code == 302


def test_off_is_one_click_and_a_reason() -> None:
    switch(cache_now=cache())

    answer = post("off/", reason="it evicts", ticket="OPS-7")

    last = SwitchChange.objects.first()
    assert (answer.status_code, stored().percent) == (302, 0)
    assert last
    assert (last.by, last.reason, last.ticket) == ("operator", "it evicts", "OPS-7")


def test_off_without_a_reason_asks_for_one() -> None:
    switch()

    answer = post("off/", reason="", ticket="OPS-7")

    assert (answer.status_code, stored().percent) == (400, 100)
    assert 'value="OPS-7"' in answer.content.decode()


def test_off_does_not_wait_for_a_second_look() -> None:
    changing.edit(switch(), operator("bob"), {"owner": "theirs"}, WHY, 1)

    assert post("off/", reason="it evicts", revision="1").status_code == 302
    assert stored().percent == 0


def test_off_twice_says_so() -> None:
    off()

    answer = post("off/", reason="it evicts")

    assert "off already" in answer.content.decode()


def test_the_page_says_how_far_it_is() -> None:
    made = off(cache_now=cache())
    instance(made, "pod-1", address="10.0.0.1", version="php 1.2")
    instance(made, "pod-2", revision=1, address="10.0.0.2", version="php 1.1")

    seen = page(role=Role.VIEWER)

    assert "draining" in seen
    assert "of 2 live instances" in seen
    assert "Not yet safe to re-point" in seen
    assert "10.0.0.2" in seen
    assert "php 1.1" in seen
    assert ">pod-1" not in seen
    assert "Turn it off" not in seen


def test_the_page_says_which_proof_is_missing_and_what_to_do() -> None:
    off()

    seen = page()

    assert "disabled, unproven" in seen
    assert "readers of OFREP and of the SQL view cannot" in seen
    assert "use a client that reports" in seen
    assert "Name its cache" in seen
    assert "Safe to re-point" not in seen


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("no_permission", "Allow CLIENT LIST to the user"),
        ("error_reply", "Allow CLIENT LIST to the user"),
        ("refused", "See on the page of the cache why it does not answer."),
    ],
)
def test_a_client_list_that_is_not_read_has_the_advice_that_fits(cause: str, words: str) -> None:
    made = off(cache_now=cache())
    Sighting.objects.create(switch=made, read_at=timezone.now(), failed_cause=cause)

    assert words in page()


def test_without_a_cache_nothing_is_waited_for() -> None:
    off()

    seen = page()

    assert "Name its cache, so that somebody counts the commands." in seen
    assert "waiting for a poll" not in seen
    assert "not looked yet" not in seen


def test_the_page_names_who_says_applied_and_is_still_there() -> None:
    made = off(cache_now=cache())
    instance(made, "liar", address="10.0.0.9")
    Sighting.objects.create(switch=made, read_at=timezone.now(), connections=2, present={"10.0.0.9": [2, 0, "get"]})

    seen = page()

    assert "1 instance reports that it stopped, but is still connected" in seen
    assert "says applied, still connected" in seen
    assert "last get, 0 s ago" in seen


def test_a_thousand_instances_are_a_page_at_a_time() -> None:
    made = off()
    now = timezone.now()

    Instance.objects.bulk_create(
        Instance(switch=made, name=f"pod-{number:04}", revision=1, first_seen_at=now, seen_at=now)
        for number in range(1_000)
    )

    assert page().count('class="wide">pod-') == 20
    assert page("/switches/user-cache/instances/?standing=behind&page=2").count("pod-") == 100
    assert "No instance" in page("/switches/user-cache/instances/?standing=silent")


def test_the_living_part_comes_alone_and_only_when_it_changed() -> None:
    made = switch()
    client = client_of(Role.OPERATOR)
    first = client.get("/switches/user-cache/", headers={"HX-Request": "true"})
    version = first.context["version"]
    address = f"/switches/user-cache/?revision=1&version={version}"

    same = client.get(address, headers={"HX-Request": "true"})
    changing.turn_off(made, operator("bob"), WHY)
    later = client.get(address, headers={"HX-Request": "true"})

    assert b"<html" not in first.content
    assert same.status_code == 204
    assert b"bob changed this switch since you opened the page" in later.content


@pytest.mark.parametrize("revision", ["x", "-1", "²", "9" * 40])
def test_a_revision_that_makes_no_sense_is_the_newest(revision: str) -> None:
    switch()

    assert "since you opened the page" not in page(f"/switches/user-cache/?revision={revision}")


def test_it_is_turned_on_gradually() -> None:
    off()

    assert post("on/", revision="2", percent="10", reason="warm").status_code == 302
    assert post("on/", revision="3", percent="50", reason="warmer").status_code == 302
    assert stored().percent == 50
    assert "canary 50 %" in page()


@pytest.mark.parametrize("percent", ["0", "101", "", "x", "1.5"])
def test_a_percentage_has_bounds(percent: str) -> None:
    off()

    assert post("on/", revision="2", percent=percent, reason="warm").status_code == 400
    assert stored().percent == 0


def test_a_conflict_keeps_what_was_typed() -> None:
    made = off()
    changing.turn_on(made, operator("bob"), WHY, 2, 10)

    answer = post("on/", revision="2", percent="25", reason="my long reason")

    seen = answer.content.decode()
    assert (answer.status_code, stored().percent) == (409, 10)
    assert "bob changed this switch" in seen
    assert "my long reason" in seen
    assert "percent: 0 → 10" in seen


def test_two_people_turn_it_on() -> None:
    off(needs_two_people=True)
    post("on/", revision="2", percent="100", reason="done")
    proposal = Proposal.objects.get()
    assert stored().percent == 0

    own = post(f"proposals/{proposal.pk}/approve/")
    other = post(f"proposals/{proposal.pk}/approve/", Role.ADMIN)

    assert (own.status_code, other.status_code, stored().percent) == (302, 302, 100)
    assert SwitchChange.objects.filter(approved_by="admin").count() == 1


def test_a_proposal_is_offered_to_the_other_and_can_be_declined() -> None:
    off(needs_two_people=True)
    post("on/", revision="2", percent="100", reason="done")

    assert "Withdraw" in page()
    assert "Agree, and turn it on" not in page()
    assert "Agree, and turn it on" in page(role=Role.ADMIN)
    post(f"proposals/{Proposal.objects.get().pk}/decline/", Role.ADMIN)
    assert Proposal.objects.get().state == "declined"


def test_it_is_pointed_at_the_next_cache_while_off() -> None:
    off(cache_now=cache("old"), cache_next=cache("new", "redis://10.0.0.6:6379"))

    answer = post("repoint/", revision="2", cache="new", reason="migration")

    made = stored()
    assert answer.status_code == 302
    assert (made.cache_now and made.cache_now.name, made.cache_next and made.cache_next.name) == ("new", "old")
    assert "re-pointing" in page()


def test_it_is_not_pointed_elsewhere_while_on() -> None:
    switch(cache_now=cache("old"))
    cache("new", "redis://10.0.0.6:6379")

    answer = post("repoint/", revision="1", cache="new", reason="migration")

    assert answer.status_code == 400
    assert "Turn the switch off before" in answer.content.decode()


def test_a_plan_waits_and_can_be_cancelled() -> None:
    switch()
    later = (timezone.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")

    assert post("plans/", revision="1", percent="0", starts_at=later, reason="upgrade").status_code == 302

    plan = Plan.objects.get()
    assert "operator planned 0 %" in page()
    post(f"plans/{plan.pk}/cancel/")
    plan.refresh_from_db()
    assert plan.state == "cancelled"


def test_the_end_of_a_plan_is_a_question() -> None:
    made = switch()
    now = timezone.now()
    plan = Plan.objects.create(
        switch=made, percent=0, starts_at=now, ends_at=now, reason="upgrade", author="ann", revision=1, state="asking"
    )
    assert "Is it?" in page()

    later = (now + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M")
    post(f"plans/{plan.pk}/extend/", ends_at=later)

    plan.refresh_from_db()
    assert plan.state == "running"
    assert post(f"plans/{plan.pk}/extend/", ends_at="soon").status_code == 302


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ends_at": "2020-01-01T00:00"}, "after the start"),
        ({"percent": "101"}, "less than or equal to 100"),
        ({"revision": "7"}, "changed this switch"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(changes: dict[str, str], words: str) -> None:
    switch()

    answer = post("plans/", **{"revision": "1", "percent": "0", "reason": "upgrade", **changes})

    assert answer.status_code in {400, 409}
    assert words in answer.content.decode()
    assert not Plan.objects.exists()


def test_it_is_retired_for_good() -> None:
    switch()

    assert post("retire/", revision="1", reason="shop is gone").status_code == 302

    seen = page()
    assert "retired" in seen
    assert "Turn it off" not in seen


def test_the_changes_say_who_when_why_and_what() -> None:
    changing.turn_off(switch(owner="one"), operator("bob"), WHY)

    seen = page("/switches/user-cache/changes/", Role.VIEWER)

    assert all(words in seen for words in ("bob", "cache is sick", "OPS-1", "percent: 100 → 0", "turned off"))


@pytest.mark.parametrize("path", ["", "instances/", "changes/", "edit/"])
def test_what_people_and_instances_say_is_text(path: str) -> None:
    made = off(owner=HOSTILE, label=HOSTILE, note=HOSTILE)
    instance(made, HOSTILE, address=HOSTILE, version=HOSTILE, error=HOSTILE, revision=1)

    assert HOSTILE not in page(f"/switches/user-cache/{path}")


@pytest.mark.parametrize("path", ["", "instances/", "changes/", "edit/"])
def test_a_switch_that_is_not_there_is_a_page_that_says_so(path: str) -> None:
    page(f"/switches/nothing/{path}", status=404)


@pytest.mark.parametrize("path", ["off/", "on/", "repoint/", "retire/", "plans/", "edit/"])
def test_a_viewer_changes_nothing(path: str) -> None:
    switch()

    assert post(path, Role.VIEWER, reason="x", revision="1", percent="10").status_code == 403
    assert stored().revision == 1


def test_the_page_asks_the_same_however_many_instances(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    made = off(cache_now=cache())
    for number in range(30):
        instance(made, f"pod-{number}")
    client = client_of(Role.OPERATOR)

    with django_assert_max_num_queries(24):
        client.get("/switches/user-cache/")


def test_a_client_key_is_shown_once() -> None:
    client = client_of(Role.OPERATOR)

    made = client.post("/client-keys/issue/", {"name": "shop", "scope": "user-cache, shop.*"})

    assert b'value="swc_' in made.content
    assert b'value="swc_' not in client.get("/client-keys/").content
    assert b"shop.*" in made.content


def test_two_client_keys_are_valid_at_once() -> None:
    client = client_of(Role.OPERATOR)

    answers = [client.post("/client-keys/issue/", {"name": "shop"}).status_code for _number in range(3)]

    assert answers == [200, 200, 400]


@pytest.mark.parametrize(("name", "scope"), [("", ""), ("shop", "Not A Key"), ("x" * 101, ""), ("a\u202eb", "")])
def test_a_client_key_that_makes_no_sense_is_refused(name: str, scope: str) -> None:
    assert client_of(Role.OPERATOR).post("/client-keys/issue/", {"name": name, "scope": scope}).status_code == 400


def test_a_client_key_is_revoked() -> None:
    client = client_of(Role.OPERATOR)
    client.post("/client-keys/issue/", {"name": "shop"})

    client.post(f"/client-keys/{ClientKey.objects.get().pk}/revoke/")

    assert not ClientKey.objects.valid().exists()
    assert b"1 revoked key" in client.get("/client-keys/").content


def test_a_viewer_sees_no_client_keys() -> None:
    assert client_of().get("/client-keys/").status_code == 403
