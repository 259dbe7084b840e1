"""The read path: what it answers to whom, and that nothing makes it answer anything but JSON."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from switches import gate as read_path
from switches.gate import Gate
from switches.snapshot import Snapshot
from switches.tests.cast import KEY, ask, row, snapshot
from switches.tests.conftest import GateOf

ONE = "/api/v1/switches/user-cache"
ALL = "/api/v1/switches"
REPORTS = "/api/v1/switches/reports"


def report(**fields: Any) -> dict[str, Any]:
    return {"key": "user-cache", "instance": "pod-1", "revision": 1, **fields}


def test_it_answers_one_switch(gate_of: GateOf) -> None:
    shown = snapshot(row(revision=7, address="redis://10.0.0.5:7000", topology="cluster"), epoch=3)

    reply = ask(gate_of(shown), "GET", ONE)

    assert reply.status == 200
    assert reply.json == {
        "key": "user-cache",
        "can_use": True,
        "percent": 100,
        "revision": 7,
        "epoch": 3,
        "endpoint": {"host": "10.0.0.5", "port": 7000, "tls": False, "cluster": True},
        "ttl_seconds": 5,
    }


def test_it_says_how_long_an_answer_may_be_kept(gate_of: GateOf) -> None:
    reply = ask(gate_of(snapshot(row("a", ttl_seconds=9), row("b", ttl_seconds=3))), "GET", ALL)

    assert reply.headers["Cache-Control"] == "private, max-age=3"
    assert reply.headers["Vary"] == "X-API-Key, Authorization"


@pytest.mark.parametrize("path", [ONE, ALL, f"{ALL}?keys=user-cache&instance=pod-1"])
def test_a_known_answer_is_304_without_a_body(gate_of: GateOf, path: str) -> None:
    gate = gate_of()
    etag = ask(gate, "GET", path).headers["ETag"]

    again = ask(gate, "GET", path, HTTP_IF_NONE_MATCH=etag)

    assert (again.status, again.body, again.headers["ETag"]) == (304, b"", etag)
    assert etag.startswith('"')


def test_a_change_changes_the_etag(gate_of: GateOf) -> None:
    rows = [row(), row(percent=0, revision=2), row(address="redis://10.0.0.6"), row(revision=2)]

    tags = {ask(gate_of(snapshot(one)), "GET", ONE).headers["ETag"] for one in rows}
    tags.add(ask(gate_of(snapshot(row(), epoch=2)), "GET", ONE).headers["ETag"])

    assert len(tags) == 5


def test_a_change_elsewhere_keeps_the_etag(gate_of: GateOf) -> None:
    tags = {
        ask(gate_of(snapshot(row(), row("other", revision=number), serial=number)), "GET", ONE).headers["ETag"]
        for number in (1, 2, 3)
    }

    assert len(tags) == 1


def test_it_answers_several_and_names_what_there_is_not(gate_of: GateOf) -> None:
    shown = snapshot(row("a"), row("b", percent=0), row("c"))

    reply = ask(gate_of(shown), "GET", f"{ALL}?keys=b,a,x&keys=a")

    assert [(one["key"], one["can_use"]) for one in reply.json["switches"]] == [("b", False), ("a", True)]
    assert (reply.json["missing"], reply.json["epoch"]) == (["x"], 1)


def test_without_keys_it_answers_all_that_the_key_reads(gate_of: GateOf) -> None:
    shown = snapshot(row("shop.a"), row("shop.b"), row("user"), scope=["shop.*"])

    assert [one["key"] for one in ask(gate_of(shown), "GET", ALL).json["switches"]] == ["shop.a", "shop.b"]


def test_each_instance_of_a_canary_has_its_answer(gate_of: GateOf) -> None:
    gate = gate_of(snapshot(row(percent=50, instances={"pod-1": True, "pod-2": False})))

    decided = [ask(gate, "GET", f"{ONE}?instance={name}").json["can_use"] for name in ("pod-1", "pod-2", "new")]

    assert decided == [True, False, False]


def test_what_the_key_may_not_read_is_not_there(gate_of: GateOf) -> None:
    gate = gate_of(snapshot(row(), scope=["shop.*"]))

    assert ask(gate, "GET", ONE).status == 404
    assert ask(gate, "GET", f"{ALL}?keys=user-cache").json["missing"] == ["user-cache"]


@pytest.mark.parametrize(
    "headers",
    [
        {"key": KEY},
        {"key": None, "HTTP_AUTHORIZATION": f"Bearer {KEY}"},
        {"key": None, "HTTP_AUTHORIZATION": f"bearer  {KEY}"},
    ],
    ids=["header", "bearer", "small"],
)
def test_it_takes_a_key_in_either_header(gate_of: GateOf, headers: dict[str, Any]) -> None:
    gate = gate_of()

    assert [ask(gate, "GET", ONE, **headers).status for _ in range(2)] == [200, 200]


@pytest.mark.parametrize(
    "headers",
    [
        {"key": None},
        {"key": ""},
        {"key": "swc_wrong"},
        {"key": "\udcff"},
        {"key": None, "HTTP_AUTHORIZATION": "Basic eA=="},
    ],
    ids=["none", "empty", "wrong", "odd", "basic"],
)
@pytest.mark.parametrize("path", [ONE, ALL, REPORTS, "/ofrep/v1/evaluate/flags"])
def test_nobody_is_answered_without_a_valid_key(gate_of: GateOf, path: str, headers: dict[str, Any]) -> None:
    method = "GET" if path in {ONE, ALL} else "POST"

    reply = ask(gate_of(), method, path, **headers)

    assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "key" in str(reply.json)


def test_a_revoked_key_is_shut_out_though_its_answer_was_kept(gate_of: GateOf) -> None:
    gate = gate_of()
    ask(gate, "GET", ONE)

    gate.board.snapshot = Snapshot(1, 2, gate.board.snapshot.switches, {}, b"")  # type: ignore[union-attr]

    assert ask(gate, "GET", ONE).status == 401


@pytest.mark.parametrize("key", ["none", "USER-CACHE", "user-cache%2F", "ü", "\x00", "'", "a" * 5_000, "a b"])
def test_there_is_no_switch_with_an_odd_key(gate_of: GateOf, key: str) -> None:
    reply = ask(gate_of(), "GET", f"{ALL}/{key}")

    assert (reply.status, list(reply.json)) == (404, ["error"])


@pytest.mark.parametrize("path", [f"{ALL}/a/b", "/ofrep/", "/ofrep/v1/configuration", "/ofrep/v1/evaluate/flags/a/b"])
def test_there_is_nothing_at_other_addresses(gate_of: GateOf, path: str) -> None:
    assert ask(gate_of(), "GET", path).status == 404


@pytest.mark.parametrize("path", ["/", "/api/v1/caches", "/api/v1/switchesque", "/ofrepo"])
def test_what_is_not_its_own_goes_on_to_django(gate_of: GateOf, path: str) -> None:
    assert ask(gate_of(), "GET", path).body == b"django"


@pytest.mark.parametrize(
    ("path", "method", "allowed"),
    [
        (ONE, "POST", "GET"),
        (ALL, "DELETE", "GET"),
        (REPORTS, "GET", "POST"),
        ("/ofrep/v1/evaluate/flags/a", "GET", "POST"),
    ],
)
def test_it_says_which_method_an_address_takes(gate_of: GateOf, path: str, method: str, allowed: str) -> None:
    reply = ask(gate_of(), method, path)

    assert (reply.status, reply.headers["Allow"]) == (405, allowed)
    assert allowed in str(reply.json)


def test_head_is_get_without_a_body(gate_of: GateOf) -> None:
    reply = ask(gate_of(), "HEAD", ONE)

    assert (reply.status, reply.body, int(reply.headers["Content-Length"]) > 0) == (200, b"", True)


@pytest.mark.parametrize("name", ["", "%00", "a%0Ab", "x" * 201])
def test_an_instance_has_a_printable_name(gate_of: GateOf, name: str) -> None:
    reply = ask(gate_of(), "GET", f"{ONE}?instance={name}&x=1")

    # An empty value is no parameter at all.
    assert reply.status == (400 if name else 200)


def test_a_query_without_end_is_refused(gate_of: GateOf) -> None:
    assert ask(gate_of(), "GET", f"{ALL}?keys={'a,' * 10_000}").status == 413


def test_answers_that_may_be_old_say_so(gate_of: GateOf) -> None:
    gate = gate_of(is_fresh=False)

    reply = ask(gate, "GET", ONE)
    again = ask(gate, "GET", ONE, HTTP_IF_NONE_MATCH=reply.headers["ETag"])

    assert (reply.status, reply.json["can_use"], again.status) == (200, True, 304)
    assert int(reply.headers["X-Shardwatch-Stale"]) >= 0
    assert "X-Shardwatch-Stale" in again.headers


def test_a_fresh_answer_does_not_say_that_it_is_old(gate_of: GateOf) -> None:
    assert "X-Shardwatch-Stale" not in ask(gate_of(), "GET", ONE).headers


def test_without_any_knowledge_it_says_so(gate_of: GateOf) -> None:
    gate = gate_of()
    gate.board.snapshot = None

    reply = ask(gate, "GET", ONE)

    assert (reply.status, reply.headers["Retry-After"]) == (503, "1")


def test_it_keeps_no_more_answers_than_it_may(gate_of: GateOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_path, "ANSWERS_KEPT", 10)
    gate = gate_of()

    for number in range(50):
        ask(gate, "GET", f"{ONE}?instance=pod-{number}")

    assert gate.board.snapshot is not None
    assert len(gate.board.snapshot.answers) <= 10


def test_instances_share_their_answers(gate_of: GateOf) -> None:
    gate = gate_of()

    for number in range(50):
        ask(gate, "GET", f"{ONE}?instance=pod-{number}")

    assert gate.board.snapshot is not None
    assert len(set(map(id, gate.board.snapshot.answers.values()))) == 1


def waiting(gate: Gate) -> list[Any]:
    return gate.board.reports.take()


def test_it_takes_reports(gate_of: GateOf) -> None:
    gate = gate_of()

    reply = ask(gate, "POST", REPORTS, [report(), report(instance="pod-2", address="10.1.1.1", workers=8.0)])

    assert (reply.status, reply.json) == (202, {"accepted": 2})
    assert [(one.instance, one.address, one.workers) for one in waiting(gate)] == [
        ("pod-1", "10.0.0.9", None),
        ("pod-2", "10.1.1.1", 8),
    ]


@pytest.mark.parametrize(
    "more", [{"REMOTE_ADDR": "127.0.0.1"}, {"REMOTE_ADDR": "::1"}, {"HTTP_X_FORWARDED_FOR": "1.2.3.4"}]
)
def test_the_address_of_a_proxy_or_of_loopback_is_nobodys(gate_of: GateOf, more: dict[str, str]) -> None:
    gate = gate_of()

    ask(gate, "POST", REPORTS, [report()], **more)

    assert waiting(gate)[0].address == ""


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (5, "object"),
        ({}, "no switch"),
        (report(key="none"), "no switch"),
        (report(key=["a"]), "no switch"),
        (report(instance=""), "instance"),
        (report(instance="a\nb"), "instance"),
        (report(instance=5), "instance"),
        (report(revision=None), "revision"),
        (report(revision=-1), "revision"),
        (report(revision=True), "revision"),
        (report(revision=2**31), "revision"),
        (report(epoch="1"), "epoch"),
        (report(age_seconds=-1), "age_seconds"),
        (report(age_seconds="old"), "age_seconds"),
        (report(error=5), "error"),
    ],
    ids=range(15),
)
def test_a_bad_row_is_named_and_the_others_are_kept(gate_of: GateOf, row: Any, words: str) -> None:
    gate = gate_of()

    reply = ask(gate, "POST", REPORTS, [report(), row, report(instance="pod-3")])

    assert (reply.status, reply.json["accepted"]) == (400, 2)
    assert reply.json["error"].startswith("Row 2: ")
    assert words in reply.json["error"]
    assert len(waiting(gate)) == 2


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b"5", b"null", b"\xff", b'"x"'])
def test_reports_are_a_list_in_json(gate_of: GateOf, body: bytes) -> None:
    reply = ask(gate_of(), "POST", REPORTS, body, CONTENT_TYPE="application/json")

    assert (reply.status, list(reply.json)) == (400, ["error"])


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_reports_of_another_type_are_refused(gate_of: GateOf, kind: str) -> None:
    assert ask(gate_of(), "POST", REPORTS, [report()], CONTENT_TYPE=kind).status == 415


@pytest.mark.parametrize("length", [str(2**20 + 1), ""], ids=["declared", "not declared"])
def test_a_huge_body_is_refused(gate_of: GateOf, length: str) -> None:
    body = b"[" + b" " * 2**20 + b"]"

    assert ask(gate_of(), "POST", REPORTS, body, CONTENT_LENGTH=length).status == 413


def test_too_many_rows_are_refused(gate_of: GateOf) -> None:
    assert ask(gate_of(), "POST", REPORTS, [0] * 5_001).status == 413


def test_nothing_that_is_sent_breaks_it(gate_of: GateOf) -> None:
    gate = gate_of(snapshot(row(percent=50, instances={"pod-1": True})))

    @settings(max_examples=50, deadline=None)
    @given(
        some.sampled_from(["GET", "POST", "HEAD", "PUT"]),
        some.sampled_from([ONE, ALL, REPORTS, "/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/user-cache"]),
        some.text(max_size=30),
        some.binary(max_size=60) | some.from_regex(rb'\[?\{"(context|key|instance)": ?[^}]{0,20}\}?\]?'),
    )
    def send(method: str, path: str, query: str, body: bytes) -> None:
        reply = ask(gate, method, f"{path}?{query}", body, HTTP_IF_NONE_MATCH=query)
        assert reply.status in {200, 202, 304, 400, 404, 405}
        assert reply.json is not None or reply.status == 304 if reply.body else True

    send()
