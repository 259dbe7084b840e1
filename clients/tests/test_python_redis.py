"""redis-py behind a switch, on real servers."""

import gzip
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ConnectionLostError
from redis.exceptions import ResponseError
from redis.retry import Retry

from clients.tests.cast import KEY, START, ScriptedShardwatch, Wishes, answers, python_options, row
from clients.tests.scripts import RunPhp
from conftest import ValkeyFactory
from launcher.valkey import Valkey
from launcher.waiting import until
from shardwatch_client import Endpoint, State, Switches
from shardwatch_client.known import Known
from shardwatch_client.off_answer import SwitchedOffError
from shardwatch_client.state import read
from shardwatch_client.switched_redis import Client, SwitchedRedis

PATIENCE_SECONDS = 20.0
LONG = b"all work and no play " * 100


class SetSwitches(Switches):
    """Switches that a test sets by hand."""

    def __init__(self, wishes: Wishes) -> None:
        super().__init__(python_options(wishes, lambda: START))
        self.set()

    def set(self, **said: Any) -> None:
        state = read(row(**said), START)
        assert isinstance(state, State)
        self._keeper.known = Known({KEY: state})

    def can_use(self, key: str) -> bool:
        return self._keeper.can_use(key)


@pytest.fixture
def switches(wishes: Wishes) -> SetSwitches:
    return SetSwitches(wishes)


@pytest.fixture
def valkey(valkey_server: ValkeyFactory) -> Valkey:
    return valkey_server()


@pytest.fixture
def plain(valkey: Valkey) -> Iterator[Redis]:
    with Redis(port=valkey.port) as client:
        yield client


@pytest.fixture
def cache(switches: SetSwitches, valkey: Valkey) -> SwitchedRedis:
    return SwitchedRedis(switches, KEY, lambda _: Redis(port=valkey.port))


def refuses_to_connect(_: Endpoint | None) -> Client:
    raise AssertionError("It connected.")


@pytest.fixture
def off(switches: SetSwitches) -> SwitchedRedis:
    switches.set(can_use=False)
    return SwitchedRedis(switches, KEY, refuses_to_connect)


def test_a_cache_in_service_takes_every_command(cache: SwitchedRedis) -> None:
    assert cache.set("a", "one") is True
    assert cache.get("a") == b"one"
    assert cache.incr("n") == 1
    assert cache.hset("h", mapping={"f": "v"}) == 1
    assert cache.hgetall("h") == {b"f": b"v"}
    assert list(cache.scan_iter("a")) == [b"a"]


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (lambda off: off.get("a"), None),
        (lambda off: off.set("a", 1), None),
        (lambda off: off.set("lock", 1, nx=True, ex=5), None),
        (lambda off: off.execute_command("SETEX", "a", 5, 1), False),
        (lambda off: off.mget("a", "b"), [None, None]),
        (lambda off: off.hmget("h", ["a"]), [None]),
        (lambda off: off.hgetall("h"), {}),
        (lambda off: off.smembers("s"), set()),
        (lambda off: off.lrange("q", 0, -1), []),
        (lambda off: off.lpop("q"), None),
        (lambda off: off.delete("a"), 0),
        (lambda off: list(off.scan_iter()), []),
        (lambda off: dict(off.hscan_iter("h")), {}),
    ],
    ids=lambda value: None if callable(value) else str(value),
)
def test_a_cache_that_is_off_is_never_even_connected_to(
    off: SwitchedRedis, command: Callable[[SwitchedRedis], Any], answer: Any
) -> None:
    assert command(off) == answer


def test_what_goes_into_a_queue_does_not_vanish(off: SwitchedRedis) -> None:
    for push in (lambda: off.rpush("q", "job"), lambda: off.xadd("s", {"a": "b"}), lambda: off.publish("c", "x")):
        with pytest.raises(SwitchedOffError):
            push()


def test_redis_py_itself_is_not_handed_out_while_off(off: SwitchedRedis) -> None:
    with pytest.raises(SwitchedOffError):
        off.raw()


def test_it_leaves_the_cache_when_it_is_switched_off(cache: SwitchedRedis, switches: SetSwitches, plain: Redis) -> None:
    cache.set("a", 1)
    assert len(plain.client_list()) == 2

    switches.set(can_use=False, revision=2)

    assert cache.get("a") is None
    assert until(lambda: len(plain.client_list()) == 1, PATIENCE_SECONDS)


def test_a_group_decides_once(cache: SwitchedRedis, switches: SetSwitches) -> None:
    with cache.group() as usable:
        cache.set("a", "one")
        switches.set(can_use=False, revision=2)
        assert usable
        assert cache.get("a") == b"one"

    assert cache.get("a") is None


def test_it_goes_to_the_new_endpoint_when_the_switch_is_repointed(
    switches: SetSwitches, valkey_server: ValkeyFactory
) -> None:
    servers = [valkey_server(), valkey_server()]
    cache = SwitchedRedis(switches, KEY, lambda endpoint: Redis(port=endpoint.port if endpoint else 1))

    for server in servers:
        switches.set(endpoint={"host": "127.0.0.1", "port": server.port})
        cache.set("a", server.port)

    assert [server.ask("GET", "a") for server in servers] == [str(server.port) for server in servers]


def test_pipelines_go_through_raw(cache: SwitchedRedis) -> None:
    pipeline: Any = cache.raw().pipeline()

    assert pipeline.set("a", 1).get("a").execute() == [True, b"1"]


