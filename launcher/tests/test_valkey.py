"""Real servers from the wheel."""

from collections.abc import Callable

import pytest

from launcher import resp, valkey
from launcher.trouble import LauncherError
from launcher.valkey import Valkey


def test_it_starts_a_server_that_keeps_its_port_over_a_crash(valkey_server: Callable[..., Valkey]) -> None:
    server = valkey_server()

    server.kill()
    assert not server.is_up()
    server.start()

    assert server.ask("PING") == "PONG"


def test_a_server_with_a_password_is_up_and_refuses(valkey_server: Callable[..., Valkey]) -> None:
    server = valkey_server("--requirepass", "open-sesame")

    with pytest.raises(resp.ReplyError, match="NOAUTH"):
        server.ask("INFO")


def test_a_server_that_cannot_start_says_why(valkey_server: Callable[..., Valkey]) -> None:
    with pytest.raises(LauncherError, match="nonsense"):
        valkey_server("--nonsense", "yes")


def test_a_taken_port_is_an_error(valkey_server: Callable[..., Valkey]) -> None:
    taken = valkey_server()

    with pytest.raises(LauncherError, match="is taken"):
        valkey_server(port=taken.port)


def test_a_cluster_serves_all_slots_with_a_replica_each(valkey_cluster: list[Valkey]) -> None:
    state = str(valkey_cluster[0].ask("CLUSTER", "INFO"))

    assert "cluster_slots_ok:16384" in state
    assert len(valkey_cluster) == 6
    assert all("role:slave" in str(node.ask("INFO", "replication")) for node in valkey_cluster[3:])


def test_free_ports_leave_room_for_the_bus() -> None:
    assert valkey.FIRST_PORT <= valkey.free_port() <= valkey.LAST_PORT
