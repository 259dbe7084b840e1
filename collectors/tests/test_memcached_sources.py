"""What becomes of the replies of a Memcached: numbers under INFO's names, and its own."""

from typing import Any

import hiredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.memcached.rare import MemcachedConns, MemcachedSettings
from collectors.memcached.slabs import MemcachedSlabs
from collectors.memcached.sources import make_memcached_sources
from collectors.memcached.stats import MemcachedDetail, MemcachedStats
from collectors.metrics.detail import DETAIL_NAMES
from collectors.metrics.hot import HOT_INDEX, HOT_NAMES
from collectors.metrics.lookup import NAMES
from collectors.metrics.memcached import MEMCACHED_DETAIL, REPORTED
from collectors.metrics.reported import is_reported
from collectors.source import Readings, Source, Standing, Value
from collectors.tests.peers import captured
from fleet.engines import Engine

TEXTS = {name: captured(f"memcached-1.6/{name}.txt") for name in ("stats", "settings", "slabs", "items", "conns")}
NUMBER = len(make_memcached_sources())


def hot(readings: Readings, name: str) -> Value:
    assert readings.hot is not None
    return readings.hot[HOT_INDEX[name]]


def stats(text: bytes = TEXTS["stats"]) -> Readings:
    return MemcachedStats().parse([text])


def with_line(line: str) -> bytes:
    """Return the captured stats with the line of the same name replaced."""
    name = line.rsplit(" ", 1)[0].encode() + b" "
    lines = [line.encode() if one.startswith(name) else one for one in TEXTS["stats"].split(b"\r\n")]
    return b"\r\n".join(lines)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("used_memory", 3_312_873),
        ("maxmemory", 2_097_152),
        ("keys", 3_671),
        ("connected_clients", 2),
        ("maxclients", 100),
        ("total_connections_received", 3),
        ("total_net_input_bytes", 3_693_321),
        ("total_net_output_bytes", 485_274),
        ("keyspace_hits", 525),
        ("keyspace_misses", 47),
        ("evicted_keys", 328),
        ("used_cpu_user", 2_998),
        ("used_cpu_sys", 56_967),
        ("uptime_in_seconds", 3),
        ("is_primary", True),
    ],
)
def test_stats_fill_the_columns_of_info(name: str, value: Value) -> None:
    assert hot(stats(), name) == value


def test_each_request_counts_as_one_command() -> None:
    assert hot(stats(), "total_commands_processed") == 572 + 4_000 + 1 + 1


def test_refused_connections_are_counted_whatever_shut_the_door() -> None:
    text = with_line("STAT rejected_connections 5").replace(b"listen_disabled_num 0", b"listen_disabled_num 2")

    assert hot(stats(text), "rejected_connections") == 7


def test_old_servers_count_the_closings_of_the_listener_alone() -> None:
    text = TEXTS["stats"].replace(b"STAT rejected_connections 0\r\n", b"")

    assert hot(stats(text), "rejected_connections") == 0


def test_what_memcached_does_not_report_stays_unknown() -> None:
    reported = stats()

    assert [name for name in HOT_NAMES if hot(reported, name) is not None and name not in REPORTED] == []
    assert hot(reported, "connected_slaves") is None
    assert hot(reported, "expires") is None


def test_it_tells_the_version_once() -> None:
    source = MemcachedStats()

    assert source.parse([TEXTS["stats"]]).facts == {"memcached_version": "1.6.18", "process_id": "22729"}
    assert source.parse([TEXTS["stats"]]).facts == {}


def test_another_process_is_news() -> None:
    source = MemcachedStats()
    source.parse([TEXTS["stats"]])

    assert source.parse([with_line("STAT pid 7")]).facts == {"process_id": "7"}


@pytest.mark.parametrize(
    "line", ["STAT bytes -1", "STAT bytes x", "STAT bytes 99999999999999999999", "STAT bytes", "STAT bytes 1 2"]
)
def test_a_number_that_is_none_is_not_known(line: str) -> None:
    text = TEXTS["stats"].replace(b"STAT bytes 3312873", line.encode())

    assert hot(stats(text), "used_memory") is None
    assert hot(stats(text), "keys") == 3_671