def test_a_demoted_primary_is_left_for_the_new_one(switches: SetSwitches, valkey_server: ValkeyFactory) -> None:
    primary = valkey_server()
    ports = [valkey_server("--replicaof", f"127.0.0.1 {primary.port}").port, primary.port]
    cache = SwitchedRedis(switches, KEY, lambda _: Redis(port=ports.pop(0)))

    assert [cache.incr("n"), cache.incr("n")] == [1, 2]


def test_a_slot_that_moved_is_asked_for_anew(switches: SetSwitches, valkey_cluster: list[Valkey]) -> None:
    ports = [valkey_cluster[0].port, valkey_cluster[2].port]
    cache = SwitchedRedis(switches, KEY, lambda _: Redis(port=ports.pop(0)))

    assert cache.set("foo", "x") is True
    assert cache.delete("foo") == 1


def test_a_cluster_is_used_and_left(switches: SetSwitches, valkey_cluster: list[Valkey]) -> None:
    url = valkey_cluster[0].url
    cache = SwitchedRedis(switches, KEY, lambda _: RedisCluster.from_url(url))

    cache.set("long", LONG)
    assert cache.get("long") == LONG
    assert cache.delete("long") == 1

    switches.set(can_use=False, revision=2)
    assert cache.get("long") is None


def test_a_dead_connection_is_opened_anew(cache: SwitchedRedis, plain: Redis) -> None:
    cache.set("a", "one")

    plain.client_kill_filter(_type="normal", skipme=True)

    assert cache.get("a") == b"one"


def test_a_command_that_may_have_been_done_is_not_repeated(switches: SetSwitches, valkey: Valkey) -> None:
    connections: list[Redis] = []

    def connect(_: Endpoint | None) -> Redis:
        connections.append(Redis(port=valkey.port, retry=Retry(NoBackoff(), 0)))
        return connections[-1]

    cache = SwitchedRedis(switches, KEY, connect)
    cache.get("n")
    valkey.kill()

    with pytest.raises(ConnectionLostError):
        cache.incr("n")
    assert len(connections) == 1
    with pytest.raises(ConnectionLostError):
        cache.get("n")
    assert len(connections) == 3


def test_errors_of_the_application_stay_errors(cache: SwitchedRedis) -> None:
    cache.set("a", "text")

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        cache.lpush("a", "x")


def test_long_values_are_stored_as_gzip(cache: SwitchedRedis, plain: Redis) -> None:
    cache.set("s", LONG)
    cache.execute_command("SETEX", "x", 60, LONG)
    cache.mset({"m": LONG})
    cache.hset("h", mapping={"f": LONG, "g": "short"})

    stored: list[Any] = [plain.get("s"), plain.get("x"), plain.get("m"), plain.hget("h", "f")]
    assert [gzip.decompress(one) for one in stored] == [LONG] * 4
    assert cache.mget("s", "m", "none") == [LONG, LONG, None]
    assert cache.hgetall("h") == {b"f": LONG, b"g": b"short"}
    assert cache.hmget("h", ["f", "g"]) == [LONG, b"short"]


@pytest.mark.parametrize(("size", "compressed"), [(1024, False), (1025, True)])
def test_the_threshold_is_one_kilobyte(cache: SwitchedRedis, plain: Redis, size: int, compressed: bool) -> None:
    cache.set("a", b"x" * size)

    stored: Any = plain.get("a")
    assert stored.startswith(b"\x1f\x8b") is compressed


def test_a_short_value_that_looks_compressed_is_compressed(cache: SwitchedRedis, plain: Redis) -> None:
    cache.set("a", b"\x1f\x8bx")

    stored: Any = plain.get("a")
    assert gzip.decompress(stored) == b"\x1f\x8bx"
    assert cache.get("a") == b"\x1f\x8bx"


@pytest.mark.parametrize("old", [b"short", LONG, b"\x1f\x8bnot gzip", b"\x1f\x8b", b""])
def test_values_from_before_stay_readable(cache: SwitchedRedis, plain: Redis, old: bytes) -> None:
    plain.set("a", old)

    assert cache.get("a") == old


def test_text_comes_back_as_text_where_the_client_decodes(switches: SetSwitches, valkey: Valkey) -> None:
    cache = SwitchedRedis(switches, KEY, lambda _: Redis(port=valkey.port, decode_responses=True))
    long = "長い文章" * 500

    cache.set("a", long)
    cache.hset("h", "f", long)

    assert (cache.get("a"), cache.hgetall("h"), cache.keys("a")) == (long, {"f": long}, ["a"])


def test_php_and_python_read_each_other(
    run_php: RunPhp, cache: SwitchedRedis, plain: Redis, valkey: Valkey, shardwatch: ScriptedShardwatch
) -> None:
    shardwatch.then(answers())
    cache.set("python", LONG)

    shown = run_php(
        """
        $long = str_repeat('all work and no play ', 100);
        $cache = cache(switches());
        $cache->set('php', $long); show($cache->get('python') === $long);
        show(connected((int) getenv('CACHE'))->get('python') === gzencode($long));
        """,
        CACHE=valkey.port,
    )

    assert shown == [True, True]
    assert cache.get("php") == LONG


def test_switches_are_really_asked(wishes: Wishes, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(answers(can_use=False))
    switches = Switches(replace(python_options(wishes, None), clock=lambda: START))

    assert SwitchedRedis(switches, KEY, refuses_to_connect).get("a") is None

    switches.close()
