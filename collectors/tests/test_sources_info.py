import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.metrics.hot import HOT_INDEX, HOT_NAMES
from collectors.source import Readings, Value
from collectors.sources.info import Info, InfoDetail
from collectors.tests.peers import captured

PRIMARY = captured("redis-7.0/info_primary.txt")
REPLICA = captured("redis-7.0/info_replica.txt")
VALKEY = captured("valkey-9.1/info_primary.txt")


def parse(text: bytes, source: Info | None = None) -> Readings:
    return (source or Info()).parse([text])


def hot(readings: Readings, name: str) -> Value:
    assert readings.hot is not None
    return readings.hot[HOT_INDEX[name]]


SAMPLES: dict[str, dict[str, Value]] = {
    "redis-7.0/info_primary.txt": {
        "connected_clients": 1,
        "maxclients": 10000,
        "keys": 50,
        "expires": 0,
        "keyspace_hits": 20,
        "is_primary": True,
        "connected_slaves": 1,
        "master_link_up": None,
        "pubsub_clients": None,
        "rdb_last_bgsave_ok": True,
        "master_repl_offset": 1463,
        "loading": False,
    },
    "redis-7.0/info_replica.txt": {"is_primary": False, "master_link_up": True, "master_last_io_seconds_ago": 2},
    "valkey-9.1/info_primary.txt": {"pubsub_clients": 0, "keys": 0, "is_primary": True, "maxclients": 10000},
    "valkey-9.1/info_replica.txt": {"is_primary": False, "master_link_up": True, "connected_slaves": 0},
}


@pytest.mark.parametrize("reply", SAMPLES)
def test_it_reads_what_real_servers_say(reply: str) -> None:
    readings = parse(captured(reply))

    assert {name: hot(readings, name) for name in SAMPLES[reply]} == SAMPLES[reply]


def test_it_fills_nearly_every_column_from_a_new_server() -> None:
    readings = parse(VALKEY)

    assert readings.hot is not None
    empty = {name for name, value in zip(HOT_NAMES, readings.hot, strict=True) if value is None}
    # What a replica, CLUSTER INFO and the poll itself add.
    assert empty == {
        *(name for name in HOT_NAMES if name.startswith("cluster_") and name != "cluster_connections"),
        *("master_last_io_seconds_ago", "master_link_up", "replication_lag_bytes", "replication_lag_seconds"),
        *("read_after_ms", "round_trip_seconds"),
    }


def test_it_keeps_cpu_seconds_exactly() -> None:
    readings = parse(b"used_cpu_sys:1234567.000001\r\nused_cpu_user:0.1\r\n")

    assert (hot(readings, "used_cpu_sys"), hot(readings, "used_cpu_user")) == (1234567000001, 100000)


def test_it_reads_the_same_from_moved_lines() -> None:
    source = Info()
    parse(PRIMARY, source)

    moved = parse(PRIMARY.replace(b"# Memory\r\n", b"# Memory\r\nfuture_field:1\r\n"), source)
    swapped = parse(PRIMARY.replace(b"used_memory:", b"aa:").replace(b"hz:10\r\n", b"used_memory:7\r\n", 1), source)

    assert moved.hot == parse(PRIMARY).hot
    assert hot(swapped, "used_memory") == 7


def test_it_tells_only_facts_that_changed() -> None:
    source = Info()
    first = parse(PRIMARY, source)

    same = parse(PRIMARY.replace(b"uptime_in_seconds:", b"uptime_in_seconds:9"), source)
    other = parse(PRIMARY.replace(b"maxmemory_policy:noeviction", b"maxmemory_policy:allkeys-lru"), source)

    assert first.facts["redis_version"] == "7.0.15"
    assert same.facts == {}
    assert other.facts == {"maxmemory_policy": "allkeys-lru"}


def test_it_tells_changed_facts_when_lines_move_too() -> None:
    source = Info()
    parse(PRIMARY, source)

    readings = parse(REPLICA, source)

    assert readings.facts["role"] == "slave"
    assert readings.facts["master_host"] == "127.0.0.1"
    assert "redis_version" not in readings.facts