def test_a_sum_that_no_column_holds_is_not_known() -> None:
    text = with_line(f"STAT cmd_get {2**63 - 1}")

    assert hot(stats(text), "total_commands_processed") is None


def test_fields_may_come_in_another_order() -> None:
    source = MemcachedStats()
    source.parse([TEXTS["stats"]])

    turned = source.parse([b"\r\n".join(reversed(TEXTS["stats"].split(b"\r\n")))])

    assert hot(turned, "used_memory") == 3_312_873


def test_of_repeated_fields_the_first_counts() -> None:
    assert hot(stats(TEXTS["stats"] + b"STAT bytes 1\r\n"), "used_memory") == 3_312_873


def test_a_reply_without_numbers_is_no_primary() -> None:
    assert hot(stats(b""), "is_primary") is None


def test_all_other_numbers_are_kept_by_their_own_names() -> None:
    detail = MemcachedDetail().parse([TEXTS["stats"]]).detail

    assert detail["threads"] == 4
    assert detail["evicted_unfetched"] == 328
    assert detail["direct_reclaims"] == 328
    assert detail["accepting_conns"] == 1
    assert set(detail) <= set(DETAIL_NAMES)


def at(cpu: str, uptime: int, threads: int = 4) -> bytes:
    text = f"STAT rusage_user {cpu}\r\nSTAT rusage_system 0.5\r\nSTAT uptime {uptime}\r\nSTAT threads {threads}\r\n"
    return text.encode()


@pytest.mark.parametrize(
    ("first", "second", "busy"),
    [
        (at("10.0", 100), at("1090.0", 400), 0.9),
        (at("10.0", 100), at("10.0", 400), 0.0),
        (at("10.0", 400), at("1.0", 20), None),
        (at("10.0", 100), at("20.0", 400, threads=0), None),
        (at("10.0", 100), b"STAT uptime 400\r\nSTAT threads 4\r\n", None),
        (at("x", 100), at("20.0", 400), None),
    ],
)
def test_it_tells_how_busy_all_threads_were(first: bytes, second: bytes, busy: float | None) -> None:
    source = MemcachedDetail()
    source.parse([first])

    assert source.parse([second]).detail.get("threads_busy_ratio") == busy


def test_settings_tell_limits_and_what_a_full_server_does() -> None:
    readings = MemcachedSettings().parse([TEXTS["settings"]])

    assert hot(readings, "maxclients") == 100
    assert readings.facts == {"maxmemory_policy": "allkeys-lru"}
    assert readings.detail["item_size_max"] == 1_048_576


def test_a_server_that_may_not_evict_refuses_writes() -> None:
    text = TEXTS["settings"].replace(b"STAT evictions on", b"STAT evictions off")

    assert MemcachedSettings().parse([text]).facts == {"maxmemory_policy": "noeviction"}


def test_a_policy_is_told_when_it_changes() -> None:
    source = MemcachedSettings()
    source.parse([TEXTS["settings"]])

    assert source.parse([TEXTS["settings"]]).facts == {}


def test_slabs_are_rolled_up() -> None:
    detail = MemcachedSlabs().parse([TEXTS["slabs"], TEXTS["items"]]).detail

    assert detail["active_slabs"] == 5
    assert detail["total_malloced"] == 5_242_880
    assert 0 < detail["slabs_mem_requested"] < detail["slabs_used_bytes"] <= detail["total_malloced"]
    assert detail["items_outofmemory"] == 0


def test_the_worst_class_is_the_one_that_evicts_most() -> None:
    items = (
        b"STAT items:3:number 5\r\nSTAT items:3:age 90\r\nSTAT items:3:evicted 7\r\nSTAT items:3:evicted_time 30\r\n"
    )
    items += b"STAT items:9:number 5\r\nSTAT items:9:age 4000\r\nSTAT items:9:evicted 2\r\n"
    items += b"STAT items:9:evicted_time 600\r\n"
    slabs = b"STAT 3:chunk_size 152\r\nSTAT 3:used_chunks 10\r\nSTAT 9:chunk_size 600\r\nSTAT active_slabs 2\r\n"

    detail = MemcachedSlabs().parse([slabs, items]).detail

    assert (detail["worst_slab_evicted"], detail["worst_slab_chunk_size"]) == (7, 152)
    assert (detail["items_age"], detail["items_age_worst_slab"]) == (4_000, 90)
    assert detail["items_evicted_time"] == 30
    assert detail["slabs_used_bytes"] == 1_520


