"""phpredis behind a switch, on real servers."""

import gzip
import zlib
from typing import Any

import pytest
from redis import Redis

from clients.tests.cast import ScriptedShardwatch, answers
from clients.tests.scripts import RunPhp
from conftest import ValkeyFactory
from launcher.valkey import Valkey

OFF = answers(can_use=False, percent=0, revision=2)


@pytest.fixture
def valkey(valkey_server: ValkeyFactory) -> Valkey:
    return valkey_server()


def calls(server: Valkey, command: str) -> bool:
    return f"cmdstat_{command}:" in str(server.ask("INFO", "commandstats"))


def test_a_cache_in_service_takes_every_command(run_php: RunPhp, valkey: Valkey) -> None:
    shown = run_php(
        """
        $cache = cache(switches());
        show($cache->set('a', 'one')); show($cache->get('a')); show($cache->incr('n')); show($cache->mGet(['a', 'no']));
        $cache->hSet('h', 'f', 'v'); show($cache->hGetAll('h'));
        show($cache->rPush('q', 'job')); show($cache->lPop('q'));
        """,
        CACHE=valkey.port,
    )

    assert shown == [True, "one", 1, ["one", False], {"f": "v"}, 1, "job"]


def test_a_cache_that_is_off_is_never_even_connected_to(
    run_php: RunPhp, valkey: Valkey, shardwatch: ScriptedShardwatch
) -> None:
    shardwatch.then(OFF)

    shown = run_php(
        """
        $cache = new Shardwatch\\SwitchedRedis(switches(), 'user-cache', fn () => throw new Error('connected'));
        show([$cache->get('a'), $cache->set('a', 1), $cache->mGet(['a', 'b']), $cache->hGetAll('h')]);
        show([$cache->set('lock', 'me', ['nx', 'ex' => 5]), $cache->exists('a'), $cache->hMGet('h', ['f'])]);
        show([$cache->lPop('q'), $cache->blPop(['q'], 1)]);
        show($cache->raw(fn ($redis) => $redis->ping(), whileOff: 'off'));
        """,
    )

    assert shown == [[False, False, [False, False], []], [False, 0, {"f": False}], [False, []], "off"]


@pytest.mark.parametrize("push", ["rPush('q', 'job')", "xAdd('s', '*', ['a' => 'b'])", "publish('c', 'x')"])
def test_what_goes_into_a_queue_does_not_vanish(run_php: RunPhp, shardwatch: ScriptedShardwatch, push: str) -> None:
    shardwatch.then(OFF)

    shown = run_php(f"try {{ cache(switches())->{push}; }} catch (Shardwatch\\SwitchedOff $off) {{ show('told'); }}")

    assert shown == ["told"]


def test_it_leaves_the_cache_when_it_is_switched_off(
    run_php: RunPhp, valkey: Valkey, shardwatch: ScriptedShardwatch
) -> None:
    shardwatch.then(answers(), OFF)

    shown = run_php(
        """
        $clock = new Clock();
        $cache = cache(switches(clock: $clock(...)));
        $cache->set('a', 1); show(setters(1));
        $clock->now += 7; show($cache->get('a')); show(setters(0));
        """,
        CACHE=valkey.port,
    )

    assert shown == [1, False, 0]


def test_the_next_request_closes_a_persistent_connection(
    run_php: RunPhp, valkey: Valkey, shardwatch: ScriptedShardwatch
) -> None:
    shardwatch.then(answers(), OFF)

    shown = run_php(
        """
        $clock = new Clock();
        $open = fn () => new Shardwatch\\SwitchedRedis(
            switches(clock: $clock(...)), 'user-cache', persistent(...), persistent: true,
        );
        $request = $open(); $request->set('a', 1); unset($request); show(setters(1));
        $clock->now += 7;
        $request = $open(); show($request->get('a')); show(setters(0));
        """,
        CACHE=valkey.port,
    )

    assert shown == [1, False, 0]


