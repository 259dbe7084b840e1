"""Memcached over TLS, as a real memcached speaks it, and its discovery endpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors import probe
from collectors.failures import Cause
from collectors.tests.certificates import Authority
from collectors.tests.conftest import Poller, status_of
from collectors.tests.memcached import answers, node_list, open_to_all
from collectors.tests.peers import Peer, over_tls
from collectors.tests.test_connections import CERTIFICATES
from collectors.tests.test_probe import drafted
from conftest import MemcachedFactory
from fleet.models import Cache
from fleet.secrets import Secret

pytestmark = pytest.mark.django_db(transaction=True)
CacheAt = Callable[..., Cache]
PeerAt = Callable[..., Peer]
TlsServer = Callable[..., str]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def tls_server(memcached_server: MemcachedFactory, authority: Authority, tmp_path: Path) -> TlsServer:
    """Start a memcached that speaks TLS alone; return its address: `tls_server("localhost")`."""

    def start(*hosts: str, days: int = 30, clients: int = 0, options: tuple[str, ...] = ()) -> str:
        certificate, key = authority.issue(*hosts, days=days).files(tmp_path, "server")
        bundle = tmp_path / "ca.crt"
        bundle.write_text(authority.pem)
        open_to_all(tmp_path)
        files = f"ssl_chain_cert={certificate},ssl_key={key},ssl_ca_cert={bundle},ssl_verify_mode={clients}"
        return f"memcacheds://localhost:{memcached_server('-Z', '-o', files, *options).port}"

    return start


def test_it_reads_over_tls(poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority) -> None:
    cache = cache_at(tls_server("localhost", options=("-m", "32")), ca_bundle=authority.pem)

    poller.poll(cache)
    poller.poll(cache)

    assert status_of(cache).failed_reason == ""
    assert poller.sample(cache.nodes.get(), "maxmemory", "is_primary") == (32 * 2**20, True)
    assert poller.details(cache.nodes.get()) == 1


def test_the_test_of_a_connection_tells_the_certificate(tls_server: TlsServer, authority: Authority) -> None:
    cache = drafted(tls_server("localhost"))
    cache.ca_bundle = authority.pem

    results = probe.test_connection(cache)

    assert [str(one.step) for one in results] == ["resolve", "connect", "tls", "auth", "stats"]
    assert all(one.ok for one in results)
    assert "TLSv1." in results[2].sentence


@pytest.mark.parametrize("case", CERTIFICATES)
def test_it_tells_what_is_wrong_with_a_certificate(
    case: str, poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority
) -> None:
    host, days, is_trusted, cause = CERTIFICATES[case]
    cache = cache_at(tls_server(host, days=days), ca_bundle=authority.pem if is_trusted else Authority().pem)

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_cause) == ("tls", cause)


@pytest.mark.parametrize("is_shown", [True, False])
def test_it_shows_a_client_certificate_where_one_is_wanted(
    poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority, is_shown: bool
) -> None:
    own = authority.issue()
    given: dict[str, Any] = {"client_certificate": own.certificate, "client_key": Secret.of(own.key)}
    cache = cache_at(tls_server("localhost", clients=2), ca_bundle=authority.pem, **given if is_shown else {})

    poller.poll(cache)

    assert status_of(cache).failed_cause == ("" if is_shown else Cause.TLS_CLIENT_CERTIFICATE)


def test_a_plain_address_at_a_tls_port_says_what_to_write(
    poller: Poller, cache_at: CacheAt, tls_server: TlsServer
) -> None:
    cache = cache_at(tls_server("localhost").replace("memcacheds", "memcached"))

    poller.poll(cache)

    assert (status_of(cache).failed_step, status_of(cache).failed_cause) == ("tls", Cause.TLS_EXPECTED)
    assert "memcacheds://" in status_of(cache).failed_reason


def test_a_redis_address_at_a_tls_port_says_what_to_write(
    poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority
) -> None:
    cache = cache_at(tls_server("localhost").replace("memcacheds", "rediss"), ca_bundle=authority.pem)

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.MEMCACHED
    assert "memcacheds://" in status_of(cache).failed_reason


@pytest.mark.usefixtures("short_timeouts")
def test_a_tls_address_at_a_plain_port_says_what_to_write(
    poller: Poller, cache_at: CacheAt, memcached_server: MemcachedFactory
) -> None:
    cache = cache_at(memcached_server().url.replace("memcached", "memcacheds"))

    poller.poll(cache)

    assert status_of(cache).failed_cause in {Cause.TLS_SLOW, Cause.TLS_PLAIN_PORT}
    assert "memcached://" in status_of(cache).failed_reason


def test_sasl_behind_tls_is_no_missing_certificate(
    poller: Poller, cache_at: CacheAt, tls_server: TlsServer, authority: Authority, sasl: tuple[str, ...]
) -> None:
    cache = cache_at(tls_server("localhost", options=sasl), ca_bundle=authority.pem)

    poller.poll(cache)

    assert status_of(cache).failed_cause == Cause.SASL_EXPECTED


def test_an_endpoint_and_its_nodes_speak_tls(
    poller: Poller,
    cache_at: CacheAt,
    peer: PeerAt,
    tls_server: TlsServer,
    authority: Authority,
    tmp_path: Path,
) -> None:
    port = tls_server("localhost").rpartition(":")[2]
    context = authority.issue("localhost").context(tmp_path)
    endpoint = peer(over_tls(context, answers({"config get cluster": node_list(1, f"localhost|127.0.0.1|{port}")})))
    cache = cache_at(f"memcacheds+discovery://localhost:{endpoint.port}", ca_bundle=authority.pem)

    found = probe.discover(cache)
    poller.poll(cache)

    assert (found.ok, found.sentence) == (True, "Found 1 shard with 1 node.")
    assert poller.sample(cache.nodes.present().get(), "is_primary") == (True,)
