"""What one process remembers of a node: its kind, its turns, and what a server may say of itself."""

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from collectors.capabilities import Support
from collectors.connections import Access
from collectors.sources.info import Info
from collectors.sources.latency import LatencyHistogram
from collectors.targets import NodeRow, Target, Way, version_of

TICK = 1_800_000_000
HOUR = 3_600


def target(node_id: int = 1) -> Target:
    row = NodeRow(node_id, 1, "id", "127.0.0.1", 6379, "primary", None)
    made = Target(row, Way(Access(tls=False), None), Support())
    made.learn({"redis_version": "7.2.4", "redis_mode": "standalone"})
    return made


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("7.2.4", (7, 2, 4)),
        ("255.255.255", (255, 255, 255)),
        ("8.1.0-rc1", (8, 1)),
        ("7", (7,)),
        ("", ()),
        ("unstable", ()),
        ("7.²", (7,)),
        ("٧.1", (7, 1)),
        ("9" * 5_000 + ".1", (1,)),
        ("-1.2", (2,)),
    ],
)
def test_it_reads_the_numbers_of_a_version(text: str, version: tuple[int, ...]) -> None:
    assert version_of(text) == version


@given(st.text(max_size=20), st.text(max_size=8), st.text(max_size=8))
@hypothesis_settings(max_examples=40, deadline=None)
def test_a_server_may_call_itself_anything(version: str, role: str, port: str) -> None:
    made = target()

    made.learn({"redis_version": version, "role": role, "master_host": "a", "master_port": port})

    assert made.seen() is not None


@pytest.mark.parametrize(
    ("port", "primary"),
    [("6379", ("10.0.0.1", 6379)), ("", None), ("x", None), ("²", None), ("9" * 6, None), ("-1", None)],
)
def test_a_replica_names_its_primary_by_a_port(port: str, primary: tuple[str, int] | None) -> None:
    made = target()
    made.learn({"role": "slave", "master_host": "10.0.0.1", "master_port": port})

    seen = made.seen()

    assert seen
    assert seen.primary == primary


@pytest.mark.parametrize(
    ("facts", "engine", "in_cluster"),
    [
        ({"redis_version": "7.2.4"}, "redis", False),
        ({"redis_version": "7.2.4", "valkey_version": "9.1.0"}, "valkey", False),
        ({"redis_version": "7.2.4", "server_name": "valkey"}, "valkey", False),
        ({"redis_version": "7.2.4", "cluster_enabled": "1"}, "redis", True),
        ({"redis_version": "7.2.4", "redis_mode": "cluster"}, "redis", True),
        ({"valkey_version": "9.1.0", "server_mode": "cluster", "redis_mode": ""}, "valkey", True),
    ],
)
def test_it_learns_what_kind_of_node_this_is(facts: dict[str, str], engine: str, in_cluster: bool) -> None:
    made = Target(NodeRow(1, 1, "id", "a", 1, "", None), Way(Access(tls=False), None), Support())

    made.learn(facts)

    assert (made.standing.engine, made.standing.in_cluster) == (engine, in_cluster)


def names(made: Target, tick: int) -> set[str]:
    return {source.name for source in made.due_sources(tick)}


def run_all(made: Target, tick: int) -> None:
    for source in made.due_sources(tick):
        made.ran(source, tick)


def test_a_source_rests_until_its_turn() -> None:
    made = target()
    run_all(made, TICK)

    assert names(made, TICK + 1) == {"info"}
    assert "slowlog" in names(made, TICK + HOUR)


@pytest.mark.parametrize("back", [60, HOUR, 30 * 24 * HOUR])
def test_a_clock_that_is_set_back_makes_no_source_rest_for_as_long(back: int) -> None:
    made = target()
    run_all(made, TICK)

    assert {"slowlog", "commandstats", "info_detail"} <= names(made, TICK - back)

    run_all(made, TICK - back)
    assert names(made, TICK - back + 1) == {"info"}


def test_what_was_too_long_to_read_rests_for_a_long_time(settings: Settings) -> None:
    made, histogram = target(), LatencyHistogram()
    settings.COMMAND_RECHECK_SECONDS = 6 * HOUR
    made.ran(histogram, TICK)

    made.postpone([Info(), histogram], TICK)

    assert histogram.name not in names(made, TICK + 6 * HOUR - 1)
    assert histogram.name in names(made, TICK + 6 * HOUR)
    assert "info" in names(made, TICK)


@given(st.integers(1, 10_000), st.integers(0, 100_000))
@hypothesis_settings(max_examples=25, deadline=None)
def test_the_next_turn_comes_within_one_period(node_id: int, after: int) -> None:
    made, source = target(node_id), LatencyHistogram()
    tick = TICK + after * 5

    made.ran(source, tick)

    assert 0 < made.due[source.name] - tick <= source.every()


def test_nodes_take_their_turns_apart(settings: Settings) -> None:
    settings.LATENCY_INTERVAL_SECONDS, settings.POLL_TICK_SECONDS = 60, 5
    made = [target(node_id) for node_id in range(1, 13)]

    for one in made:
        one.ran(LatencyHistogram(), TICK)

    assert len({one.due["latency_histogram"] for one in made}) == 12


def test_the_seconds_since_the_last_turn_are_told() -> None:
    made, source = target(), LatencyHistogram()

    assert [made.ran(source, tick) for tick in (TICK, TICK + 60, TICK + 60, TICK)] == [None, 60, 0, -60]


@pytest.mark.parametrize(
    ("access", "login"),
    [
        (Access(tls=False), None),
        (Access(False, password="secret"), ("AUTH", "secret")),
        (Access(False, "watch", "secret"), ("AUTH", "watch", "secret")),
        (Access(False, "watch"), ("AUTH", "watch", "")),
    ],
)
def test_it_logs_in_with_what_is_given(access: Access, login: tuple[str, ...] | None) -> None:
    assert access.login() == login


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("ERR unknown command 'hunter2'", "ERR unknown command '(hidden)'"),
        ("args: 'watch' 'hunter2' hunter2", "args: (hidden) '(hidden)' (hidden)"),
        ("ERR watch your step", "ERR watch your step"),
        ("", ""),
    ],
)
def test_a_password_that_a_server_repeats_is_hidden(words: str, shown: str) -> None:
    assert Access(False, "watch", "hunter2").redact(words) == shown


def test_an_empty_password_hides_nothing() -> None:
    assert Access(tls=False).redact("ERR a b") == "ERR a b"


def test_printing_an_access_shows_no_secret() -> None:
    shown = repr(Access(True, "watch", "hunter2", "ca", "certificate", "key-of-mine"))

    assert "hunter2" not in shown
    assert "key-of-mine" not in shown
