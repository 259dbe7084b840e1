"""What every operation answers to questions that make no sense: 400 and a sentence, never an error of ours."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import translation

from accounts.models import Role
from accounts.tests.cast import bearer_of
from collectors.tests.cast import cache_with_nodes
from dashboard.tests.api import ROOT, call, schema
from fleet.models import Cache
from switches.tests.cast import switch

pytestmark = pytest.mark.django_db

# No operation takes these, whatever the parameter means there.
NUMBERS = ["x", "-1", "1.5", "1e3", "9" * 40, "0x10", "²", "１ ２", "null", "%00"]
MOMENTS = ["yesterday", "nan", "inf", "1e400", "-1", "2026-13-01", "9999-12-31T23:59:59Z", "%00", "x" * 41]
WORDS = ["nonsense", "%00", "<b>", "x" * 5_000]
BAD: dict[str, list[str]] = {
    **{key: [*NUMBERS, "0"] for key in ("page", "page_size", "limit", "step")},
    **dict.fromkeys(("node", "shard"), NUMBERS),
    **dict.fromkeys(("from", "to"), MOMENTS),
    **dict.fromkeys(("by", "role", "measure", "kind", "log", "state", "sort", "format", "part"), WORDS),
    "parts": ["maybe", "%00", "2"],
    **{key: ["a%00b"] for key in ("text", "label", "command", "key_prefix", "cache", "metric")},
}
NEEDED = {"metric": "used_memory", "command": "get", "cache": "game"}


def questions() -> Iterator[tuple[str, str]]:
    """Yield each operation that reads with each of its parameters."""
    for path, found in schema()["paths"].items():
        for parameter in found.get("get", {}).get("parameters", []):
            if parameter["in"] == "query" and parameter["name"] in BAD:
                yield path, parameter["name"]


def address(path: str, name: str, value: str) -> str:
    required = [one["name"] for one in schema()["paths"][path]["get"]["parameters"] if one.get("required")]
    given = {wanted: NEEDED[wanted] for wanted in required if wanted in NEEDED} | {name: value}
    query = "&".join(f"{key}={text if text.startswith('%') else quote(text, safe='%')}" for key, text in given.items())
    return path.replace("{name}", "game").replace("_id}", "}").replace("{pk}", "1") + f"?{query}"


ASKED = [(path, name) for path, name in questions() if "{pk}" not in path and "_id}" not in path]


@pytest.mark.parametrize(("path", "name"), ASKED)
def test_a_bad_value_is_refused_with_a_sentence(path: str, name: str) -> None:
    cache_with_nodes()
    headers = bearer_of()

    answers = {value: Client().get(address(path, name, value), headers=headers) for value in BAD[name]}

    assert {value: answer.status_code for value, answer in answers.items() if answer.status_code != 400} == {}
    assert all(answer.json()["error"].strip() for answer in answers.values())


@pytest.mark.parametrize(("path", "name"), ASKED)
def test_a_refusal_repeats_nothing_that_could_drive_a_terminal(path: str, name: str) -> None:
    cache_with_nodes()

    answer = Client().get(address(path, name, "%1b[2J%e2%80%ae"), headers=bearer_of())

    assert answer.status_code in {200, 400, 404}
    assert not {"\x1b", "\u202e"} & set(answer.json().get("error", ""))


PAGED = sorted({path for path, name in ASKED if name == "page"})


def rows_of(answer: dict[str, Any]) -> list[Any]:
    lists = [value for value in answer.values() if isinstance(value, list)]
    return list(answer.get("moments", lists[0]))


def named(path: str) -> str:
    """Return the address with the names of what it is about, which is there from now on."""
    return path.replace("{name}", cache_with_nodes().name).replace("{switch_key}", switch().key)


@pytest.mark.parametrize("path", [path for path in PAGED if path.endswith(("/caches", "/fleet", "/health/polls"))])
def test_pages_neither_overlap_nor_leave_anything_out(path: str) -> None:
    Cache.objects.bulk_create(Cache(name=f"cache-{number}", address="redis://a") for number in range(5))
    headers = bearer_of()

    pages = [Client().get(f"{path}?page={page}&page_size=2", headers=headers).json() for page in (1, 2, 3)]

    names = [str(row.get("name") or row["cache"]) for page in pages for row in rows_of(page)]
    assert sorted(names) == [f"cache-{number}" for number in range(5)]
    assert [len(rows_of(page)) for page in pages] == [2, 2, 1]


@pytest.mark.parametrize("path", PAGED)
def test_beyond_the_last_page_there_is_nothing(path: str) -> None:
    answer = Client().get(f"{named(path)}?page=1000", headers=bearer_of())

    assert answer.status_code == 200
    assert rows_of(answer.json()) == []


@pytest.mark.parametrize("path", PAGED)
def test_a_page_has_an_upper_bound(path: str) -> None:
    whole = named(path)

    statuses = [
        Client().get(f"{whole}?page_size={size}", headers=bearer_of()).status_code for size in (1, 100, 100_000)
    ]

    assert statuses == [200, 200, 400]


@pytest.mark.parametrize("name", ["GAME", "game ", "ga%00me", "..", "%2e%2e%2f", "x" * 5_000, "<b>", "%F0%9F%92%A9"])
def test_there_is_no_cache_of_an_odd_name(name: str) -> None:
    cache_with_nodes()

    answer = Client().get(f"{ROOT}/caches/{name}", headers=bearer_of())

    assert answer.status_code in {400, 404}
    assert answer.json()["error"]


@pytest.mark.parametrize("body", ["", "[]", "null", "1", '"x"', "{", '{"name": "a\\u0000b"}', '{"name": NaN}', "\xff"])
@pytest.mark.parametrize("path", ["/caches", "/events", "/tokens"])
def test_a_body_that_is_no_object_is_refused_with_a_sentence(path: str, body: str) -> None:
    answer = Client().post(
        f"{ROOT}{path}", body.encode("latin-1"), content_type="application/json", headers=bearer_of(Role.ADMIN)
    )

    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize("depth", [100, 5_000])
def test_a_body_that_is_nested_deeply_does_no_harm(depth: int) -> None:
    body = '{"labels": ' + "[" * depth + "]" * depth + "}"

    answer = Client().post(f"{ROOT}/caches", body, content_type="application/json", headers=bearer_of(Role.OPERATOR))

    assert answer.status_code == 400


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_is_not_json_is_refused(kind: str) -> None:
    answer = Client().post(f"{ROOT}/tokens", b'{"name": "CI"}', content_type=kind, headers=bearer_of())

    assert (answer.status_code, "Content-Type" in answer.json()["error"]) == (415, True)


@pytest.mark.parametrize("days", [0, -1, 3_651, 10**20, 1.5, "30", True, []])
def test_a_token_cannot_end_at_an_odd_time(days: Any) -> None:
    answer = call(Role.VIEWER, "post", "/tokens", {"name": "CI", "expires_in_days": days})

    assert (answer.status_code, answer.json()["field"]) == (400, "expires_in_days")


@pytest.mark.parametrize("field", ["user", "role", "digest", "token", "is_admin"])
def test_a_field_that_is_not_there_is_named(field: str) -> None:
    answer = call(Role.VIEWER, "post", "/tokens", {"name": "CI", field: "x"})

    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_sentences_come_in_the_readers_language() -> None:
    with translation.override("en"):
        english = Client().get(f"{ROOT}/caches", headers={"Accept-Language": "en"}).json()["error"]
    japanese = Client().get(f"{ROOT}/caches", headers={"Accept-Language": "ja"}).json()["error"]

    assert english != japanese
    assert "Authorization: Bearer" in japanese
