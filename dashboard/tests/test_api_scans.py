"""Scans of keys over the API: starting, steering, reading, comparing, exporting."""

import csv
import io
import json
from base64 import b64decode
from typing import Any

import pytest
from django.test import Client
from kombu.exceptions import OperationalError
from pytest_django.fixtures import Settings

from accounts.models import AuditEntry, Role
from accounts.tests.cast import bearer_of
from collectors import tasks
from collectors.keyscan.details import Detail
from collectors.keyscan.models import Scan, ScanState
from dashboard.tests.api import ROOT, call
from dashboard.tests.scan_cast import HOSTILE, running, scanned_cache, stored, usual_keys
from fleet.models import Cache

pytestmark = pytest.mark.django_db


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr(tasks.run_scan, "apply_async", lambda *_given, **_options: None)
    return scanned_cache()


def export(scan: Scan, query: str, role: str = Role.VIEWER) -> str:
    answer = Client().get(f"{ROOT}/scans/{scan.pk}/export?{query}", headers=bearer_of(role))
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def test_an_operator_starts_a_scan(cache: Cache) -> None:
    answer = call(Role.OPERATOR, "post", "/scans", {"cache": "game", "brake": "brisk", "top": 250, "shards": [1, 1]})

    assert answer.status_code == 201
    scan = Scan.objects.get()
    assert answer.json()["id"] == scan.pk
    assert (scan.brake, scan.asked.top, scan.asked.shards) == ("brisk", 250, (1,))
    assert AuditEntry.objects.filter(action="scan.start", target="game").exists()


def test_a_viewer_starts_nothing_but_may_look(cache: Cache) -> None:
    scan = running(cache)

    assert call(Role.VIEWER, "post", "/scans", {"cache": "game"}).status_code == 403
    assert call(Role.VIEWER, "post", f"/scans/{scan.pk}/cancel").status_code == 403
    assert call(Role.VIEWER, "get", f"/scans/{scan.pk}").status_code == 200
    assert call("", "get", "/scans").status_code == 401


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"cache": "game", "top": 0}, "top"),
        ({"cache": "game", "top": 10_001}, "top"),
        ({"cache": "game", "brake": "warp"}, "brake"),
        ({"cache": "game", "fields": ["value"]}, "fields.0"),
        ({"cache": "game", "type": "a b"}, "type"),
        ({"cache": "game", "match": "x" * 501}, "match"),
        ({"cache": "game", "samples": 0}, "samples"),
        ({"cache": "game", "surprise": 1}, "surprise"),
        ({}, "cache"),
    ],
)
def test_it_says_which_field_is_wrong(cache: Cache, given: dict[str, Any], field: str) -> None:
    answer = call(Role.OPERATOR, "post", "/scans", given)

    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_it_refuses_what_cannot_be_started_now(cache: Cache) -> None:
    scan = running(cache)

    answer = call(Role.OPERATOR, "post", "/scans", {"cache": "game"})
    other = call(Role.OPERATOR, "post", "/scans", {"cache": "game", "shards": [7]})

    assert (answer.status_code, f"by scan {scan.pk}" in answer.json()["error"]) == (409, True)
    assert other.json()["error"] == "The cache has no shard 7."
    assert call(Role.OPERATOR, "post", "/scans", {"cache": "none"}).status_code == 404