def test_older_servers_tell_what_items_need_with_the_slabs() -> None:
    slabs = b"STAT 1:chunk_size 96\r\nSTAT 1:used_chunks 2\r\nSTAT 1:mem_requested 150\r\n"

    assert MemcachedSlabs().parse([slabs, b""]).detail["slabs_mem_requested"] == 150


def test_an_empty_server_has_no_classes() -> None:
    detail = MemcachedSlabs().parse([b"STAT active_slabs 0\r\nSTAT total_malloced 0\r\n", b""]).detail

    assert detail == {"active_slabs": 0, "total_malloced": 0}


def test_connections_are_counted_by_their_idleness() -> None:
    text = TEXTS["conns"].replace(b"24:secs_since_last_cmd 1", b"24:secs_since_last_cmd 900")

    assert MemcachedConns().parse([text]).detail == {"conns_idle": 1, "conns_longest_idle": 900}


def test_a_listener_is_no_client() -> None:
    text = TEXTS["conns"].replace(b"22:secs_since_last_cmd 1", b"22:secs_since_last_cmd 99999")

    assert MemcachedConns().parse([text]).detail["conns_longest_idle"] == 1


def is_sound(readings: Readings) -> bool:
    assert readings.hot is None or len(readings.hot) == len(HOT_NAMES)
    assert all(isinstance(number, float) for number in readings.detail.values())
    return all(text.isprintable() for text in readings.facts.values())


def parse(source: Source, reply: Any) -> Readings:
    return source.parse([reply for _ in source.commands()])


@pytest.mark.parametrize("index", range(NUMBER))
@given(st.sampled_from(list(TEXTS.values())), st.integers(0, 4_000), st.binary(max_size=16))
@settings(max_examples=25, deadline=None)
def test_no_noise_breaks_a_source(index: int, text: bytes, at: int, noise: bytes) -> None:
    source = make_memcached_sources()[index]
    parse(source, text)

    assert is_sound(parse(source, text[:at] + noise + text[at:]))


@pytest.mark.parametrize("index", range(NUMBER))
@pytest.mark.parametrize(
    "reply", [None, 7, [], [b"STAT"], hiredis.ReplyError("ERROR"), b"STAT", b"STAT a", b"\xff" * 9]
)
def test_no_kind_of_reply_breaks_a_source(index: int, reply: object) -> None:
    assert is_sound(parse(make_memcached_sources()[index], reply))


@pytest.mark.parametrize("index", range(NUMBER))
@pytest.mark.parametrize("digits", ["\u00b2", "9" * 5_000, "\u0663", "1_0", "nan", "inf", "1e999"])
def test_what_only_looks_like_a_number_is_left_out(index: int, digits: str) -> None:
    names = ["bytes", "threads", "maxconns", "item_size_max", "1:chunk_size", "items:1:age", "9:secs_since_last_cmd"]
    text = "".join(f"STAT {name} {digits}\r\n" for name in names).encode()

    assert is_sound(parse(make_memcached_sources()[index], text))


def test_sources_have_names_of_their_own_and_want_memcached() -> None:
    sources = make_memcached_sources()

    assert len({source.name for source in sources}) == NUMBER
    assert all(source.wanted(Standing(Engine.MEMCACHED)) for source in sources)
    assert not any(source.wanted(Standing(Engine.VALKEY)) for source in sources)


def test_the_catalogue_knows_what_memcached_reports() -> None:
    assert set(NAMES) >= REPORTED
    assert all(is_reported(metric.name, Engine.MEMCACHED) for metric in MEMCACHED_DETAIL)
    assert is_reported("used_memory", Engine.MEMCACHED)
    assert not is_reported("connected_slaves", Engine.MEMCACHED)


def test_other_servers_report_nothing_of_slabs() -> None:
    assert not is_reported("active_slabs", Engine.VALKEY)
    assert is_reported("connected_slaves", Engine.UNKNOWN)
