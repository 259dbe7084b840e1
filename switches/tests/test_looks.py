"""Looking at who is still connected, on a real server."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from fleet.models import Cache, Node
from launcher.valkey import Valkey
from switches import changing, looks, tasks
from switches.models import Sighting, Switch
from switches.tests.cast import WHY, instance, operator, switch

pytestmark = pytest.mark.django_db
ValkeyFactory = Callable[..., Valkey]


def watched(server: Valkey, **fields: str) -> Cache:
    cache = Cache.objects.create(name="user", address=server.url, **fields)
    host, port = server.address
    Node.objects.create(cache=cache, identity="one", host=host, port=port, role=Node.Role.PRIMARY)
    return cache


def off(cache: Cache | None) -> Switch:
    return changing.turn_off(switch(cache_now=cache), operator(), WHY)


@contextlib.contextmanager
def connected(server: Valkey, source: str, name: str = "") -> Iterator[str]:
    """Hold a connection that sent commands; yield its address."""
    with socket.create_connection(server.address, source_address=(source, 0)) as client:
        client.sendall(b"CLIENT SETNAME %s\r\nGET a\r\n" % name.encode() if name else b"GET a\r\n")
        client.recv(100)
        yield "{}:{}".format(*client.getsockname())


def test_it_finds_instances_by_host_and_by_name(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    made = off(watched(server))
    instance(made, "pod-1", address="127.0.0.9")
    instance(made, "pod-2")
    instance(made, "pod-3", address="127.0.0.11")

    with connected(server, "127.0.0.9"), connected(server, "127.0.0.9"), connected(server, "127.0.0.10", "pod-2"):
        looks.look(made.pk)

    sighting = Sighting.objects.get()
    assert (sighting.connections, sighting.failure) == (3, "")
    assert {name: found[0] for name, found in sighting.present.items()} == {"127.0.0.9": 2, "pod-2": 1}
    assert sighting.present["127.0.0.9"][2] == "get"


def test_it_finds_one_connection_by_its_port(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    made = off(watched(server))

    with connected(server, "127.0.0.9") as address, connected(server, "127.0.0.9"):
        instance(made, "pod-1", address=address)
        looks.look(made.pk)

    assert [found[0] for found in Sighting.objects.get().present.values()] == [1]


def test_our_own_connections_do_not_count(valkey_server: ValkeyFactory) -> None:
    made = off(watched(valkey_server()))

    looks.look(made.pk)

    assert Sighting.objects.get().connections == 0


def test_a_refusal_is_kept_as_the_reason(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    server.ask("ACL", "SETUSER", "bot", "on", "nopass", "+@all", "-client|list", "~*")
    made = off(watched(server, username="bot"))

    looks.look(made.pk)

    assert "CLIENT" in Sighting.objects.get().failure.upper()


def test_a_server_that_is_gone_is_a_reason_too(valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    made = off(watched(server))
    server.kill()

    looks.look(made.pk)

    assert Sighting.objects.get().failure


def test_a_second_look_at_once_is_left_out(valkey_server: ValkeyFactory) -> None:
    made = off(watched(valkey_server()))

    assert [looks.look(made.pk), looks.look(made.pk)] == [True, False]


def test_it_looks_at_switches_that_are_off_and_watched(valkey_server: ValkeyFactory) -> None:
    cache = watched(valkey_server())
    made = off(cache)
    switch("on", cache_now=cache)
    changing.turn_off(switch("nowhere"), operator(), WHY)

    assert looks.due(timezone.now()) == [made.pk]


@pytest.mark.parametrize(
    ("minutes_off", "seconds_since", "expected"), [(1, 2, False), (1, 5, True), (20, 5, False), (20, 60, True)]
)
def test_it_looks_often_while_people_wait(
    valkey_server: ValkeyFactory, minutes_off: int, seconds_since: int, expected: bool
) -> None:
    made, now = off(watched(valkey_server())), timezone.now()
    Switch.objects.update(stepped_at=now - timedelta(minutes=minutes_off))
    Sighting.objects.create(switch=made, begun_at=now - timedelta(seconds=seconds_since))

    assert (looks.due(now) == [made.pk]) is expected


def test_the_task_looks_at_one(valkey_server: ValkeyFactory) -> None:
    made = off(watched(valkey_server()))

    tasks.look_at(made.pk)

    assert Sighting.objects.get().read_at
