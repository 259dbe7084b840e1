"""Looking for hot keys on real and scripted servers."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import hot_key_looks, hot_keys, tasks
from collectors.failures import ReadError
from collectors.hot_key_looks import HOTKEYS_START, KEY_LIMIT, KEYS_SHOWN, page_of, tracked_keys
from collectors.models import CommandSupport, HotKeyReading, HotKeyTurn, NodeFact
from collectors.tests import peers
from collectors.tests.conftest import Poller
from collectors.tests.peers import Peer, Script
from fleet.models import Cache
from launcher.valkey import Valkey

CacheAt = Callable[..., Cache]
StartServer = Callable[..., Valkey]
StartPeer = Callable[[Script], Peer]
# The slower LFU counts, the fewer reads a test needs.
LFU = ("--maxmemory-policy", "allkeys-lfu", "--lfu-log-factor", "0", "--maxmemory", "100mb")


@pytest.fixture(params=["valkey", "redis"])
def server(request: pytest.FixtureRequest) -> Valkey:
    started: Valkey = request.getfixturevalue(f"{request.param}_server")(*LFU)
    return started


def look(cache: Cache) -> HotKeyReading:
    HotKeyTurn.objects.all().delete()
    assert hot_keys.look(cache.pk)
    return HotKeyReading.objects.get()


def test_it_finds_the_keys_that_are_read_most(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    server.ask("MSET", *[word for number in range(300) for word in (f"cold:{number}", "secret")])
    for number, reads in (("first", 90), ("second", 40)):
        server.ask("SET", f"hot:{number}", "secret")
        for _ in range(reads):
            server.ask("GET", f"hot:{number}")
    own = {name: server.ask("OBJECT", "FREQ", name) for name in ("hot:first", "hot:second")}
    cache = cache_at(server.url)
    poller.poll(cache)

    reading = look(cache)

    assert [row[0] for row in reading.rows[:2]] == ["hot:first", "hot:second"]
    assert [row[1] for row in reading.rows[:2]] == [own["hot:first"], own["hot:second"]]
    assert (reading.method, reading.keys_looked_at, reading.cursor) == ("sampled", 302, "0")
    assert len(reading.rows) == KEYS_SHOWN
    assert "secret" not in repr(reading.rows)


def test_looking_makes_no_key_hotter(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    server.ask("SET", "hot", "x")
    cache = cache_at(server.url)
    poller.poll(cache)
    before = server.ask("OBJECT", "FREQ", "hot")
    for _ in range(5):
        look(cache)

    assert server.ask("OBJECT", "FREQ", "hot") == before


def test_the_next_look_goes_on_where_the_last_one_ended(
    poller: Poller, cache_at: CacheAt, valkey_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hot_key_looks, "SCAN_PAGES", 2)
    server = valkey_server(*LFU)
    server.ask("MSET", *[word for number in range(1_000) for word in (f"k{number}", "x")])
    cache = cache_at(server.url)
    poller.poll(cache)
    looks = [look(cache) for _ in range(8)]

    assert all(200 <= one.keys_looked_at < 400 or one.cursor == "0" for one in looks)
    assert len({one.cursor for one in looks}) > 3
    assert "0" in {one.cursor for one in looks}


def test_names_that_are_no_text_are_made_printable(poller: Poller, cache_at: CacheAt, peer: StartPeer) -> None:
    name = b"\xff\x00" + b"k" * 500 + b"<script>"
    page = b"*2\r\n$1\r\n0\r\n*2\r\n" + peers.bulk(name) + peers.bulk(b"gone")
    info = peers.info_with([b"maxmemory_policy:volatile-lfu"]).replace(b"maxmemory_policy:noeviction", b"x:y")
    seen: list[str] = []

    def script(connection: Any) -> None:
        stream = connection.makefile("rb")
        while header := stream.readline():
            words = [stream.read(int(stream.readline()[1:]) + 2)[:-2] for _ in range(int(header[1:]))]
            seen.append(words[0].decode())
            answer = {b"SCAN": page, b"CLIENT": peers.OK, b"INFO": peers.bulk(info.split(b"\r\n", 1)[1][:-2])}
            key = {name: b":200\r\n", b"gone": b"$-1\r\n"}
            connection.sendall(key[words[2]] if words[0] == b"OBJECT" else answer.get(words[0], b"-ERR no\r\n"))

    cache = cache_at(peer(script).url)
    poller.poll(cache)

    reading = look(cache)

    assert [row[1] for row in reading.rows] == [200]
    assert len(reading.rows[0][0]) <= KEY_LIMIT
    assert reading.rows[0][0].isprintable()
    assert not {"GET", "DUMP", "MONITOR", "KEYS"} & set(seen)


@pytest.mark.parametrize("denied", ["-object|freq", "-scan"])
def test_a_refusal_is_told_with_the_servers_words(
    denied: str, poller: Poller, cache_at: CacheAt, server: Valkey
) -> None:
    server.ask("SET", "hot", "x")
    server.ask("ACL", "SETUSER", "default", denied)
    cache = cache_at(server.url)
    poller.poll(cache)

    reading = look(cache)

    assert reading.failed_cause == "no_permission"
    assert denied.strip("-").split("|")[0] in reading.failed_words
    assert reading.rows == []
    assert CommandSupport.objects.get(command="OBJECT FREQ").state == "refused"


def test_where_no_frequency_is_counted_nobody_is_asked(
    poller: Poller, cache_at: CacheAt, valkey_server: StartServer
) -> None:
    server = valkey_server("--maxmemory-policy", "allkeys-lru")
    cache = cache_at(server.url)
    poller.poll(cache)

    assert hot_keys.look(cache.pk)

    assert not HotKeyReading.objects.exists()
    assert "cmdstat_scan" not in str(server.ask("INFO", "commandstats"))


def test_a_silent_server_is_given_up(
    poller: Poller, cache_at: CacheAt, peer: StartPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hot_keys, "NODE_SECONDS", 0.3)
    cache = cache_at(peer(peers.stays_silent).url)
    node = cache.nodes.create(identity="x", host="127.0.0.1", port=cache_port(cache), role="primary")
    NodeFact.objects.create(node=node, name="maxmemory_policy", value="allkeys-lfu", since=timezone.now())

    assert look(cache).failed_cause == "silent"


def cache_port(cache: Cache) -> int:
    return int(cache.address.rpartition(":")[2])


REPORT = [
    *(b"tracking-active", 1, b"all-commands-all-slots-us", 1_000, b"net-bytes-all-commands-all-slots", 400),
    *(b"by-cpu-time-us", [b"x", 104, b"y", 98], b"by-net-bytes", [b"y", 200, b"z", 40]),
]


def test_it_reads_what_the_server_tracked() -> None:
    keys = tracked_keys([*REPORT])

    assert [(key.key, key.time_share, key.byte_share) for key in keys] == [
        ("x", 0.104, None),
        ("y", 0.098, 0.5),
        ("z", None, 0.1),
    ]
    assert tracked_keys([REPORT]) == keys


@pytest.mark.parametrize(
    "reply",
    [
        None,
        7,
        [],
        [b"by-cpu-time-us"],
        [b"by-cpu-time-us", [b"x", 1]],
        [b"all-commands-all-slots-us", 0, b"by-cpu-time-us", [b"x", 1]],
        [b"all-commands-all-slots-us", 9, b"by-cpu-time-us", [b"x"]],
        [b"all-commands-all-slots-us", 9, b"by-cpu-time-us", [7, 7]],
        [b"all-commands-all-slots-us", 9, b"by-cpu-time-us", [b"x", -7]],
    ],
)
def test_an_odd_report_names_no_key(reply: Any) -> None:
    assert tracked_keys(reply) == []


@pytest.mark.parametrize("reply", [None, [], [b"0"], [b"x", []], [b"-1", []], [b"1" * 21, []], [0, []], [b"0", b"k"]])
def test_an_odd_page_ends_the_look(reply: Any) -> None:
    with pytest.raises(ReadError):
        page_of(reply)


def resp(value: Any) -> bytes:
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(resp, value))
    return b":%d\r\n" % value if isinstance(value, int) else peers.bulk(value)


@pytest.mark.parametrize("is_busy", [False, True])
def test_newest_servers_count_themselves(
    is_busy: bool, poller: Poller, cache_at: CacheAt, peer: StartPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hot_key_looks, "TRACK_SECONDS", 0)
    seen: list[str] = []
    newest = peers.INFO.replace(b"redis_version:7.0.15", b"redis_version:8.6.1\n")
    newest = peers.bulk(newest.split(b"\r\n", 1)[1][:-2])
    begun = b"-ERR hotkeys collection is already in progress\r\n" if is_busy else peers.OK
    replies = {"HOTKEYS START": begun, "HOTKEYS GET": resp(REPORT), "HOTKEYS RESET": peers.OK}
    cache = cache_at(peer(peers.answers({"INFO": newest, "CLIENT": peers.OK, **replies}, seen)).url)
    poller.poll(cache)
    seen.clear()

    reading = look(cache)

    assert reading.method == "tracked"
    assert [row[0] for row in reading.rows] == ["x", "y", "z"]
    asked = [line for line in seen if line.startswith("HOTKEYS")]
    # What somebody else counts is left alone.
    assert asked == [" ".join(HOTKEYS_START), "HOTKEYS GET", *([] if is_busy else ["HOTKEYS RESET"])]


def test_it_looks_no_sooner_than_ten_seconds_later(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    cache = cache_at(server.url)
    poller.poll(cache)

    assert [hot_keys.look(cache.pk), hot_keys.look(cache.pk)] == [True, False]

    HotKeyTurn.objects.update(begun_at=timezone.now() - timedelta(seconds=11))
    assert hot_keys.look(cache.pk)


def test_a_look_that_was_killed_blocks_nobody_for_long(cache_at: CacheAt) -> None:
    cache = cache_at("redis://127.0.0.1:1")
    HotKeyTurn.objects.create(cache=cache, begun_at=timezone.now() - timedelta(seconds=40))
    assert not hot_keys.look(cache.pk)

    HotKeyTurn.objects.update(begun_at=timezone.now() - timedelta(seconds=51))
    assert hot_keys.look(cache.pk)


def test_the_schedule_is_off_unless_somebody_wishes(cache_at: CacheAt, settings: Settings) -> None:
    cache = cache_at("redis://127.0.0.1:1")
    cache_at("redis://127.0.0.1:2", is_paused=True)
    cache_at("redis://127.0.0.1:3", reach="service")

    assert hot_keys.due_caches() == []
    settings.HOT_KEYS_INTERVAL_SECONDS = 600
    assert hot_keys.due_caches() == [cache.pk]


def test_what_was_found_is_forgotten_after_hours(poller: Poller, cache_at: CacheAt, server: Valkey) -> None:
    cache = cache_at(server.url)
    poller.poll(cache)
    look(cache)

    hot_keys.due_caches(timezone.now() + timedelta(hours=11))
    assert HotKeyReading.objects.exists()
    hot_keys.due_caches(timezone.now() + timedelta(hours=13))
    assert not HotKeyReading.objects.exists()


def test_the_task_is_a_door(cache_at: CacheAt) -> None:
    cache = cache_at("redis://127.0.0.1:1")

    tasks.look_for_hot_keys_of(cache.pk)

    assert HotKeyTurn.objects.get().ended_at
