"""Numbers out of a server's text: exact, bounded, and none where there is none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.metrics.catalogue import Column, Metric
from collectors.metrics.hot import HOT, HOT_INDEX
from collectors.source import Value, empty_row
from collectors.sources import fields
from collectors.sources.fields import Field, FieldReader
from collectors.sources.info import keyspace, parts, replicas


@pytest.mark.parametrize(
    ("text", "usec"),
    [
        (b"0.000000", 0),
        (b"0.000001", 1),
        (b"1.5", 1_500_000),
        (b"12", 12_000_000),
        (b"1234567890.123456", 1_234_567_890_123_456),
        (b"9223372036854.775807", 2**63 - 1),
        (b"9223372036854.775808", None),
        (b"-0.000001", None),
        (b"1.0000001", 1_000_000),
    ],
)
def test_cpu_time_is_kept_to_the_microsecond(text: bytes, usec: int | None) -> None:
    assert fields.microseconds(text) == usec


@given(st.integers(0, 2**63 - 1))
@settings(max_examples=40, deadline=None)
def test_no_microsecond_is_lost(usec: int) -> None:
    assert fields.microseconds(b"%d.%06d" % divmod(usec, 1_000_000)) == usec


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1.07", 1.07),
        (b"0", 0),
        (b"-0.1", None),
        (b"nan", None),
        (b"inf", None),
        (b"3.5e38", None),
        (b"3.4e38", 3.4e38),
    ],
)
def test_a_ratio_fits_into_four_bytes(text: bytes, value: float | None) -> None:
    assert fields.ratio(text) == value


@pytest.mark.parametrize(("text", "value"), [(b"1", True), (b"0", False), (b"2", None), (b"", None), (b"yes", None)])
def test_a_claim_is_one_or_zero(text: bytes, value: Value) -> None:
    assert fields.claim(text) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [(b"5", 5), (b"-2.5", -2.5), (b"1e3", 1000), (b"", None), (b"x", None), (b"nan", None), (b"-inf", None)],
)
def test_a_plain_number_is_finite(text: bytes, value: float | None) -> None:
    assert fields.plain_number(text) == value


@pytest.mark.parametrize("metric", HOT, ids=lambda metric: metric.name)
def test_every_hot_metric_refuses_what_its_column_cannot_hold(metric: Metric) -> None:
    index = HOT.index(metric)
    reader = FieldReader({b"x": fields.field_of(index, HOT[index])})
    row = empty_row()

    reader.fill([b"x:99999999999999999999999999999999999999999"], row)

    assert row[index] is None


@pytest.mark.parametrize(("column", "top"), [(Column.INT8, 2**63 - 1), (Column.INT4, 2**31 - 1), (Column.INT2, 32_767)])
def test_the_largest_value_of_a_column_is_kept(column: Column, top: int) -> None:
    reader, row = FieldReader({b"x": Field(0, fields.TOPS[column])}), empty_row()

    reader.fill([b"x:%d" % top], row)

    assert row[0] == top


def test_zero_is_a_value_and_not_none() -> None:
    reader, row = FieldReader({b"x": Field(0, 10), b"y": Field(1, 10)}), empty_row()

    reader.fill([b"x:0"], row)

    assert row[:2] == [0, None]


@given(st.permutations([b"a:1", b"b:2", b"c:3", b"other:9", b"# heading", b""]))
@settings(max_examples=30, deadline=None)
def test_lines_may_stand_in_any_order(lines: list[bytes]) -> None:
    reader = FieldReader({b"a": Field(0, 9), b"b": Field(1, 9), b"c": Field(2, 9)})
    reader.fill([b"a:7", b"b:7", b"c:7", b"", b"", b""], empty_row())
    row = empty_row()

    reader.fill(lines, row)

    assert row[:3] == [1, 2, 3]


def test_a_line_that_vanished_leaves_nothing_of_the_reply_before() -> None:
    reader = FieldReader({b"a": Field(0, 9), b"b": Field(1, 9)})
    reader.fill([b"a:1", b"b:2"], empty_row())
    row = empty_row()

    reader.fill([b"a:1", b"z:2"], row)

    assert row[:2] == [1, None]


def test_a_name_that_begins_another_is_not_taken_for_it() -> None:
    reader, row = FieldReader({b"used": Field(0, 99)}), empty_row()

    reader.fill([b"used_memory:7", b"used:8"], row)

    assert row[0] == 8


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        (b"db0:keys=5,expires=1", {b"keys": 5, b"expires": 1}),
        (b"db0:keys=,expires", {}),
        (b"db0", {}),
        (b"db0:keys=-1,expires=1.5", {}),
        (b"db0:keys=" + b"9" * 18, {b"keys": 10**18 - 1}),
        (b"db0:keys=" + b"9" * 19, {}),
        (b"db0:a=1=2,b=3", {b"b": 3}),
    ],
)
def test_it_reads_whole_numbers_by_name(line: bytes, numbers: dict[bytes, int]) -> None:
    assert parts(line) == numbers


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], (None, None)),
        ([b"db0:keys=1"], (None, None)),
        ([b"# Keyspace"], (0, 0)),
        ([b"# Keyspace", b"db0:keys=1,expires=1", b"", b"db1:keys=7"], (1, 1)),
        ([b"# Keyspace", b"db0:keys=9", b"# Keyspace", b"db0:keys=2"], (2, 0)),
    ],
)
def test_keys_are_counted_under_the_last_heading(lines: list[bytes], expected: tuple[int | None, int | None]) -> None:
    assert keyspace(lines) == expected


REPLICA = b"\r\nslave%d:ip=%b,port=%d,state=online,offset=5,lag=0"


def test_replicas_are_read_in_order_and_ipv6_too() -> None:
    text = b"".join(REPLICA % (n, host, 6379 + n) for n, host in enumerate([b"10.0.0.1", b"fd00::1", b"c.example"]))

    assert [seen.host for seen in replicas(text + b"\r\n")] == ["10.0.0.1", "fd00::1", "c.example"]


def test_a_replica_list_that_is_cut_off_loses_its_last_line_only() -> None:
    text = REPLICA % (0, b"a", 1) + REPLICA % (1, b"b", 2)

    assert [seen.host for seen in replicas(text)] == ["a"]


def test_an_endless_line_of_a_replica_is_not_read() -> None:
    assert replicas(b"\nslave0:ip=" + b"x" * 1_000_000 + b",port=1\n") == []


def test_a_lag_of_zero_is_known_and_a_missing_one_is_not() -> None:
    told, silent = replicas(REPLICA % (0, b"a", 1) + b"\r\nslave1:ip=b,port=2,state=online\r\n")

    assert (told.lag_seconds, silent.lag_seconds, silent.offset) == (0, None, None)


def test_slaves_of_other_lines_are_no_replicas() -> None:
    assert replicas(b"\nslave_read_only:1\nslave_priority:100\n") == []


def test_hot_columns_have_a_place_each() -> None:
    assert sorted(HOT_INDEX.values()) == list(range(len(HOT)))
