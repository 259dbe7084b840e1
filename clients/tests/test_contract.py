"""The contract of a switch in an application, the same for each client that we ship."""

import threading
import time
from itertools import pairwise
from typing import Any

import pytest

from alerts.tests.peers import Exchange, Service, closed_port, closes, closes_within, drips, floods, hangs, says
from clients.tests.cast import EVER, KEY, NEXT, START, Client, ScriptedShardwatch, answers, row
from clients.tests.conftest import Starts
from launcher.waiting import until

OFF = answers(can_use=False, percent=0, revision=2)


def test_it_asks_for_its_switches_with_its_key_and_name(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    start().can_use(START)

    asked = shardwatch.polls[0]
    assert asked.path == f"/api/v1/switches?keys={KEY}&instance=web1"
    assert asked.headers["x-api-key"] == "swc_key"


def test_it_asks_once_until_the_answer_is_due(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()

    assert all(client.can_use(START + second) for second in (0, 1, 2, 3.9))

    assert len(shardwatch.polls) == 1


def test_it_follows_a_change_when_it_is_due(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    shardwatch.then(answers(), OFF, answers(revision=3))

    assert [client.can_use(START + NEXT * turn) for turn in range(3)] == [True, False, True]


def test_it_asks_for_all_its_caches_at_once(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    both = [row(), row(key="sessions", can_use=False)]
    shardwatch.then(says(200, {"switches": both, "epoch": 1}))
    client = start(caches={KEY: "open", "sessions": "open"})

    assert client.can_use(START)
    assert not client.can_use(START, "sessions")
    assert len(shardwatch.polls) == 1


@pytest.mark.parametrize(("default", "holds"), [("open", True), ("closed", False)])
def test_its_default_holds_until_anything_is_known(start: Starts, default: str, holds: bool) -> None:
    client = start(url=f"http://127.0.0.1:{closed_port()}", caches={KEY: default})

    assert client.can_use(START) is holds
    assert client.can_use(START + EVER) is holds


def test_a_cache_that_was_not_named_is_a_mistake_of_the_programmer(start: Starts) -> None:
    client = start()

    with pytest.raises(LookupError, match="other"):
        client.can_use(START, "other")


def test_an_outage_of_any_length_changes_nothing(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start(caches={KEY: "open"})
    shardwatch.then(OFF)
    client.can_use(START)

    shardwatch.close()

    assert not any(client.can_use(START + later) for later in (NEXT, 3_600, EVER))
    assert client.age(START + 3_600) == pytest.approx(3_600)


def test_a_known_yes_outlives_an_outage_too(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start(caches={KEY: "closed"})
    client.can_use(START)

    shardwatch.close()

    assert client.can_use(START + EVER)


def test_restarts_during_an_outage_change_nothing(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(OFF)
    first = start()
    first.can_use(START)
    shardwatch.close()

    first.stop()

    assert not start().can_use(START + 3_600)
    assert not start().can_use(START + EVER)


def test_it_is_back_at_once_when_shardwatch_is(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    shardwatch.then(OFF, *[says(500)] * 9, answers(revision=3))

    seen = [client.can_use(START + 37 * turn) for turn in range(11)]

    assert seen == [False] * 10 + [True]


HOSTILE: dict[str, Any] = {
    "429": says(429, {"error": "slow down"}, Retry_After="5"),
    "401": says(401, {"error": "no such key"}),
    "404": says(404, {"error": "unknown"}),
    "503": says(503),
    "html": says(200, "<html><body>Sign in</body></html>", Content_Type="text/html"),
    "empty": says(200, ""),
    "null": says(200, "null"),
    "list": says(200, [row()]),
    "no-switches": says(200, {"switches": {"user-cache": True}}),
    "no-row": says(200, {"switches": []}),
    "text-for-yes": answers(can_use="true", revision=9),
    "number-for-yes": answers(can_use=1, revision=9),
    "no-revision": answers(revision=None),
    "text-revision": answers(revision="9"),
    "negative-revision": answers(revision=-1),
    "no-epoch": answers(epoch=None, revision=9, etag='"x"'),
    "percent-over": answers(percent=101, revision=9),
    "no-ttl": answers(ttl_seconds=None, revision=9),
    "other-key": answers(key="other", revision=9),
    "closes": closes,
    "half-an-answer": closes_within,
    "flood": floods,
    "too-large": says(200, {"switches": [row(revision=9)], "epoch": 1, "more": "x" * 1_000_000}),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_but_a_true_answer_turns_it_on(start: Starts, shardwatch: ScriptedShardwatch, hostile: Any) -> None:
    client = start()
    shardwatch.then(OFF, hostile)
    client.can_use(START)

    assert not client.can_use(START + NEXT)
    assert not client.can_use(START + NEXT + 60)
    assert client.error(START + NEXT + 60)


def test_it_does_not_follow_a_redirect(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    elsewhere = Service(answers(can_use=False, revision=9))
    shardwatch.then(says(302, Location=f"http://127.0.0.1:{elsewhere.port}/"))

    assert start().can_use(START)

    assert elsewhere.connections == 0
    elsewhere.close()


def drips_body(exchange: Exchange) -> None:
    """Answer so slowly that no single read takes long, and the whole takes hours."""
    exchange.connection.sendall(b"HTTP/1.1 200 -\r\nContent-Length: 500000\r\n\r\n")
    stopped = threading.Event()
    while not stopped.wait(0.05):
        exchange.connection.sendall(b" ")


@pytest.mark.parametrize("slow", [hangs, drips, drips_body], ids=["hangs", "drips", "drips-body"])
def test_a_slow_server_costs_one_short_wait(start: Starts, shardwatch: ScriptedShardwatch, slow: Any) -> None:
    client = start(milliseconds=300)
    shardwatch.then(slow)

    began = time.monotonic()
    held = [client.can_use(START) for _ in range(100)]

    # A hundred waits of 0.3 s would be thirty seconds.
    assert time.monotonic() - began < 20
    assert all(held)
    assert until(lambda: shardwatch.service.connections, 20)
    assert shardwatch.service.connections == 1


def waits_between(client: Client, shardwatch: ScriptedShardwatch, seconds: int) -> list[float]:
    """Return the times between questions of a client that looks at its switch every tenth of a second."""
    asked: list[float] = []
    for tenth in range(seconds * 10):
        before = len(shardwatch.polls)
        client.can_use(START + tenth / 10)
        asked += [tenth / 10] * (len(shardwatch.polls) - before)
    return [later - earlier for earlier, later in pairwise(asked)]


def test_it_backs_off_to_half_a_minute(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(says(500))

    waits = waits_between(start(), shardwatch, 150)

    assert len(waits) >= 6
    for wait, meant in zip(waits, (1, 2, 4, 8, 16, 30, 30), strict=False):
        assert 0.8 * meant - 0.11 <= wait <= 1.2 * meant + 0.11


def test_a_retry_after_is_kept_but_never_beyond_half_a_minute(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    shardwatch.then(says(429, Retry_After="20"), says(429, Retry_After="86400"), OFF)

    client.can_use(START)
    client.can_use(START + 15)
    assert len(shardwatch.polls) == 1
    client.can_use(START + 25)
    assert not client.can_use(START + 25 + 37)


def test_it_spreads_its_questions(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    waits = waits_between(start(), shardwatch, 60)

    assert all(3.9 <= wait <= 6.2 for wait in waits)
    assert len({round(wait, 1) for wait in waits}) > 2


def test_it_takes_the_interval_from_shardwatch_within_bounds(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    shardwatch.then(answers(ttl_seconds=60), answers(ttl_seconds=86_400, revision=2), OFF)

    client.can_use(START)
    client.can_use(START + 47)
    assert len(shardwatch.polls) == 1
    client.can_use(START + 73)
    assert not client.can_use(START + 73 + 361)


def test_a_clock_that_was_set_back_does_not_stop_the_questions(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    client.can_use(START)
    shardwatch.then(OFF)

    assert not client.can_use(START - 60)


def test_an_older_revision_is_refused(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    shardwatch.then(answers(can_use=False, revision=7), answers(revision=6), answers(revision=7))

    assert not any(client.can_use(START + NEXT * turn) for turn in range(3))
    assert "revision 7" in client.error(START + 2 * NEXT)


def test_a_newer_epoch_takes_any_revision(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    shardwatch.then(answers(can_use=False, revision=7), answers(revision=3, epoch=2), OFF)

    assert [client.can_use(START + NEXT * turn) for turn in range(3)] == [False, True, True]


def test_a_canary_may_let_it_in_without_a_new_revision(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    canary: dict[str, Any] = {"percent": 25, "revision": 4}
    shardwatch.then(answers(can_use=False, **canary), answers(can_use=True, **canary))

    assert [client.can_use(START), client.can_use(START + NEXT)] == [False, True]


def test_a_no_of_the_same_revision_counts(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    shardwatch.then(answers(), answers(can_use=False))

    assert [client.can_use(START), client.can_use(START + NEXT)] == [True, False]


def test_it_gives_the_endpoint(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    endpoint = {"host": "10.0.0.9", "port": 6379, "tls": True, "cluster": False}
    shardwatch.then(answers(endpoint=endpoint))
    client = start()
    client.can_use(START)

    assert client.endpoint(START) == endpoint
