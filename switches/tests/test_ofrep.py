"""OFREP: what SDKs of OpenFeature are answered, with everything that each of them insists on."""

from typing import Any

import pytest

from switches.tests.cast import ask, row, snapshot
from switches.tests.conftest import GateOf

BULK = "/ofrep/v1/evaluate/flags"
ONE = f"{BULK}/user-cache"
REASONS = {"STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED", "UNKNOWN"}


def context(**fields: Any) -> dict[str, Any]:
    return {"context": fields}


@pytest.mark.parametrize(("percent", "value", "variant"), [(0, False, "off"), (100, True, "on")])
def test_it_always_gives_value_variant_and_reason(gate_of: GateOf, percent: int, value: bool, variant: str) -> None:
    reply = ask(gate_of(snapshot(row(percent=percent))), "POST", ONE, context(targetingKey="pod-1"))

    assert reply.status == 200
    assert (reply.json["key"], reply.json["value"], reply.json["variant"]) == ("user-cache", value, variant)
    assert reply.json["reason"] in REASONS


def test_metadata_is_flat(gate_of: GateOf) -> None:
    reply = ask(gate_of(snapshot(row(revision=4, address="rediss://h:1"), epoch=2)), "POST", ONE, context())

    assert reply.json["metadata"] == {
        "percent": 100,
        "revision": 4,
        "epoch": 2,
        "ttl_seconds": 5,
        "endpoint_host": "h",
        "endpoint_port": 1,
        "endpoint_tls": True,
        "endpoint_cluster": False,
    }


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"{}",
        b"null",
        b"[]",
        b'{"context": null}',
        b'{"context": {}}',
        b'{"context": {"targetingKey": null}}',
    ],
)
def test_it_is_lenient_with_callers_who_say_nothing(gate_of: GateOf, body: bytes) -> None:
    reply = ask(gate_of(snapshot(row(percent=0))), "POST", ONE, body)

    expected = (400, None) if body == b"[]" else (200, False)
    assert (reply.status, reply.json.get("value")) == expected


@pytest.mark.parametrize("kind", ["", "text/plain", "application/json; charset=utf-8"])
def test_the_content_type_does_not_matter(gate_of: GateOf, kind: str) -> None:
    assert ask(gate_of(), "POST", ONE, context(targetingKey="a"), CONTENT_TYPE=kind).status == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"{", "PARSE_ERROR"), (b"a=b", "PARSE_ERROR"), (b'{"context": 5}', "INVALID_CONTEXT"), (b"5", "INVALID_CONTEXT")],
)
def test_what_cannot_be_read_has_a_code_and_details(gate_of: GateOf, body: bytes, code: str) -> None:
    reply = ask(gate_of(), "POST", ONE, body)

    assert (reply.status, reply.json["key"], reply.json["errorCode"]) == (400, "user-cache", code)
    assert reply.json["errorDetails"]


@pytest.mark.parametrize("key", ["none", "ü", "a" * 5_000])
def test_an_unknown_flag_is_named_in_json(gate_of: GateOf, key: str) -> None:
    reply = ask(gate_of(), "POST", f"{BULK}/{key}", context())

    assert (reply.status, reply.json["errorCode"]) == (404, "FLAG_NOT_FOUND")
    assert key.startswith(reply.json["key"])


def test_a_flag_outside_the_scope_is_unknown(gate_of: GateOf) -> None:
    assert ask(gate_of(snapshot(row(), scope=["shop.*"])), "POST", ONE, context()).status == 404


def test_bulk_answers_all_that_the_key_reads(gate_of: GateOf) -> None:
    shown = snapshot(row("shop.a"), row("shop.b", percent=0), row("user"), scope=["shop.*"], epoch=5)

    reply = ask(gate_of(shown), "POST", BULK, context(targetingKey="pod-1"))

    assert [(flag["key"], flag["value"]) for flag in reply.json["flags"]] == [("shop.a", True), ("shop.b", False)]
    assert reply.json["metadata"] == {"epoch": 5}


@pytest.mark.parametrize("spelling", ["{}", "W/{}", '"x", {}', "bare", "*"])
@pytest.mark.parametrize("path", [BULK, ONE])
def test_a_post_with_a_known_etag_is_304(gate_of: GateOf, path: str, spelling: str) -> None:
    gate = gate_of()
    etag = ask(gate, "POST", path, context()).headers["ETag"]
    given = etag.strip('"') if spelling == "bare" else spelling.format(etag)

    reply = ask(gate, "POST", path, context(), HTTP_IF_NONE_MATCH=given)

    assert (reply.status, reply.body) == (304, b"")


@pytest.mark.parametrize("given", ['"x"', "", '""', "W/", ","])
def test_another_etag_is_answered_in_full(gate_of: GateOf, given: str) -> None:
    assert ask(gate_of(), "POST", BULK, context(), HTTP_IF_NONE_MATCH=given).status == 200


def test_the_etag_depends_on_the_context_where_the_answer_does(gate_of: GateOf) -> None:
    gate = gate_of(snapshot(row(percent=50, instances={"pod-1": True, "pod-2": False})))

    tags = {ask(gate, "POST", BULK, context(targetingKey=name)).headers["ETag"] for name in ("pod-1", "pod-2")}

    assert len(tags) == 2


def test_a_canary_splits_by_what_is_known_else_by_bucket(gate_of: GateOf) -> None:
    gate = gate_of(snapshot(row(percent=30, instances={"pod-1": True, "pod-2": False})))

    known = [ask(gate, "POST", ONE, context(targetingKey=name)).json["value"] for name in ("pod-1", "pod-2")]
    others = [ask(gate, "POST", ONE, context(targetingKey=f"user-{n}")).json for n in range(300)]

    assert known == [True, False]
    assert 60 < sum(one["value"] for one in others) < 120
    assert {one["reason"] for one in others} == {"SPLIT"}


@pytest.mark.parametrize("key", [None, "", True, ["a"], {}])
def test_who_gives_no_name_is_not_let_into_a_canary(gate_of: GateOf, key: Any) -> None:
    reply = ask(gate_of(snapshot(row(percent=99))), "POST", ONE, context(targetingKey=key))

    assert (reply.status, reply.json["value"], reply.json["variant"]) == (200, False, "off")


def test_a_number_is_a_name_too(gate_of: GateOf) -> None:
    gate = gate_of(snapshot(row(percent=50)))

    assert (
        ask(gate, "POST", ONE, context(targetingKey=7)).json == ask(gate, "POST", ONE, context(targetingKey="7")).json
    )


def test_a_huge_context_is_refused(gate_of: GateOf) -> None:
    reply = ask(gate_of(), "POST", ONE, context(targetingKey="x" * 70_000))

    assert (reply.status, reply.json["errorCode"]) == (413, "GENERAL")


def test_an_old_answer_says_so_in_a_header_alone(gate_of: GateOf) -> None:
    fresh = ask(gate_of(), "POST", BULK, context())
    old = ask(gate_of(is_fresh=False), "POST", BULK, context())

    assert (fresh.body, fresh.headers["ETag"]) == (old.body, old.headers["ETag"])
    assert "X-Shardwatch-Stale" in old.headers
