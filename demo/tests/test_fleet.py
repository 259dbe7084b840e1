import os
import shutil
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from demo import caches, fleet
from demo.layout import DemoError, Home, free_base_port, members, write_json
from demo.nodes import Node, client, end_leftovers
from demo.tests.conftest import Demo
from fleet.models import Cache
from launcher.valkey import HOST, SLOTS, Valkey
from launcher.waiting import until

# The fleet's own process writes to the tests' database, which only this mark brings about.
pytestmark = pytest.mark.django_db


def test_it_brings_up_a_cluster_and_a_primary_with_a_replica(demo: Demo) -> None:
    roles = {member.name: demo.info(member.name)["role"] for member in demo.home.members()}
    with client(demo.member("game-1").port) as server:
        cluster = server.execute_command("CLUSTER INFO")

    assert sorted(roles.values()) == ["master"] * 4 + ["slave"] * 4
    assert (roles["session-1"], roles["session-2"]) == ("master", "slave")
    assert (cluster["cluster_state"], int(cluster["cluster_slots_ok"])) == ("ok", SLOTS)
    assert (cluster["cluster_known_nodes"], cluster["cluster_size"]) == ("6", "3")


def test_it_writes_down_where_its_servers_are(demo: Demo) -> None:
    told = demo.home.fleet()

    for member in demo.home.members():
        assert told["nodes"][member.name]["address"] == f"redis://{HOST}:{member.port}"
        assert told["nodes"][member.name]["pid"] in demo.processes()
        assert member.port < 22_768


def test_it_refuses_a_second_fleet_in_the_same_directory(demo: Demo) -> None:
    over = threading.Event()
    over.set()

    with pytest.raises(DemoError, match="runs already"):
        fleet.run(demo.home, over, print)


def test_it_restarts_a_server_that_dies(demo: Demo) -> None:
    before = demo.home.fleet()["nodes"]["session-2"]["pid"]

    os.kill(before, signal.SIGKILL)

    assert until(lambda: demo.home.fleet()["nodes"]["session-2"]["pid"] not in {before, None}, 5)
    assert until(lambda: demo.info("session-2")["master_link_status"] == "up", 5)


def test_it_comes_back_on_the_same_ports_with_its_data(own_demo: Demo) -> None:
    process = own_demo.start_fleet()
    ports = [member.port for member in own_demo.home.members()]
    with client(own_demo.member("session-1").port) as server:
        server.set("kept", "yes")

    process.send_signal(signal.SIGTERM)

    assert process.wait(10) == 0
    assert own_demo.processes() == []
    assert not own_demo.home.ready_file.exists()
    own_demo.start_fleet()
    assert [member.port for member in own_demo.home.members()] == ports
    with client(own_demo.member("session-1").port) as server:
        assert server.get("kept") == "yes"


def test_it_heals_after_everything_was_killed(own_demo: Demo, demo: Demo) -> None:
    own_demo.start_fleet()
    ports = {member.port for member in own_demo.home.members()}

    for pid in own_demo.processes():
        os.kill(pid, signal.SIGKILL)
    own_demo.start_fleet()

    assert {member.port for member in own_demo.home.members()} == ports
    assert not ports & {member.port for member in demo.home.members()}


def test_it_takes_its_servers_along_when_it_is_killed(own_demo: Demo) -> None:
    process = own_demo.start_fleet()
    with client(own_demo.member("session-1").port) as server:
        server.set("unsaved", "yes")
    # A server that cannot save its data would by default refuse to end.
    shutil.rmtree(own_demo.home.node("session-1"))

    process.kill()

    assert until(lambda: own_demo.processes() == [], 10)


def test_it_names_the_port_that_another_program_took(tmp_path: Path) -> None:
    home, base_port = Home(tmp_path), free_base_port()
    write_json(home.fleet_file, {"base_port": base_port, "formed": True})
    caches.register(members(base_port))

    with socket.create_server((HOST, base_port + 1)):
        with pytest.raises(DemoError, match=f"needs port {base_port + 1} again"):
            fleet.prepared(home)
        Cache.objects.all().delete()
        moved = fleet.prepared(home)

    assert moved.base_port != base_port
    assert not moved.is_formed


def test_it_ends_servers_that_an_earlier_fleet_left(tmp_path: Path, valkey_server: Callable[..., Valkey]) -> None:
    other = valkey_server()
    first, second, *_ = members(free_base_port())
    left, recycled = Node(first, Home(tmp_path), None), Node(second, Home(tmp_path), None)
    left.start()
    recycled.server.directory.mkdir(parents=True)
    (recycled.server.directory / "valkey.pid").write_text(str(other.pid), encoding="ascii")

    end_leftovers([left, recycled])

    assert until(left.server.has_ended, 10)
    assert not other.has_ended(), "a process id that now belongs to somebody else was killed"