def test_it_lists_replicas() -> None:
    lines = b"connected_slaves:2\r\nslave0:ip=10.0.0.6,port=6380,state=online,offset=90,lag=1\r\n"
    lines += b"slave1:ip=,port=6381,state=wait_bgsave,offset=x,lag=-1\r\nslave2:port=99999\r\nslave3:nonsense\r\n"

    found = parse(lines).replicas

    assert [(seen.host, seen.port, seen.offset, seen.lag_seconds) for seen in found] == [
        ("10.0.0.6", 6380, 90, 1),
        ("", 6381, None, None),
    ]


def test_it_sums_keys_over_databases() -> None:
    lines = b"# Keyspace\r\ndb0:keys=3,expires=1,avg_ttl=1000\r\ndb12:keys=4,expires=3,avg_ttl=2000,subexpiry=2\r\n"

    readings, detail = parse(lines), InfoDetail().parse([lines]).detail

    assert (hot(readings, "keys"), hot(readings, "expires")) == (7, 4)
    assert detail == {"databases": 2, "subexpiry": 2, "avg_ttl": 1750}


def test_it_knows_no_keys_where_the_keyspace_is_not_shown() -> None:
    assert hot(parse(b"used_memory:1\r\n"), "keys") is None
    assert hot(parse(b"used_memory:1\r\n# Keyspace\r\n"), "keys") == 0


ODD_NUMBERS = {
    b"used_memory:-1": None,
    b"used_memory:12.5": None,
    b"used_memory:": None,
    b"used_memory:nan": None,
    b"used_memory:" + b"9" * 5000: None,
    b"used_memory:9223372036854775807": 2**63 - 1,
    b"used_memory:9223372036854775808": None,
    b"used_memory:5\r\nused_memory:6": 5,
    b"used_memory:<b>5</b>": None,
}


@pytest.mark.parametrize("line", ODD_NUMBERS)
def test_it_takes_no_number_that_cannot_be_true(line: bytes) -> None:
    assert hot(parse(line + b"\r\n"), "used_memory") == ODD_NUMBERS[line]


def test_it_takes_no_number_beyond_its_column() -> None:
    readings = parse(
        b"connected_clients:2147483648\r\nconnected_slaves:32768\r\nmem_fragmentation_ratio:inf\r\nloading:2\r\n"
    )

    assert [hot(readings, name) for name in ("connected_clients", "connected_slaves", "mem_fragmentation_ratio")] == [
        None,
        None,
        None,
    ]
    assert hot(readings, "loading") is None


def test_it_makes_texts_printable_and_short() -> None:
    facts = parse(b"os:<script>\x00\x1b[31m\xff\r\nmaxmemory_policy:" + b"x" * 999 + b"\r\n").facts

    assert facts["os"] == "<script>  [31m\N{REPLACEMENT CHARACTER}"
    assert len(facts["maxmemory_policy"]) == 200


def test_it_reads_all_other_numbers_by_name() -> None:
    detail = InfoDetail().parse([VALKEY]).detail

    assert len(detail) > 120
    assert detail["aof_last_write_status"] == 1
    assert detail["used_memory_peak_perc"] > 0


def test_it_leaves_out_details_that_are_no_numbers() -> None:
    lines = b"hz:nan\r\nlru_clock:inf\r\naof_base_size:\r\naof_last_bgrewrite_status:err\r\n"
    lines += b"total_forks:7\r\ntotal_forks:8\r\n"

    assert InfoDetail().parse([lines]).detail == {"aof_last_bgrewrite_status": 0, "total_forks": 7}


@given(st.binary(max_size=400), st.integers(0, len(PRIMARY)))
@settings(max_examples=200, deadline=None)
def test_it_never_breaks_on_bad_input(noise: bytes, cut: int) -> None:
    source = Info()
    parse(PRIMARY, source)

    for text in (noise, PRIMARY[:cut] + noise + PRIMARY[cut:], PRIMARY[:cut]):
        assert len(parse(text, source).hot or []) == len(HOT_NAMES)
        InfoDetail().parse([text])