def test_it_starts_without_a_broker(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_given: Any, **_options: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(tasks.run_scan, "apply_async", away)

    assert call(Role.OPERATOR, "post", "/scans", {"cache": "game"}).status_code == 201


def test_it_previews_a_scan(cache: Cache) -> None:
    answer = call(Role.VIEWER, "post", "/scans/preview", {"cache": "game", "brake": "fast", "fields": ["ttl"]}).json()

    assert (answer["keys"], answer["nodes"][0]["is_replica"]) == (1_000, True)
    assert answer["nodes"][0]["seconds"] == pytest.approx(1_000 / 400_000 * 2.5)
    assert answer["seconds"] == 1.0
    assert len(answer["notes"]) == 1


def test_it_lists_scans_by_cache_and_state(cache: Cache) -> None:
    done, open_scan = stored(cache, usual_keys()), running(scanned_cache(name="other"))

    def listed(query: str) -> list[int]:
        return [scan["id"] for scan in call(Role.VIEWER, "get", f"/scans{query}").json()["scans"]]

    assert listed("") == [open_scan.pk, done.pk]
    assert listed("?cache=game") == listed("?state=done") == [done.pk]
    assert listed("?state=open") == [open_scan.pk]
    assert listed("?page=9") == []
    assert call(Role.VIEWER, "get", "/scans?cache=none").status_code == 404
    assert call(Role.VIEWER, "get", "/scans?state=nonsense").status_code == 400


def test_it_tells_how_far_a_scan_is(cache: Cache) -> None:
    answer = call(Role.VIEWER, "get", f"/scans/{running(cache).pk}").json()

    assert (answer["ratio"], answer["seconds_left"], answer["keys_per_second"]) == (0.5, 12.0, 40_000.0)
    assert (answer["shards"][0]["words"], answer["shards"][0]["progress"]["cpu_ratio"]) == ("walking", 0.4)
    assert answer["summary"] == {}


def test_it_tells_what_a_scan_found(cache: Cache) -> None:
    answer = call(Role.VIEWER, "get", f"/scans/{stored(cache, usual_keys()).pk}").json()

    assert (answer["keys"], answer["state"], answer["ratio"]) == (701, "done", 1.0)
    assert any("never expire" in finding["sentence"] and finding["step"] for finding in answer["findings"])
    assert {row["type"] for row in answer["summary"]["types"]} == {"string", "hash", "zset"}


@pytest.mark.parametrize(
    ("what", "before", "after"),
    [("pause", "running", "paused"), ("resume", "paused", "running"), ("cancel", "paused", "stopping")],
)
def test_an_operator_steers_a_scan(cache: Cache, what: str, before: str, after: str) -> None:
    scan = running(cache, before)

    first, second = (call(Role.OPERATOR, "post", f"/scans/{scan.pk}/{what}") for _ in range(2))

    assert (first.status_code, first.json()["state"], second.status_code) == (200, after, 409)


def test_an_operator_sets_the_speed(cache: Cache) -> None:
    scan = running(cache)

    answer = call(Role.OPERATOR, "post", f"/scans/{scan.pk}/brake", {"brake": "fast"})

    assert answer.json()["brake"] == "fast"
    assert call(Role.OPERATOR, "post", f"/scans/{scan.pk}/brake", {"brake": "warp"}).status_code == 400
    Scan.objects.update(state=ScanState.DONE)
    assert call(Role.OPERATOR, "post", f"/scans/{scan.pk}/brake", {"brake": "fast"}).status_code == 409


def test_it_lists_keys_in_pages(cache: Cache) -> None:
    scan = stored(cache, usual_keys())

    keys = call(Role.VIEWER, "get", f"/scans/{scan.pk}/keys?page_size=2").json()["keys"]
    second = call(Role.VIEWER, "get", f"/scans/{scan.pk}/keys?page_size=2&page=2").json()["keys"]
    zsets = call(Role.VIEWER, "get", f"/scans/{scan.pk}/keys?type=zset").json()["keys"]

    assert [key["key"] for key in zsets] == ["feed:all"]
    assert (keys[0]["key"], keys[0]["bytes"], keys[0]["expires"]) == ("feed:all", 40_000_000, False)
    assert not {key["id"] for key in keys} & {key["id"] for key in second}


def test_it_lists_prefixes_whose_sums_add_up(cache: Cache) -> None:
    scan = stored(cache, usual_keys())

    top = call(Role.VIEWER, "get", f"/scans/{scan.pk}/prefixes").json()
    users = next(row for row in top["prefixes"] if row["prefix"] == "user_cache:")
    below = call(Role.VIEWER, "get", f"/scans/{scan.pk}/prefixes?parent={users['id']}").json()

    assert sum(row["bytes"] for row in top["prefixes"]) == top["whole"]["bytes"] == scan.bytes
    assert below["whole"]["id"] == users["id"]
    assert [(row["prefix"], row["without_ttl_ratio"]) for row in below["prefixes"]] == [("user_cache:*", 1.0)]


def test_it_compares_with_an_earlier_scan(cache: Cache) -> None:
    before, after = stored(cache, usual_keys(), days=1), stored(cache, usual_keys(factor=2))
    stranger = stored(scanned_cache(name="other"), usual_keys())

    answer = call(Role.VIEWER, "get", f"/scans/{after.pk}/compare?before={before.pk}").json()

    assert answer["bytes_per_day"] == pytest.approx(1_200_000, rel=0.01)
    assert answer["prefixes"][0]["change"] == "grown"
    assert call(Role.VIEWER, "get", f"/scans/{after.pk}/compare?before={stranger.pk}").status_code == 404


def test_scans_within_an_hour_tell_no_growth_a_day(cache: Cache) -> None:
    before, after = stored(cache, usual_keys(), days=0.03), stored(cache, usual_keys(factor=2))

    answer = call(Role.VIEWER, "get", f"/scans/{after.pk}/compare?before={before.pk}").json()

    assert answer["bytes_per_day"] is None


def test_it_exports_csv_that_no_spreadsheet_runs(cache: Cache) -> None:
    scan = stored(cache, [Detail(name, 10 + number, "string") for number, name in enumerate(HOSTILE)])

    rows = list(csv.DictReader(io.StringIO(export(scan, "format=csv"))))

    assert len(rows) == len(HOSTILE)
    assert {len(row) for row in rows} == {16}
    assert not any(row["key"].startswith(("=", "+", "@")) for row in rows)
    assert {b64decode(row["key_base64"]) for row in rows} >= set(HOSTILE) - {b"x" * 600_000}


def test_it_exports_lines_and_one_object(cache: Cache) -> None:
    scan = stored(cache, usual_keys())

    lines = [json.loads(line) for line in export(scan, "format=ndjson&part=prefixes").splitlines()]
    whole = json.loads(export(scan, "format=json"))

    assert lines[0]["bytes"] == scan.bytes
    assert (whole["id"], len(whole["prefixes"])) == (scan.pk, len(lines))
    assert whole["keys"][0]["key"] == "feed:all"


def test_it_exports_a_scan_that_found_nothing(cache: Cache) -> None:
    scan = stored(cache, [])

    assert export(scan, "format=csv") == ""
    assert json.loads(export(scan, "format=json"))["keys"] == []


def test_exports_hide_ids_from_viewers_where_that_is_the_rule(cache: Cache, settings: Settings) -> None:
    settings.MASK_KEY_NAMES = True
    scan = stored(cache, [Detail(b"user:alice", 500, "string")])

    seen = [export(scan, query) for query in ("format=csv", "format=json", "format=ndjson&part=prefixes")]

    assert not any("alice" in text or "YWxpY2" in text for text in seen)
    assert "alice" in export(scan, "format=csv", Role.OPERATOR)


@pytest.mark.parametrize(
    "path", ["/scans/1", "/scans/1/keys", "/scans/1/prefixes", "/scans/1/compare?before=1", "/scans/1/export"]
)
def test_unknown_scans_are_not_found(path: str) -> None:
    assert call(Role.VIEWER, "get", path).status_code == 404


@pytest.mark.parametrize("query", ["format=xml", "part=values"])
def test_unknown_formats_are_refused(cache: Cache, query: str) -> None:
    assert call(Role.VIEWER, "get", f"/scans/{stored(cache, []).pk}/export?{query}").status_code == 400
