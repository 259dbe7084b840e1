"""The settings of MySQL's InnoDB memcached plugin, read from a double of a MySQL."""

import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from collectors import tasks
from collectors.memcached import plugin
from collectors.memcached.models import MysqlPlugin
from collectors.memcached.plugin import (
    DEFAULT_CONNECTIONS,
    Dsn,
    PluginError,
    connection_limit,
    look,
    read,
    read_variables,
)
from collectors.tests.certificates import Authority
from collectors.tests.mysql import mysql
from collectors.tests.peers import Peer, Script, closed_port, says, speaks_first, stays_silent
from fleet.engines import Engine
from fleet.models import Cache
from fleet.secrets import Secret

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
    peer: PeerAt, settings: Settings, script: object, words: str
) -> None:
    settings.MYSQL_TIMEOUT_SECONDS = 1

    with pytest.raises(PluginError) as caught:
        read_variables(Dsn.of(dsn(peer(script))))

    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def tls_at(peer: PeerAt, authority: Authority, tmp_path: Path) -> Callable[[str], str]:
    """Start a MySQL that speaks TLS with a certificate for this host; return its address."""

    def start(host: str) -> str:
        context = authority.issue(host).context(tmp_path)
        return f"mysqls://watch:secret@localhost:{peer(mysql(VARIABLES, tls=context)).port}"

    return start


def trusting(address: str, ca_bundle: str, check_hostname: bool = True) -> MysqlPlugin:
    plugin = MysqlPlugin(ca_bundle=ca_bundle, check_hostname=check_hostname)
    plugin.dsn = Secret.of(address)
    return plugin


def test_the_settings_are_read_over_tls(tls_at: Callable[[str], str], authority: Authority) -> None:
    assert read(trusting(tls_at("localhost"), authority.pem)) == VARIABLES


def test_a_host_name_may_be_left_unchecked(tls_at: Callable[[str], str], authority: Authority) -> None:
    assert read(trusting(tls_at("elsewhere.example"), authority.pem, check_hostname=False)) == VARIABLES


def test_without_mysqls_any_certificate_will_do(tls_at: Callable[[str], str]) -> None:
    assert read(trusting(tls_at("elsewhere.example").replace("mysqls", "mysql"), "")) == VARIABLES


@pytest.mark.parametrize(
    ("host", "is_trusted", "words"),
    [
        ("localhost", False, "comes from an unknown authority"),
        ("elsewhere.example", True, "names another host"),
    ],
)
def test_a_certificate_that_does_not_fit_is_told(
    tls_at: Callable[[str], str], authority: Authority, host: str, is_trusted: bool, words: str
) -> None:
    with pytest.raises(PluginError, match=words):
        read(trusting(tls_at(host), authority.pem if is_trusted else Authority().pem))


def test_a_server_without_tls_learns_no_password(peer: PeerAt) -> None:
    asked: list[str] = []
    server = peer(mysql(VARIABLES, asked=asked))

    with pytest.raises(PluginError, match="SSL is required"):
        read(trusting(f"mysqls://watch:secret@localhost:{server.port}", ""))

    assert asked == []


def test_a_bundle_without_a_certificate_is_told() -> None:
    with pytest.raises(PluginError, match="cannot be used"):
        read(trusting("mysqls://watch:secret@localhost:1", "nothing of use"))


def trickles(connection: socket.socket) -> None:
    """Announce 64 kB and send them a byte at a time: never silent for long, and not done for minutes."""
    connection.sendall(b"\xff\xff\x00\x00")
    while True:
        connection.sendall(b"\x0a")
        time.sleep(0.01)


@pytest.mark.parametrize("script", [stays_silent, trickles], ids=["silent", "a byte at a time"])
def test_no_server_is_waited_for_any_longer(peer: PeerAt, settings: Settings, script: Script) -> None:
    settings.MYSQL_TIMEOUT_SECONDS = 0.3

    with pytest.raises(PluginError, match=r"did not answer in full within 0\.3 seconds"):
        read_variables(Dsn.of(dsn(peer(script))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql://u:p%40ss@h", Dsn("h", 3_306, "u", "p@ss")),
        ("mysql://u@h:3307", Dsn("h", 3_307, "u", "")),
        ("mysqls://u:p@h", Dsn("h", 3_306, "u", "p", tls=True)),
    ],
)
def test_an_address_is_read(text: str, expected: Dsn) -> None:
    assert Dsn.of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h:3306",
        "mysql://h",
        "postgres://u:secret@h",
        "mysql://u:secret@h:99999",
        "mysqls://u:secret@" + "h" * 64,
        "mysqlss://u:secret@h",
    ],
)
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
    assert "begin the address with mysqls://" in out.getvalue()
    assert "secret" not in out.getvalue()


def test_the_command_takes_a_bundle(
    cache: Cache, tls_at: Callable[[str], str], authority: Authority, tmp_path: Path
) -> None:
    path, bundle, out = tmp_path / "dsn", tmp_path / "ca", StringIO()
    path.write_text(tls_at("elsewhere.example"))
    bundle.write_text(authority.pem)

    call_command("mysql_plugin", "pages", "--dsn-file", str(path), "--ca", str(bundle), "--no-host-check", stdout=out)

    assert "Encrypted; the certificate is valid." in out.getvalue()
    assert not MysqlPlugin.objects.get().check_hostname


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
