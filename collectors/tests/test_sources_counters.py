"""Counts by name from INFO and LATENCY HISTOGRAM: captured, odd and hostile replies."""

import pytest

from collectors.source import Reply, Standing
from collectors.sources.commandstats import Commandstats
from collectors.sources.counters import NAMES_EVER
from collectors.sources.errorstats import Errorstats
from collectors.sources.latency import LatencyHistogram
from collectors.tallies import COMMAND, ERROR, OTHER, Tally
from fleet.engines import Engine

Given = dict[str, tuple[int, int, int, int]]


def commandstats(**counts: tuple[int, int, int, int]) -> bytes:
    lines = [
        f"cmdstat_{name}:calls={calls},usec={usec},usec_per_call=1.00,rejected_calls={rejected},failed_calls={failed}"
        for name, (calls, usec, rejected, failed) in counts.items()
    ]
    return "\r\n".join(["# Commandstats", *lines, ""]).encode()


def errorstats(**counts: int) -> bytes:
    lines = b"".join(b"errorstat_%s:count=%d\r\n" % (name.encode(), count) for name, count in counts.items())
    return b"used_memory:1\r\n\r\n# Errorstats\r\n" + lines + b"\r\n# Cluster\r\ncluster_enabled:0\r\n"


def histogram(**pairs: list[Reply]) -> list[Reply]:
    reply: list[Reply] = []
    for name, bounds in pairs.items():
        reply += [name.encode(), [b"calls", bounds[-1], b"histogram_usec", bounds]]
    return reply


def second(source: Commandstats | Errorstats | LatencyHistogram, *replies: Reply) -> dict[str, dict[str, Tally]]:
    """Return what the last of these replies gives."""
    for reply in replies:
        readings = source.parse([reply])
    return readings.tallies


def test_the_first_reply_gives_nothing() -> None:
    assert Commandstats().parse([commandstats(get=(5, 50, 0, 0))]).tallies == {}
    assert Errorstats().parse([errorstats(ERR=5)]).tallies == {}
    assert LatencyHistogram().parse([histogram(get=[1, 5])]).tallies == {}


def test_it_gives_what_commands_did_since() -> None:
    found = second(
        Commandstats(),
        commandstats(get=(5, 50, 0, 0), set=(1, 1, 0, 0)),
        commandstats(get=(8, 90, 2, 1), set=(1, 1, 0, 0), **{"config|get": (1, 7, 0, 0)}),
    )

    assert found == {COMMAND: {"get": Tally(3, 40, 2, 1), "config|get": Tally(1, 7)}}


def test_it_says_that_nothing_was_called() -> None:
    assert second(Commandstats(), *[commandstats(get=(5, 50, 0, 0))] * 2) == {COMMAND: {}}
    assert second(Errorstats(), *[errorstats()] * 2) == {ERROR: {}}


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ({"get": (2, 9, 0, 0), "set": (9, 9, 0, 0)}, {"get": Tally(2, 9), "set": Tally(9, 9)}),
        ({"set": (9, 9, 0, 0)}, {"set": Tally(9, 9)}),
        ({"get": (5, 49, 0, 0), "set": (5, 5, 0, 0)}, {"get": Tally(5, 49), "set": Tally(5, 5)}),
    ],
)
def test_one_counter_that_fell_makes_all_count_from_zero(later: Given, expected: dict[str, Tally]) -> None:
    found = second(Commandstats(), commandstats(get=(5, 50, 0, 0), set=(5, 5, 0, 0)), commandstats(**later))

    assert found == {COMMAND: expected}


def test_it_forgets_on_demand() -> None:
    for source, reply in (
        (Commandstats(), commandstats(get=(1, 1, 0, 0))),
        (Errorstats(), errorstats(ERR=1)),
        (LatencyHistogram(), histogram(get=[1, 1])),
    ):
        source.parse([reply])

        source.forget()

        assert source.parse([reply]).tallies == {}


def test_it_reads_servers_before_rejections_were_counted() -> None:
    old = [b"cmdstat_get:calls=%d,usec=%d,usec_per_call=1.00" % (n, n) for n in (1, 3)]

    assert second(Commandstats(), *old) == {COMMAND: {"get": Tally(2, 2)}}


