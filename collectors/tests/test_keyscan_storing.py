"""bin/manage memkeys --store: the result of a scan from the command line stands on the pages like any other's."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEntry
from collectors.keyscan import starting
from collectors.keyscan.models import Scan, ScanState
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.reasons import Reason
from collectors.tests.cast import cache_with_nodes
from collectors.tests.keyscan import brute_force, client_of, largest
from conftest import ValkeyFactory
from fleet.models import Cache, Node
from fleet.secrets import Secret
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db


def registered(server: Valkey, **more: Any) -> Cache:
    """Return a cache of this one server, with some keys in it."""
    cache = cache_with_nodes(1)
    Node.objects.filter(cache=cache).update(port=server.port)
    Cache.objects.filter(pk=cache.pk).update(address=server.url, **more)
    return Cache.objects.get(pk=cache.pk)


@pytest.fixture
def server(valkey_server: ValkeyFactory) -> Valkey:
    server = valkey_server()
    pipe = client_of(server).pipeline(transaction=False)
    for number in range(200):
        pipe.set(f"user:{number}:profile", "x" * (number * 30))
    pipe.hset("cart", mapping={f"f{n}": "v" * 40 for n in range(800)})
    pipe.execute()
    return server


def store(*words: object) -> dict[str, Any]:
    """Return the report that the command prints."""
    output = StringIO()
    call_command("memkeys", *map(str, words), "--store", "--json", "--brake", "fast", stdout=output, stderr=StringIO())
    return dict(json.loads(output.getvalue()))


@pytest.mark.parametrize("by_name", [True, False])
def test_it_stores_what_it_prints(server: Valkey, by_name: bool) -> None:
    cache, expected = registered(server), brute_force(server)

    report = store(cache.name if by_name else server.url)

    scan = Scan.objects.get()
    assert (scan.cache, scan.state, scan.author) == (cache, ScanState.DONE, "bin/manage")
    assert (scan.keys, scan.bytes) == (report["keys"], report["bytes"]) == (201, sum(expected.values()))
    kept = [(bytes(key.name), key.size) for key in scan.top_keys.order_by("-size", "name")[:100]]
    assert kept == largest(expected)
    assert [change.cause for change in scan.changes.all()] == [Reason.ALL_WALKED]


def test_its_nodes_and_prefixes_are_those_of_the_cache(server: Valkey) -> None:
    cache = registered(server)

    store(cache.name)

    scan = Scan.objects.get()
    shard = scan.shards.get()
    assert (shard.number, shard.node, shard.keys, shard.state) == (1, cache.nodes.get(), 201, "done")
    assert not shard.is_active
    assert shard.busy_seconds > 0
    assert {bytes(row.prefix) for row in scan.prefixes.all()} >= {b"user:", b"user:*:", b"user:*:profile"}


def test_it_is_an_event_of_the_cache_and_stands_in_the_audit(server: Valkey) -> None:
    cache = registered(server)

    store(cache.name)

    assert cache.events.filter(data__scan=Scan.objects.get().pk, until__isnull=False).exists()
    entry = AuditEntry.objects.get(action="scan.store")
    assert (entry.username, entry.target) == ("bin/manage", cache.name)


def test_rules_judge_it(server: Valkey) -> None:
    cache = registered(server)

    store(cache.name)

    assert cache.scan_metrics.get(name="scan_keys").value == 201


@pytest.mark.parametrize(
    ("words", "partial", "estimates"),
    [
        ((), False, False),
        (("--match", "user:1*"), True, False),
        (("--type", "hash"), True, False),
        (("--samples", "5"), False, True),
        (("--samples", "0"), False, False),
        (("--samples", "1000"), False, True),
    ],
)
def test_it_remembers_what_was_asked(server: Valkey, words: tuple[str, ...], partial: bool, estimates: bool) -> None:
    store(registered(server).name, *words)

    scan = Scan.objects.get()
    assert (scan.asked.is_partial, scan.summary["estimates"]) == (partial, estimates)
    assert scan.cache.scan_metrics.exists() is not partial


def test_it_signs_in_as_the_cache_does(valkey_server: ValkeyFactory) -> None:
    server = valkey_server("--requirepass", "s3cret")
    cache = registered(server, password=Secret.of("s3cret"))

    assert store(cache.name)["complete"]
    assert store(server.url)["complete"]


def test_a_password_that_is_given_counts_before_its_own(valkey_server: ValkeyFactory) -> None:
    server = valkey_server("--requirepass", "s3cret")
    registered(server, password=Secret.of("old"))

    assert store(f"redis://:s3cret@127.0.0.1:{server.port}")["complete"]


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1", "nobody", "http://x", "redis://h:0", "", "a\0b"])
def test_it_stores_nothing_of_what_is_not_registered(url: str) -> None:
    with pytest.raises(CommandError) as caught:
        store(url)

    assert caught.value.returncode == 2
    assert not Scan.objects.exists()


def test_it_does_not_scan_beside_another_scan(server: Valkey) -> None:
    cache = registered(server)
    starting.start(cache, ScanOptions(may_use_primary=True), "gentle")

    with pytest.raises(CommandError, match="is being scanned already"):
        store(cache.name)


def test_it_stores_nothing_of_a_server_that_is_away(server: Valkey) -> None:
    cache = registered(server)
    server.kill()

    with pytest.raises(CommandError, match="Nothing listens on this port") as caught:
        store(cache.name)

    assert caught.value.returncode == 1
    assert not Scan.objects.exists()


def test_without_store_it_needs_no_cache(server: Valkey) -> None:
    output = StringIO()

    call_command("memkeys", server.url, "--brake", "fast", stdout=output)

    assert "Measured all keys: 201" in output.getvalue()
    assert not Scan.objects.exists()
