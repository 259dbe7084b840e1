"""What is given of the MySQL behind a Memcached: checked, stored, tried, forgotten."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from collectors.memcached.models import MysqlPlugin
from collectors.memcached.plugin import plugin_of
from collectors.memcached.plugin_settings import drafted, settle, tried
from collectors.tests.certificates import Authority
from collectors.tests.mysql import mysql
from collectors.tests.peers import Peer, closed_port
from fleet.engines import Engine
from fleet.models import Cache

pytestmark = pytest.mark.django_db
PLAIN = {"mysql_dsn": "mysql://watch:secret@127.0.0.1:3306"}
ENCRYPTED = {"mysql_dsn": "mysqls://watch:secret@127.0.0.1:3306"}
VARIABLES = {"daemon_memcached_w_batch_size": "1", "innodb_api_bk_commit_interval": "5"}
PeerAt = Callable[..., Peer]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def cache() -> Cache:
    return Cache.objects.create(name="pages", address="memcached://10.0.0.1:11211", engine=Engine.MEMCACHED)


def kept() -> MysqlPlugin:
    return MysqlPlugin.objects.get()


@pytest.mark.parametrize(("given", "is_encrypted"), [(PLAIN, False), (ENCRYPTED, True)], ids=["plain", "tls"])
def test_an_address_is_stored_encrypted(cache: Cache, given: dict[str, str], is_encrypted: bool) -> None:
    assert settle(cache, given) == {"mysql_dsn": "changed"}

    assert kept().dsn.reveal() == given["mysql_dsn"]
    assert "secret" not in kept().dsn.stored
    assert (kept().is_encrypted, kept().check_hostname) == (is_encrypted, True)


def test_what_is_left_out_stays(cache: Cache, authority: Authority) -> None:
    settle(cache, {**ENCRYPTED, "mysql_ca_bundle": authority.pem})
    MysqlPlugin.objects.update(variables=VARIABLES)

    told = settle(Cache.objects.get(), {"mysql_check_hostname": False})

    assert told == {"mysql_check_hostname": "True -> False"}
    assert (kept().dsn.reveal(), kept().ca_bundle) == (ENCRYPTED["mysql_dsn"], authority.pem)
    assert kept().variables == VARIABLES


def test_what_was_read_of_another_server_is_forgotten(cache: Cache) -> None:
    settle(cache, PLAIN)
    MysqlPlugin.objects.update(variables=VARIABLES, read_at=timezone.now(), failed_words="x")

    settle(Cache.objects.get(), ENCRYPTED)

    assert (kept().variables, kept().read_at, kept().failed_words) == ({}, None, "")


def test_nothing_given_changes_nothing(cache: Cache) -> None:
    settle(cache, PLAIN)

    assert settle(Cache.objects.get(), {"mysql_ca_bundle": "", "mysql_check_hostname": True}) == {}


def test_an_empty_address_forgets_the_stored_one(cache: Cache) -> None:
    settle(cache, PLAIN)
    cache = Cache.objects.get()

    assert settle(cache, {"mysql_dsn": ""}) == {"mysql_dsn": "removed"}

    assert not MysqlPlugin.objects.exists()
    assert plugin_of(cache) is None


def test_a_cache_that_is_no_memcached_any_more_forgets_it(cache: Cache) -> None:
    settle(cache, PLAIN)
    cache.engine = Engine.UNKNOWN

    assert settle(cache, {"mysql_check_hostname": False}) == {"mysql_dsn": "removed"}


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"mysql_dsn": "postgres://u:secret@h"}, "mysql_dsn", "Write mysqls://"),
        ({"mysql_dsn": "mysql://u:secret@h:0x"}, "mysql_dsn", "1 to 65535"),
        ({"mysql_dsn": f"mysql://u:{'x' * 4_000}@h"}, "mysql_dsn", "longer than 4000"),
        ({"mysql_dsn": "mysql://u:secret@h\0"}, "mysql_dsn", "cannot be stored"),
        ({**PLAIN, "mysql_ca_bundle": "x"}, "mysql_ca_bundle", "begin the address with mysqls://"),
        ({"mysql_ca_bundle": "x"}, "mysql_ca_bundle", "only used with TLS"),
        ({**ENCRYPTED, "mysql_ca_bundle": "x"}, "mysql_ca_bundle", "No certificate can be read"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_field(
    cache: Cache, given: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        settle(cache, given)

    assert words in caught.value.message_dict[field][0]
    assert "secret" not in str(caught.value)
    assert not MysqlPlugin.objects.exists()


def test_only_a_memcached_can_be_the_plugin() -> None:
    with pytest.raises(ValidationError, match="Only a Memcached"):
        drafted(Cache(name="game", address="redis://a"), PLAIN)


def test_an_address_that_cannot_be_opened_is_asked_for_again(cache: Cache, settings: Any) -> None:
    settle(cache, PLAIN)
    settings.ENCRYPTION_KEYS = ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]

    with pytest.raises(ValidationError, match="give it again"):
        settle(Cache.objects.get(), {"mysql_check_hostname": False})


def test_a_trial_says_that_a_connection_is_not_safe(cache: Cache, peer: PeerAt) -> None:
    (result,) = tried(cache, {"mysql_dsn": f"mysql://watch:secret@127.0.0.1:{peer(mysql(VARIABLES)).port}"})

    assert (str(result.step), result.ok, result.label) == ("mysql", True, "MySQL's settings")
    assert result.sentence.startswith("It tells 2 settings. Nothing proves")
    assert not MysqlPlugin.objects.exists()


def test_a_trial_checks_the_certificate(cache: Cache, peer: PeerAt, authority: Authority, tmp_path: Path) -> None:
    server = peer(mysql(VARIABLES, tls=authority.issue("localhost").context(tmp_path)))
    address = {"mysql_dsn": f"mysqls://watch:secret@localhost:{server.port}"}

    (good,) = tried(cache, {**address, "mysql_ca_bundle": authority.pem})
    (bad,) = tried(cache, {**address, "mysql_ca_bundle": Authority().pem})

    assert (good.ok, good.sentence) == (True, "It tells 2 settings. Encrypted; the certificate is valid.")
    assert (bad.ok, "unknown authority" in bad.sentence) == (False, True)


def test_a_trial_uses_what_is_stored(cache: Cache) -> None:
    settle(cache, {"mysql_dsn": f"mysql://watch:secret@127.0.0.1:{closed_port()}"})

    (result,) = tried(Cache.objects.get(), {})

    assert not result.ok
    assert "secret" not in result.sentence


def test_without_an_address_nothing_is_tried(cache: Cache) -> None:
    assert tried(cache, {"mysql_dsn": "", "mysql_check_hostname": False}) == []
