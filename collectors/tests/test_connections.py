"""Every way in which reaching a server fails, against something that really fails so."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from collectors import client_lists, connections, failures
from collectors.connections import Access
from collectors.failures import Cause, ReadError
from collectors.models import ClientReading
from collectors.tests import peers
from collectors.tests.certificates import Authority
from collectors.tests.conftest import Poller, status_of
from collectors.tests.peers import Peer, Script
from fleet.models import Cache
from fleet.secrets import Secret
from launcher.valkey import Valkey

CacheAt = Callable[..., Cache]
StartPeer = Callable[[Script], Peer]

pytestmark = pytest.mark.usefixtures("short_timeouts")

INFO = peers.INFO
ANSWERS: dict[str, tuple[Script, str, Cause]] = {
    "accepts and never answers": (peers.stays_silent, "info", Cause.SILENT),
    "hangs up at once": (peers.hangs_up, "tls", Cause.TLS_EXPECTED),
    "answers garbage": (peers.says(b"\x00\x01nonsense\r\n"), "info", Cause.GARBAGE),
    "half an INFO": (peers.answers({"CLIENT": peers.OK, "INFO": INFO[:900]}), "info", Cause.SILENT),
    "64 MB": (peers.floods(64 * 2**20), "info", Cause.TOO_LONG),
    "an array without end": (peers.says(b"*2147483647\r\n"), "info", Cause.TOO_LONG),
    "a web server": (peers.says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "info", Cause.HTTP),
    "Memcached": (peers.says(b"ERROR\r\nERROR\r\nERROR\r\n"), "info", Cause.MEMCACHED),
    "another greeting": (peers.speaks_first(b"220 mail ready\r\n"), "info", Cause.GARBAGE),
    "maxclients": (peers.speaks_first(b"-ERR max number of clients reached\r\n"), "connect", Cause.MAX_CLIENTS),
    "protected mode": (
        peers.speaks_first(b"-DENIED Redis is running in protected mode\r\n"),
        "connect",
        Cause.PROTECTED,
    ),
    "a Sentinel": (
        peers.answers({"INFO": peers.bulk(peers.captured("sentinel-7.0/info.txt"))}),
        "info",
        Cause.SENTINEL,
    ),
    "not INFO": (peers.answers({"INFO": peers.bulk(b"<html><b>\x07hello</b></html>")}), "info", Cause.NOT_INFO),
    "a number for INFO": (peers.answers({"INFO": b":42\r\n"}), "info", Cause.NOT_INFO),
    "LOADING": (peers.answers({"INFO": b"-LOADING Redis is loading the dataset in memory\r\n"}), "info", Cause.LOADING),
    "MASTERDOWN": (peers.answers({"INFO": b"-MASTERDOWN Link with MASTER is down\r\n"}), "info", Cause.PRIMARY_DOWN),
    "BUSY": (peers.answers({"INFO": b"-BUSY Redis is busy running a script\r\n"}), "info", Cause.BUSY),
    "NOPERM": (peers.answers({"INFO": b"-NOPERM this user has no permissions\r\n"}), "info", Cause.NO_PERMISSION),
    "an error": (peers.answers({"INFO": b"-ERR out of order\r\n"}), "info", Cause.ERROR_REPLY),
}


def sentence(cause: Cause) -> str:
    """Return the beginning of a cause's sentence, up to the server's own words."""
    return str(failures.SENTENCES[cause]).partition("%(")[0]


@pytest.mark.parametrize("case", ANSWERS)
def test_it_tells_what_is_wrong_with_a_strange_server(
    case: str, poller: Poller, cache_at: CacheAt, peer: StartPeer
) -> None:
    script, step, cause = ANSWERS[case]
    cache = cache_at(peer(script).url)

    poller.poll(cache)

    status = status_of(cache)
    assert status.failed_step == step
    assert status.failed_reason.startswith(sentence(cause))
    assert status.answered_at is None


def test_it_tells_half_a_reply_from_silence(poller: Poller, cache_at: CacheAt, peer: StartPeer) -> None:
    cache = cache_at(peer(peers.says(peers.OK, INFO[:900])).url)

    poller.poll(cache)

    assert status_of(cache).failed_reason == sentence(Cause.CUT)


def test_it_names_an_unknown_host(poller: Poller, cache_at: CacheAt) -> None:
    cache = cache_at("redis://no-such-host.invalid:6379")

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_reason) == ("resolve", sentence(Cause.UNKNOWN_HOST))


def test_it_names_a_closed_port(poller: Poller, cache_at: CacheAt) -> None:
    cache = cache_at(f"redis://127.0.0.1:{peers.closed_port()}")

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_reason) == ("connect", sentence(Cause.REFUSED))


def test_it_names_a_full_backlog(poller: Poller, cache_at: CacheAt) -> None:
    with peers.full_backlog() as port:
        cache = cache_at(f"redis://127.0.0.1:{port}")
        poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_reason) == ("connect", sentence(Cause.CONNECT_SLOW))


def test_it_names_a_stopped_process(poller: Poller, cache_at: CacheAt, valkey_server: Callable[..., Valkey]) -> None:
    server = valkey_server()
    cache = cache_at(server.url)
    server.pause()

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_reason) == ("info", sentence(Cause.SILENT))


LOGINS = {
    "no password": ("", "", Cause.PASSWORD_MISSING),
    "a wrong password": ("", "wrong", Cause.PASSWORD_WRONG),
    "a wrong user": ("nobody", "right", Cause.USER_OR_PASSWORD_WRONG),
}


@pytest.mark.parametrize("case", LOGINS)
def test_it_tells_what_is_wrong_with_a_login(
    case: str, poller: Poller, cache_at: CacheAt, valkey_server: Callable[..., Valkey]
) -> None:
    username, password, cause = LOGINS[case]
    cache = cache_at(valkey_server("--requirepass", "right").url, password, username=username)

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_reason) == ("auth", sentence(cause))


def test_it_tells_a_password_that_nobody_asked_for(
    poller: Poller, cache_at: CacheAt, valkey_server: Callable[..., Valkey]
) -> None:
    cache = cache_at(valkey_server().url, "needless")

    poller.poll(cache)

    assert status_of(cache).failed_reason == sentence(Cause.PASSWORD_UNEXPECTED)


def test_it_logs_in_as_a_user(poller: Poller, cache_at: CacheAt, valkey_server: Callable[..., Valkey]) -> None:
    server = valkey_server()
    server.ask("ACL", "SETUSER", "watcher", "on", ">secret", "+info", "+ping")
    cache = cache_at(server.url, "secret", username="watcher")

    poller.poll(cache)

    assert status_of(cache).failed_reason == ""


def test_it_never_repeats_a_password_that_a_server_repeats(poller: Poller, cache_at: CacheAt, peer: StartPeer) -> None:
    words = b"-ERR unknown command `AUTH`, with args beginning with: `sesame-open`\r\n"
    cache = cache_at(peer(peers.answers({"AUTH": words})).url, "sesame-open")

    poller.poll(cache)

    assert "unknown command" in status_of(cache).failed_reason
    assert "sesame" not in status_of(cache).failed_reason
    assert "sesame" not in repr(Access(tls=False, password="sesame-open"))


def test_it_says_when_a_secret_cannot_be_decrypted(poller: Poller, cache_at: CacheAt, settings: Settings) -> None:
    cache = cache_at("redis://127.0.0.1:1", "secret")
    settings.ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]

    poller.poll(cache)

    assert status_of(cache).failed_reason == sentence(Cause.SECRET_UNREADABLE)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def tls_server(
    redis_server: Callable[..., Valkey], authority: Authority, tmp_path: Path
) -> Callable[..., tuple[Valkey, str]]:
    """Start redis-server with TLS on a second port; return it and its address: `tls_server("localhost")`."""

    def start(*hosts: str, days: int = 30, clients: str = "no") -> tuple[Valkey, str]:
        certificate, key = authority.issue(*hosts, days=days).files(tmp_path, "server")
        bundle = tmp_path / "ca.crt"
        bundle.write_text(authority.pem)
        port = peers.closed_port()
        options = ["--tls-port", str(port), "--tls-cert-file", certificate, "--tls-key-file", key]
        server = redis_server(*options, "--tls-ca-cert-file", str(bundle), "--tls-auth-clients", clients)
        return server, f"rediss://localhost:{port}"

    return start


TlsServer = Callable[..., tuple[Valkey, str]]


def test_it_reads_over_tls(poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority) -> None:
    _, address = tls_server("localhost")
    cache = cache_at(address, ca_bundle=authority.pem)

    poller.poll(cache)
    poller.poll(cache)

    assert status_of(cache).failed_reason == ""
    assert poller.sample(cache.nodes.get(), "is_primary") == (True,)


def test_it_reads_client_lists_over_tls(
    poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority
) -> None:
    _, address = tls_server("localhost")
    cache = cache_at(address, ca_bundle=authority.pem)
    poller.poll(cache)

    client_lists.read(cache.pk)

    reading = ClientReading.objects.get()
    assert (reading.failure, reading.own) == ("", 2)


def test_it_shows_a_client_certificate(
    poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority
) -> None:
    _, address = tls_server("localhost", clients="yes")
    own = authority.issue()
    key = Secret.of(own.key)
    cache = cache_at(address, ca_bundle=authority.pem, client_certificate=own.certificate, client_key=key)

    poller.poll(cache)

    assert status_of(cache).failed_reason == ""


def test_it_says_when_a_client_certificate_is_wanted(
    poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority
) -> None:
    _, address = tls_server("localhost", clients="yes")
    cache = cache_at(address, ca_bundle=authority.pem)

    poller.poll(cache)

    assert status_of(cache).failed_reason == sentence(Cause.TLS_CLIENT_CERTIFICATE)


CERTIFICATES = {
    "an expired certificate": ("localhost", -1, True, Cause.TLS_EXPIRED),
    "an unknown authority": ("localhost", 30, False, Cause.TLS_UNKNOWN_CA),
    "another host's certificate": ("elsewhere.example", 30, True, Cause.TLS_HOST_NAME),
}


@pytest.mark.parametrize("case", CERTIFICATES)
def test_it_tells_what_is_wrong_with_a_certificate(
    case: str, poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority
) -> None:
    host, days, is_trusted, cause = CERTIFICATES[case]
    _, address = tls_server(host, days=days)
    cache = cache_at(address, ca_bundle=authority.pem if is_trusted else Authority().pem)

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_reason) == ("tls", sentence(cause))


def test_it_takes_another_hosts_certificate_where_told_to(
    poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority
) -> None:
    _, address = tls_server("elsewhere.example")
    cache = cache_at(address, ca_bundle=authority.pem, tls_check_hostname=False)

    poller.poll(cache)

    assert status_of(cache).failed_reason == ""


def test_it_follows_a_server_to_a_new_authority(
    poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority, tmp_path: Path
) -> None:
    server, address = tls_server("localhost")
    cache, new = cache_at(address, ca_bundle=authority.pem), Authority("Next authority")
    poller.poll(cache)
    certificate, key = new.issue("localhost").files(tmp_path, "next")

    server.ask("CONFIG", "SET", "tls-cert-file", certificate, "tls-key-file", key)
    server.ask("CLIENT", "KILL", "TYPE", "normal")
    poller.poll(cache)
    before = status_of(cache).failed_cause
    # As the project's next look does when the service tells of both.
    Cache.objects.filter(pk=cache.pk).update(ca_bundle=authority.pem + new.pem, revision=cache.revision + 1)
    poller.poll(Cache.objects.get(pk=cache.pk))

    assert (before, status_of(cache).failed_cause) == (Cause.TLS_UNKNOWN_CA, "")


def test_it_names_tls_to_a_plain_port(poller: Poller, cache_at: CacheAt, valkey_server: Callable[..., Valkey]) -> None:
    cache = cache_at(f"rediss://127.0.0.1:{valkey_server().port}")

    poller.poll(cache)

    status = status_of(cache)
    assert status.failed_step == "tls"
    assert status.failed_reason in {sentence(Cause.TLS_PLAIN_PORT), sentence(Cause.TLS_SLOW)}


def test_it_names_plain_text_to_a_tls_port(poller: Poller, cache_at: CacheAt, tls_server: TlsServer) -> None:
    _, address = tls_server("localhost")
    cache = cache_at(address.replace("rediss", "redis"))

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_reason) == ("tls", sentence(Cause.TLS_EXPECTED))


def test_it_names_a_bundle_that_holds_no_certificate() -> None:
    with pytest.raises(ReadError) as caught:
        connections.tls_context(Access(tls=True, ca_bundle="nothing of use"))

    assert caught.value.cause is Cause.TLS_FILES
