"""The settings of MySQL's InnoDB memcached plugin, read from a double of a MySQL."""

from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from collectors import tasks
from collectors.memcached import plugin
from collectors.memcached.models import MysqlPlugin
from collectors.memcached.plugin import DEFAULT_CONNECTIONS, Dsn, PluginError, connection_limit, look, read_variables
from collectors.tests.mysql import mysql
from collectors.tests.peers import Peer, closed_port, says, speaks_first, stays_silent
from fleet.engines import Engine
from fleet.models import Cache

NOW = datetime(2026, 1, 1, tzinfo=UTC)
VARIABLES = {
    "daemon_memcached_option": "-c 4096 -p 11211",
    "daemon_memcached_r_batch_size": "1",
    "daemon_memcached_w_batch_size": "1",
    "innodb_api_bk_commit_interval": "5",
}
PeerAt = Callable[..., Peer]


def dsn(peer: Peer) -> str:
    return f"mysql://watch:secret@127.0.0.1:{peer.port}"


@pytest.fixture
def cache(db: None) -> Cache:
    return Cache.objects.create(name="pages", address="memcached://10.0.0.1:11211", engine=Engine.MEMCACHED)


def known(cache: Cache, address: str) -> MysqlPlugin:
    return MysqlPlugin.objects.create(cache=cache, dsn=address)


def test_the_settings_are_read(peer: PeerAt) -> None:
    asked: list[str] = []

    found = read_variables(Dsn.of(dsn(peer(mysql(VARIABLES, asked=asked)))))

    assert found == VARIABLES
    assert [line for line in asked if not line.startswith(("SET", "SHOW GLOBAL VARIABLES"))] == []


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (mysql(VARIABLES, word="other"), "Access denied"),
        (mysql({"innodb_api_bk_commit_interval": "5"}), "no InnoDB memcached plugin"),
        (mysql({}), "no InnoDB memcached plugin"),
        (speaks_first(b"ERROR\r\n"), ""),
        (speaks_first(b"\x00" * 80), ""),
        (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), ""),
    ],
    ids=["denied", "no plugin", "nothing", "hangs up", "zeros", "web"],
)
def test_what_goes_wrong_is_told_without_the_password(
    peer: PeerAt, monkeypatch: pytest.MonkeyPatch, script: object, words: str
) -> None:
    monkeypatch.setattr(plugin, "TIMEOUT_SECONDS", 1)

    with pytest.raises(PluginError) as caught:
        read_variables(Dsn.of(dsn(peer(script))))

    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_silent_server_is_not_waited_for(peer: PeerAt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "TIMEOUT_SECONDS", 1)

    with pytest.raises(PluginError):
        read_variables(Dsn.of(dsn(peer(stays_silent))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql://u:p%40ss@h", Dsn("h", 3_306, "u", "p@ss")),
        ("mysql://u@h:3307", Dsn("h", 3_307, "u", "")),
    ],
)
def test_an_address_is_read(text: str, expected: Dsn) -> None:
    assert Dsn.of(text) == expected


@pytest.mark.parametrize("text", ["", "h:3306", "mysql://h", "postgres://u:secret@h", "mysql://u:secret@h:99999"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(PluginError) as caught:
        Dsn.of(text)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("option", "limit"),
    [
        ("-c 4096", 4_096),
        ("-p 11211 -c4096", 4_096),
        ("--conn-limit=5", 5),
        ("", DEFAULT_CONNECTIONS),
        ("-c 0", DEFAULT_CONNECTIONS),
        ("-C 77", DEFAULT_CONNECTIONS),
        ("-c 99999999", DEFAULT_CONNECTIONS),
    ],
)
def test_the_limit_of_connections_is_read_from_the_daemons_options(option: str, limit: int) -> None:
    assert connection_limit({"daemon_memcached_option": option}) == limit


def test_what_was_read_is_kept_and_gives_a_limit(cache: Cache, peer: PeerAt) -> None:
    known(cache, dsn(peer(mysql(VARIABLES))))

    look(cache.pk, NOW)

    kept = MysqlPlugin.objects.get()
    assert (kept.variables, kept.read_at, kept.failed_words) == (VARIABLES, NOW, "")
    assert Cache.objects.get().other_maxclients == 4_096


def test_a_failure_keeps_what_was_known(cache: Cache) -> None:
    row = known(cache, f"mysql://watch:secret@127.0.0.1:{closed_port()}")
    MysqlPlugin.objects.filter(pk=row.pk).update(variables=VARIABLES)

    look(cache.pk, NOW)

    kept = MysqlPlugin.objects.get()
    assert kept.variables == VARIABLES
    assert kept.failed_words
    assert "secret" not in kept.failed_words


def test_a_stored_address_is_encrypted(cache: Cache) -> None:
    known(cache, "mysql://watch:secret@h")

    assert "secret" not in MysqlPlugin.objects.get().dsn.stored
    assert "secret" not in str(MysqlPlugin.objects.get().dsn)


def test_paused_caches_are_left_alone(cache: Cache) -> None:
    known(cache, "mysql://watch:secret@h")
    assert plugin.due() == [cache.pk]

    Cache.objects.update(is_paused=True)

    assert plugin.due() == []


def test_a_cache_without_an_address_is_asked_nothing(cache: Cache) -> None:
    look(cache.pk, NOW)

    assert not MysqlPlugin.objects.exists()


def test_the_task_looks_at_one_plugin(cache: Cache, peer: PeerAt) -> None:
    known(cache, dsn(peer(mysql(VARIABLES))))

    tasks.read_mysql_plugin(cache.pk)

    assert MysqlPlugin.objects.get().variables == VARIABLES


def test_the_command_takes_the_address_from_a_file(cache: Cache, peer: PeerAt, tmp_path: Path) -> None:
    path, out = tmp_path / "dsn", StringIO()
    path.write_text(dsn(peer(mysql(VARIABLES))) + "\n")

    call_command("mysql_plugin", "pages", "--dsn-file", str(path), stdout=out)

    assert "daemon_memcached_w_batch_size = 1" in out.getvalue()
    assert "secret" not in out.getvalue()


def test_the_command_forgets_the_address(cache: Cache) -> None:
    known(cache, "mysql://watch:secret@h")

    call_command("mysql_plugin", "pages", "--forget")

    assert not MysqlPlugin.objects.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("other",), "no Memcached of this name"),
        (("pages",), "No address of a MySQL"),
        (("pages", "--dsn-env", "NO_SUCH_VARIABLE"), "is not set"),
        (("pages", "--dsn-file", "/no/such/file"), "cannot be read"),
    ],
)
def test_the_command_says_what_is_wrong(cache: Cache, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("mysql_plugin", *words)
