"""Guards: what holds a scan up, how it is said, and when it may go on."""

from collections import deque
from dataclasses import replace

import pytest
from django.utils import translation

from collectors.keyscan.guards import (
    LIMITS,
    Hold,
    HoldCause,
    Limits,
    Vitals,
    Watch,
    percentile,
    read_info,
    vitals_of,
)
from collectors.keyscan.identity import Identity
from collectors.tests.peers import captured

RUN = Identity("run", "master")
CALM = Vitals(10.0, RUN, cpu_seconds=5.0, commands=1_000, memory_ratio=0.5, clients_ratio=0.1, lag_bytes=0.0)


def watching(vitals: Vitals = CALM, **figures: float) -> Watch:
    watch = Watch(baseline=0.0002, vitals=vitals)
    for name, value in figures.items():
        setattr(watch, name, value)
    return watch


def test_it_lets_a_calm_server_be_scanned() -> None:
    assert watching(cpu_ratio=0.3, own_share=0.99).judge(Limits()) is None


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"is_loading": True}, HoldCause.LOADING),
        ({"is_link_up": False}, HoldCause.LINK_DOWN),
        ({"memory_ratio": 0.96, "evicts": False}, HoldCause.MEMORY),
        ({"lag_bytes": 33e6}, HoldCause.LAG),
        ({"clients_ratio": 0.95}, HoldCause.CLIENTS),
    ],
)
def test_it_holds_the_scan_up_by_what_info_says(changes: dict[str, float], cause: HoldCause) -> None:
    hold = watching(replace(CALM, **changes)).judge(Limits())  # type: ignore[arg-type]

    assert hold is not None
    assert hold.cause == cause


def test_it_lets_a_full_cache_that_evicts_be_scanned() -> None:
    assert watching(replace(CALM, memory_ratio=1.0, evicts=True)).judge(Limits()) is None


@pytest.mark.parametrize(("cpu", "share", "held"), [(0.4, 0.95, False), (0.6, 0.95, True), (0.6, 0.5, False)])
def test_it_minds_its_share_of_the_commands_on_a_busy_server_only(cpu: float, share: float, held: bool) -> None:
    assert (watching(cpu_ratio=cpu, own_share=share).judge(Limits()) is not None) is held


def test_it_holds_the_scan_up_when_the_main_thread_is_busy() -> None:
    hold = watching(cpu_ratio=0.9).judge(Limits())

    assert hold == Hold(HoldCause.CPU, 0.9, 0.85)


def test_it_holds_the_scan_up_when_others_wait() -> None:
    watch = watching(round_trips=deque([0.0002] * 90 + [0.004] * 10))  # type: ignore[arg-type]

    hold = watch.judge(Limits(latency_seconds=0.002))

    assert hold is not None
    assert (hold.cause, hold.value, round(hold.limit, 6)) == (HoldCause.LATENCY, 0.004, 0.0022)


def test_it_overlooks_one_late_round_trip() -> None:
    assert watching(round_trips=deque([0.0002] * 99 + [0.5])).judge(Limits()) is None  # type: ignore[arg-type]


def test_it_allows_more_where_idle_round_trips_vary() -> None:
    watch = Watch(baseline=0.01, vitals=CALM, round_trips=deque([0.025] * 20))

    assert watch.judge(Limits(latency_seconds=0.002)) is None


def test_it_goes_on_only_well_below_the_limit() -> None:
    watch = watching(cpu_ratio=0.9)
    watch.judge(Limits())

    watch.cpu_ratio = 0.8
    still = watch.judge(Limits())
    watch.cpu_ratio = 0.6

    assert still is not None
    assert watch.judge(Limits()) is None


def test_it_lets_a_fast_scan_fill_the_server() -> None:
    assert watching(cpu_ratio=1.0, own_share=1.0).judge(LIMITS["fast"]) is None


def test_it_takes_rates_from_two_infos() -> None:
    watch = Watch()
    watch.take(CALM, own_commands=100)

    watch.take(replace(CALM, at=12.0, cpu_seconds=6.0, commands=2_000), own_commands=850)

    assert (watch.cpu_ratio, watch.commands_per_second, watch.own_share) == (0.5, 500, 0.75)


def test_it_takes_no_rates_across_a_restart() -> None:
    watch = Watch()
    watch.take(CALM, 0)

    watch.take(replace(CALM, at=12.0, identity=replace(RUN, run_id="other"), cpu_seconds=0.1, commands=5), 0)

    assert (watch.cpu_ratio, watch.own_share) == (None, None)


def test_it_reads_the_vitals_of_a_real_server() -> None:
    vitals = vitals_of(read_info(captured("redis-7.0/info_primary.txt")), at=1.0)

    assert vitals.identity.role == "master"
    assert vitals.identity.run_id
    assert vitals.cpu_seconds is not None
    assert vitals.commands is not None
    assert 0 < (vitals.clients_ratio or 0) < 1


@pytest.mark.parametrize(
    ("lines", "lag"),
    [
        ("", None),
        ("connected_slaves:1\nmaster_repl_offset:500\nslave0:ip=10.0.0.1,state=online,offset=420,lag=0", 80),
        ("connected_slaves:1\nmaster_repl_offset:500\nslave0:ip=10.0.0.1,state=wait_bgsave,offset=0,lag=0", None),
        ("connected_slaves:2\nmaster_repl_offset:9\nslave0:state=online,offset=9\nslave1:state=online,offset=2", 7),
        ("connected_slaves:3\nmaster_repl_offset:9\nslave0:state=online,offset=x", None),
    ],
)
def test_it_reads_how_far_replicas_are_behind(lines: str, lag: float | None) -> None:
    assert vitals_of(read_info(lines.encode()), at=1.0).lag_bytes == lag


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"no colon", b"used_memory:abc\r\nmaxmemory:0\r\n"])
def test_it_reports_nothing_for_an_info_that_says_nothing(text: bytes) -> None:
    vitals = vitals_of(read_info(text), at=1.0)

    assert (vitals.memory_ratio, vitals.cpu_seconds, vitals.clients_ratio) == (None, None, None)


@pytest.mark.parametrize(
    ("hold", "words"),
    [
        (Hold(HoldCause.LATENCY, 0.0031, 0.002), "p99 of the round trip is 3.1 ms, guard 2.0 ms"),
        (Hold(HoldCause.CPU, 0.912, 0.85), "the server's main thread is 91% busy, guard 85%"),
        (Hold(HoldCause.LAG, 40e6, 32e6), "a replica is 40.0 MB behind, guard 32.0 MB"),
        (Hold(HoldCause.LINK_DOWN), "the replica has lost its primary"),
    ],
)
def test_it_says_what_holds_it_up(hold: Hold, words: str) -> None:
    with translation.override("en"):
        assert hold.words() == words


def test_every_cause_has_words() -> None:
    assert all(Hold(cause, 1.0, 2.0).words() for cause in HoldCause)


@pytest.mark.parametrize(
    ("values", "found"), [([], 0.0), ([1.0], 1.0), ([1.0, 5.0, 9.0], 5.0), ([1.0] * 98 + [7.0, 9.0], 7.0)]
)
def test_it_leaves_the_very_highest_out_of_the_percentile(values: list[float], found: float) -> None:
    assert percentile(deque(values)) == found
