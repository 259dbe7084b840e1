"""The contract of every source: whatever a server answers, parse gives readings and never raises."""

from typing import Any

import hiredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.layout import SLOT_COUNT
from collectors.metrics.hot import HOT_NAMES
from collectors.source import Readings, Source, Standing
from collectors.sources import make_sources
from collectors.tests.peers import captured

NUMBER = len(make_sources("seed", tls=False))
WORDS = [b"nodes", b"slots", b"id", b"port", b"tls-port", b"ip", b"endpoint", b"role", b"master", b"health", b"get"]
WORDS += [b"calls", b"histogram_usec", b"key-count", b"cpu-usec", b"maxclients", b"10", b"OK", b"command"]
NUMBERS = st.one_of(st.integers(-3, 20_000), st.sampled_from([2**31, 2**32, 2**62, 2**63 - 1, -(2**63)]))
LEAVES = st.one_of(st.none(), NUMBERS, st.sampled_from(WORDS), st.binary(max_size=20))
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=6), max_leaves=25)
# Nearly what servers say: a tree of any words hardly ever has the shape that a source looks into.
LIKELY = st.one_of(
    st.builds(lambda slot, count: [slot, [b"key-count", count]], NUMBERS, NUMBERS),
    st.builds(lambda entry, at, usec, word: [entry, at, usec, [b"GET", word]], NUMBERS, NUMBERS, NUMBERS, LEAVES),
    st.builds(lambda event, at, longest: [event, at, longest, longest], st.sampled_from(WORDS), NUMBERS, LEAVES),
    st.builds(lambda first, last, port: [first, last, [b"10.0.0.5", port, b"id"]], NUMBERS, NUMBERS, NUMBERS),
    st.builds(
        lambda slots, port, host: [b"slots", slots, b"nodes", [[b"id", b"a", b"ip", host, b"port", port]]],
        st.lists(NUMBERS, max_size=4),
        NUMBERS,
        LEAVES,
    ),
)
HISTOGRAM = st.builds(lambda bounds: [b"get", [b"calls", 1, b"histogram_usec", bounds]], st.lists(NUMBERS, max_size=6))
REPLIES = st.one_of(TREES, st.lists(LIKELY, max_size=4), HISTOGRAM, st.just(hiredis.ReplyError("ERR no")))
TEXTS = [captured("valkey-9.1/info_primary.txt"), captured("valkey-9.1/cluster_nodes.txt")]
TEXTS += [captured("redis-7.0/cluster_info.txt"), b"# Errorstats\r\nerrorstat_ERR:count=1\r\n", b"cmdstat_get:calls=1,"]


def source(index: int) -> Source:
    return make_sources("seed", tls=False)[index]


def is_sound(readings: Readings) -> bool:
    """Return whether what was read can be stored."""
    assert readings.hot is None or len(readings.hot) == len(HOT_NAMES)
    assert all(isinstance(number, float | int) for number in readings.detail.values())
    assert all(text.isprintable() for text in readings.facts.values())
    shards = readings.layout.shards if readings.layout else ()
    assert all(node.host and 0 < node.port < 65_536 for shard in shards for node in shard.nodes)
    assert all(0 <= first <= last < SLOT_COUNT for shard in shards for first, last in shard.slots)
    assert all(0 <= load.slot < SLOT_COUNT for load in readings.slots or ())
    assert all(call.amount >= 0 and call.command.isprintable() for call in readings.slow_calls)
    counts = [one for by_name in readings.tallies.values() for one in by_name.values()]
    return all(min(one.calls, one.usec, one.rejected, one.failed, *one.buckets.values(), 0) == 0 for one in counts)


def parse(made: Source, draw: Any) -> Readings:
    return made.parse([draw() for _ in made.commands()])


@pytest.mark.parametrize("index", range(NUMBER))
@given(st.data())
@settings(max_examples=12, deadline=None)
def test_it_reads_any_tree_of_replies(index: int, data: st.DataObject) -> None:
    made = source(index)

    for _ in range(2):
        assert is_sound(parse(made, lambda: data.draw(REPLIES)))


@pytest.mark.parametrize("index", range(NUMBER))
@given(st.sampled_from(TEXTS), st.integers(0, 6_000), st.binary(max_size=12))
@settings(max_examples=12, deadline=None)
def test_it_reads_any_text_with_noise_in_it(index: int, text: bytes, at: int, noise: bytes) -> None:
    made = source(index)
    parse(made, lambda: text)

    assert is_sound(parse(made, lambda: text[:at] + noise + text[at:]))


@pytest.mark.parametrize("index", range(NUMBER))
@pytest.mark.parametrize("digits", ["²", "9" * 5_000, "٣", "1_0", "+1", "-0", "1e9"])
def test_it_survives_texts_that_only_look_like_numbers(index: int, digits: str) -> None:
    lines = [
        "used_memory:{0}",
        "aa 10.0.0.5:{0}@1 master - 0 0 1 connected {0} 0-{0} {0}-5",
        "db0:keys={0},expires={0}",
    ]
    lines += ["slave0:ip=a,port={0},offset={0}", "cmdstat_get:calls={0},usec={0}", "# Errorstats", "# Keyspace"]
    text = "\r\n".join(lines).format(digits).encode()

    assert is_sound(parse(source(index), lambda: text))


@pytest.mark.parametrize("index", range(NUMBER))
def test_it_says_what_it_sends_and_keeps_to_it(index: int) -> None:
    made = source(index)

    commands = made.commands()

    assert commands == made.commands()
    assert all(word and word.isascii() for command in commands for word in command)
    assert made.every() >= 0
    assert type(made).__doc__


def test_sources_have_names_of_their_own() -> None:
    names = [made.name for made in make_sources("seed", tls=True)]

    assert len({*names}) == NUMBER
    assert all(names)


def test_a_node_of_another_kind_is_asked_nothing_of_redis() -> None:
    asked = [made.name for made in make_sources("seed", tls=False) if made.wanted(Standing("memcached"))]

    assert not {"info", "commandstats", "slowlog", "commandlog", "latency_events"} & {*asked}