@pytest.mark.parametrize("text", [b"", b"# Commandstats\r\n", b"OK", None, []])
def test_a_server_without_these_statistics_gives_none(text: Reply) -> None:
    assert second(Commandstats(), text, text) == {}
    assert second(Errorstats(), text, text) == {}


def test_it_cleans_cuts_and_bounds_hostile_names() -> None:
    source = Commandstats()
    hostile = {f"<script>{'x' * 60}\x00{n}": (1, 1, 0, 0) for n in range(500)}
    source.parse([commandstats(get=(0, 0, 0, 0))])

    found = source.parse([commandstats(get=(0, 0, 0, 0), **hostile)]).tallies[COMMAND]

    assert all(len(name) <= 40 and name.isprintable() for name in found)
    assert sum(tally.calls for tally in found.values()) == 500
    assert found[OTHER].calls == 500 - NAMES_EVER


@pytest.mark.parametrize(
    "line",
    [
        b"cmdstat_get:calls=-1,usec=x",
        b"cmdstat_get:calls=" + b"9" * 18 + b",usec=1",
        b"cmdstat_get:calls=" + b"9" * 400,
        b"cmdstat_get",
        b"cmdstat_:,,,===",
        b"cmdstat_get:calls=\xff\xfe,usec=\xb2",
    ],
)
def test_it_gives_no_count_that_cannot_be_true(line: bytes) -> None:
    found = second(Commandstats(), b"cmdstat_set:calls=1,usec=1", b"cmdstat_set:calls=2,usec=2\r\n" + line)

    assert found[COMMAND].pop("set") == Tally(1, 1)
    assert all(tally.is_empty for tally in found[COMMAND].values())


def test_a_name_may_hold_a_colon() -> None:
    assert second(Commandstats(), b"cmdstat_a:b:calls=1,usec=1", b"cmdstat_a:b:calls=3,usec=1") == {
        COMMAND: {"a:b": Tally(2, 0)}
    }


def test_it_gives_errors_by_type() -> None:
    assert second(Errorstats(), errorstats(ERR=5, OOM=1), errorstats(ERR=5, OOM=4, MOVED=2)) == {
        ERROR: {"OOM": Tally(3), "MOVED": Tally(2)}
    }


def test_it_gives_calls_by_latency() -> None:
    found = second(LatencyHistogram(), histogram(get=[8, 1]), histogram(get=[8, 1, 16, 3, 33, 7], set=[1056, 2]))

    assert found == {COMMAND: {"get": Tally(buckets={4: 2, 5: 4}), "set": Tally(buckets={10: 2})}}


@pytest.mark.parametrize("later", [{"get": [8, 2]}, {"get": [16, 9]}, {"set": [1, 1]}])
def test_buckets_that_fell_make_all_count_from_zero(later: dict[str, list[Reply]]) -> None:
    found = second(LatencyHistogram(), histogram(get=[8, 3]), histogram(**later))

    assert sum(sum(tally.buckets.values()) for tally in found[COMMAND].values()) == next(iter(later.values()))[-1]


@pytest.mark.parametrize(
    "reply",
    [
        b"OK",
        7,
        None,
        [],
        [b"get"],
        [b"get", b"calls"],
        [b"get", [b"calls", 1, b"histogram_usec"]],
        [b"get", [b"histogram_usec", 5]],
        [b"get", [b"calls", 1, b"histogram_usec", [b"x", b"y", -1, 5, 0, 1, 1, 2**63]]],
        [7, [b"calls", 1, b"histogram_usec", [1, 1]]],
    ],
)
def test_it_survives_odd_histograms(reply: Reply) -> None:
    found = second(LatencyHistogram(), histogram(), reply)

    assert all(tally.is_empty for tally in found[COMMAND].values())


def test_it_asks_no_server_for_histograms_that_has_none() -> None:
    source = LatencyHistogram()

    assert not source.wanted(Standing(Engine.REDIS, (6, 2, 14)))
    assert source.wanted(Standing(Engine.REDIS, (7, 0, 15)))
    assert source.wanted(Standing())
