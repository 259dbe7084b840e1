"""How the API reads bodies, writes answers and names what is wrong."""

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import RequestFactory
from ninja.errors import HttpError

from collectors.series import RangeError
from dashboard.api.answers import COMPRESS_FROM_BYTES, StrictParser, compressed_json, problems, refusal, refuse_nul
from dashboard.api.series import SeriesQuery, moment


@pytest.mark.parametrize(
    "value", ["\0", "a\0b", ["\0"], {"a": "\0"}, {"\0": "a"}, {"a": [{"b": ["c\0"]}]}, ["a", ["b", {"c": "\0"}]]]
)
def test_it_finds_a_nul_wherever_it_hides(value: Any) -> None:
    with pytest.raises(HttpError, match="NUL"):
        refuse_nul(value)


@pytest.mark.parametrize("value", ["", "a", 0, None, True, 1.5, [], {}, {"a": ["\\0", "\u2400"]}])
def test_it_lets_everything_else_pass(value: Any) -> None:
    refuse_nul(value)


@pytest.mark.parametrize(
    ("body", "words"), [(b" ", "valid JSON"), (b"[]", "object"), (b"1", "object"), (b"{", "valid")]
)
def test_it_says_what_a_body_must_be(body: bytes, words: str) -> None:
    request = RequestFactory().post("/", body, content_type="application/json")

    with pytest.raises(HttpError, match=words) as refused:
        StrictParser().parse_body(request)

    assert refused.value.status_code == 400


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON"])
def test_it_takes_json_however_it_is_announced(kind: str) -> None:
    request = RequestFactory().post("/", b'{"a": 1}', content_type=kind)

    assert StrictParser().parse_body(request) == {"a": 1}


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (ValidationError("No."), {"error": "No."}),
        (ValidationError(["No.", "Never."]), {"error": "No."}),
        (ValidationError({"name": ["No."]}), {"error": "No.", "field": "name"}),
        (ValidationError({"__all__": ["No."]}), {"error": "No."}),
        (ValidationError("%(what)s", params={"what": "100%"}), {"error": "100%"}),
    ],
)
def test_a_refusal_is_one_sentence_and_its_field(error: ValidationError, answer: dict[str, str]) -> None:
    assert refusal(error) == answer


@pytest.mark.parametrize(
    ("length", "accepts", "is_packed"),
    [
        (COMPRESS_FROM_BYTES - 3, "gzip", False),
        (COMPRESS_FROM_BYTES - 2, "gzip", True),
        (9_000, "gzip, br", True),
        (9_000, "br", False),
        (9_000, "", False),
    ],
)
def test_it_compresses_what_is_long_for_those_who_read_it(length: int, accepts: str, is_packed: bool) -> None:
    answer = compressed_json(RequestFactory().get("/", headers={"Accept-Encoding": accepts}), "x" * length)

    content = gzip.decompress(answer.content) if is_packed else answer.content
    assert ("Content-Encoding" in answer) == is_packed
    assert answer["Vary"] == "Accept-Encoding"
    assert json.loads(content) == "x" * length


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_what_is_not_known_is_null(value: float | None) -> None:
    answer = compressed_json(RequestFactory().get("/"), {"value": value})

    assert answer.content == b'{"value":null}'


def test_every_operation_documents_how_it_refuses() -> None:
    assert {*problems()} == {400, 401, 403}
    assert {*problems(404, 409)} == {400, 401, 403, 404, 409}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1767225600", datetime(2026, 1, 1, tzinfo=UTC)),
        ("1767225600.5", datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T09:00:00+09:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("946684800", datetime(2000, 1, 1, tzinfo=UTC)),
        ("2100-01-01", datetime(2100, 1, 1, tzinfo=UTC)),
    ],
)
def test_it_reads_times_as_people_and_programs_write_them(text: str, expected: datetime) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize("text", ["946684799", "2100-01-01T00:00:01Z", "1999-12-31", "-1", "4102444801"])
def test_times_lie_between_the_years_2000_and_2100(text: str) -> None:
    with pytest.raises(RangeError, match="2000 and 2100"):
        moment(text)


@pytest.mark.parametrize("text", ["now", "nan", "inf", "2026-02-30", "2026-01-01T25:00", "12:00", "١", " "])
def test_what_is_no_time_is_named(text: str) -> None:
    with pytest.raises(RangeError):
        moment(text)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["a"], ["a"]),
        (["a,b", "c"], ["a", "b", "c"]),
        (["a, b ,,a"], ["a", "b"]),
        (["b", "a", "b"], ["b", "a"]),
    ],
)
def test_metrics_are_named_once_in_their_order(given: list[str], names: list[str]) -> None:
    assert SeriesQuery.model_validate({"metric": given}).names() == names


@pytest.mark.parametrize("given", [[","], [" , "], [",".join(f"m{number}" for number in range(21))]])
def test_none_and_too_many_metrics_are_refused(given: list[str]) -> None:
    with pytest.raises(RangeError, match="1 to 20"):
        SeriesQuery.model_validate({"metric": given}).names()