def test_a_group_decides_once(run_php: RunPhp, valkey: Valkey, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(answers(), OFF)

    shown = run_php(
        """
        $clock = new Clock();
        $cache = cache(switches(clock: $clock(...)));
        show($cache->group(function ($cache) use ($clock) {
            $cache->set('a', 'one');
            $clock->now += 7;
            return $cache->get('a');
        }));
        show($cache->get('a'));
        """,
        CACHE=valkey.port,
    )

    assert shown == ["one", False]


def test_it_goes_to_the_new_endpoint_when_the_switch_is_repointed(
    run_php: RunPhp, valkey_server: ValkeyFactory, shardwatch: ScriptedShardwatch
) -> None:
    old, new = valkey_server(), valkey_server()
    endpoints = [{"host": "127.0.0.1", "port": server.port} for server in (old, new)]
    shardwatch.then(*[answers(revision=number, endpoint=one) for number, one in enumerate(endpoints, start=1)])

    run_php(
        """
        $clock = new Clock();
        $cache = cache(switches(clock: $clock(...)));
        $cache->set('a', 'old');
        $clock->now += 7; $cache->get('a'); $cache->set('a', 'new');
        """
    )

    assert [server.ask("GET", "a") for server in (old, new)] == ["old", "new"]


def test_pipelines_go_through_raw(run_php: RunPhp, valkey: Valkey) -> None:
    shown = run_php(
        """
        $cache = cache(switches());
        show($cache->raw(fn ($redis) => $redis->pipeline()->set('a', 1)->get('a')->exec()));
        try { $cache->multi(); } catch (BadMethodCallException $error) { show($error->getMessage()); }
        """,
        CACHE=valkey.port,
    )

    assert shown[0] == [True, "1"]
    assert "raw()" in shown[1]


def test_a_demoted_primary_is_left_for_the_new_one(run_php: RunPhp, valkey_server: ValkeyFactory) -> None:
    primary = valkey_server()
    replica = valkey_server("--replicaof", f"127.0.0.1 {primary.port}")

    shown = run_php(
        """
        $ports = [(int) getenv('REPLICA'), (int) getenv('CACHE')];
        $connect = function () use (&$ports) { return connected(array_shift($ports)); };
        $cache = new Shardwatch\\SwitchedRedis(switches(), 'user-cache', $connect);
        show($cache->incr('n')); show($cache->incr('n'));
        """,
        CACHE=primary.port,
        REPLICA=replica.port,
    )

    assert shown == [1, 2]


def test_a_slot_that_moved_is_asked_for_anew(run_php: RunPhp, valkey_cluster: list[Valkey]) -> None:
    # "foo" lies in slot 12182, at the third of three primaries.
    shown = run_php(
        """
        $ports = [(int) getenv('WRONG'), (int) getenv('CACHE')];
        $connect = function () use (&$ports) { return connected(array_shift($ports)); };
        $cache = new Shardwatch\\SwitchedRedis(switches(), 'user-cache', $connect);
        show($cache->set('foo', 'x')); show($cache->del('foo'));
        """,
        WRONG=valkey_cluster[0].port,
        CACHE=valkey_cluster[2].port,
    )

    assert shown == [True, 1]


def test_a_dead_persistent_connection_is_opened_anew(run_php: RunPhp, valkey: Valkey) -> None:
    shown = run_php(
        """
        $cache = new Shardwatch\\SwitchedRedis(switches(), 'user-cache', persistent(...));
        $cache->set('a', 'one');
        connected((int) getenv('CACHE'))->rawCommand('CLIENT', 'KILL', 'TYPE', 'normal');
        show($cache->get('a')); show($cache->incr('n'));
        """,
        CACHE=valkey.port,
    )

    assert shown == ["one", 1]


def test_a_command_that_may_have_been_done_is_not_repeated(run_php: RunPhp, valkey: Valkey) -> None:
    shown = run_php(
        """
        $connections = 0;
        $connect = function () use (&$connections) {
            $connections++;
            $redis = new Redis();
            $redis->connect('127.0.0.1', (int) getenv('CACHE'), 5, null, 0, 1);
            return $redis;
        };
        $cache = new Shardwatch\\SwitchedRedis(switches(), 'user-cache', $connect);
        $cache->set('a', 1);
        $plain = connected((int) getenv('CACHE'));
        $plain->rawCommand('CLIENT', 'PAUSE', '60000', 'WRITE');
        try { $cache->incr('n'); } catch (RedisException $error) { show($connections); }
        $plain->rawCommand('CLIENT', 'UNPAUSE');
        show($cache->incr('m')); show($connections);
        """,
        CACHE=valkey.port,
    )

    assert shown == [1, 1, 2]


def test_errors_of_the_application_stay_errors(run_php: RunPhp, valkey: Valkey) -> None:
    shown = run_php(
        """
        $cache = cache(switches());
        $cache->set('a', 'text');
        show($cache->lPush('a', 'x'));
        show($cache->raw(fn ($redis) => $redis->getLastError()));
        """,
        CACHE=valkey.port,
    )

    assert shown[0] is False
    assert shown[1].startswith("WRONGTYPE")


LONG = b"all work and no play " * 100


def test_long_values_are_stored_as_gzencode_gives_them(run_php: RunPhp, valkey: Valkey) -> None:
    shown = run_php(
        """
        $long = str_repeat('all work and no play ', 100);
        $cache = cache(switches());
        $cache->set('long', $long); $cache->setex('x', 60, $long);
        $cache->hSet('h', 'f', $long); $cache->mSet(['m' => $long]);
        $plain = connected((int) getenv('CACHE'));
        $stored = [...$plain->mGet(['long', 'x', 'm']), $plain->hGet('h', 'f')];
        show(array_map(fn ($one) => $one === gzencode($long), $stored));
        show($cache->mGet(['long', 'x', 'm']) === [$long, $long, $long]);
        show([$cache->get('long') === $long, $cache->hGetAll('h') === ['f' => $long]]);
        """,
        CACHE=valkey.port,
    )

    assert shown == [[True] * 4, True, [True] * 2]
    assert gzip.decompress(raw(valkey, "long")) == LONG


def raw(server: Valkey, key: str) -> bytes:
    with Redis(port=server.port) as client:
        value: Any = client.get(key)
    return bytes(value)


@pytest.mark.parametrize(("size", "compressed"), [(1024, False), (1025, True)])
def test_the_threshold_is_one_kilobyte(run_php: RunPhp, valkey: Valkey, size: int, compressed: bool) -> None:
    run_php(f"cache(switches())->set('a', str_repeat('x', {size}));", CACHE=valkey.port)

    assert raw(valkey, "a").startswith(b"\x1f\x8b") is compressed


def test_the_threshold_can_be_chosen(run_php: RunPhp, valkey: Valkey) -> None:
    run_php("cache(switches(), new Shardwatch\\Gzip(10))->set('a', 'twelve bytes');", CACHE=valkey.port)

    assert zlib.decompress(raw(valkey, "a"), wbits=31) == b"twelve bytes"


def test_a_short_value_that_looks_compressed_is_compressed(run_php: RunPhp, valkey: Valkey) -> None:
    shown = run_php(
        """
        $odd = "\\x1f\\x8bx";
        $cache = cache(switches());
        $cache->set('a', $odd); $cache->set('b', gzencode('theirs'));
        show([$cache->get('a') === $odd, gzdecode($cache->get('b'))]);
        """,
        CACHE=valkey.port,
    )

    assert shown == [[True, "theirs"]]
    assert gzip.decompress(raw(valkey, "a")) == b"\x1f\x8bx"


def test_values_from_before_stay_readable(run_php: RunPhp, valkey: Valkey) -> None:
    shown = run_php(
        """
        $plain = connected((int) getenv('CACHE'));
        $old = ['short', str_repeat('long ', 999), "\\x1f\\x8bnot gzip"];
        foreach ($old as $place => $value) { $plain->set("k$place", $value); }
        $cache = cache(switches());
        show($cache->mGet(['k0', 'k1', 'k2']) === $old);
        """,
        CACHE=valkey.port,
    )

    assert shown == [True]


SESSION = """
    session_set_save_handler(new Shardwatch\\SwitchedSessions(cache(switches()), new SessionHandler()), true);
    session_id('abc'); session_start();
    show($_SESSION['visits'] ?? 0); $_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1; session_write_close();
"""


def test_sessions_live_in_the_cache(run_php: RunPhp, valkey: Valkey, tmp_path: Any) -> None:
    settings = ("session.use_cookies=0", "session.cache_limiter=", f"session.save_path={tmp_path}")

    visits = [run_php(SESSION, *settings, CACHE=valkey.port) for _ in range(2)]

    assert visits == [[0], [1]]
    assert valkey.ask("TTL", "session.abc") == 1440


def test_sessions_live_elsewhere_while_the_cache_is_off(
    run_php: RunPhp, valkey: Valkey, shardwatch: ScriptedShardwatch, tmp_path: Any
) -> None:
    shardwatch.then(OFF)
    settings = ("session.use_cookies=0", "session.cache_limiter=", f"session.save_path={tmp_path}")

    visits = [run_php(SESSION, *settings, CACHE=valkey.port) for _ in range(2)]

    assert visits == [[0], [1]]
    assert not calls(valkey, "get")
