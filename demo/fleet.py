"""The demo fleet: real servers, started together, kept alive and stopped together."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import redis

from demo import caches, orders
from demo.layout import GAME, DemoError, Home, free_base_port, members, taken_ports, write_json
from demo.nodes import Node, client, end_leftovers, stop_all
from launcher.trouble import LauncherError
from launcher.valkey import HOST, SLOTS, form_cluster
from launcher.waiting import until

WHOLE_SECONDS = 20.0
TEND_SECONDS = 0.2

Say = Callable[[str], None]


class Fleet:
    """All servers of one directory. It is formed once the cluster has been made of them."""

    def __init__(self, home: Home, base_port: int, is_formed: bool = False) -> None:
        self.home = home
        self.base_port = base_port
        self.is_formed = is_formed
        self.members = members(base_port)
        ports = {member.name: member.port for member in self.members}
        self.nodes = [Node(member, home, ports.get(member.primary)) for member in self.members]

    def start(self) -> None:
        """Start all servers and wait until both caches are whole. Raise DemoError where they do not come up."""
        self.record()
        if not self.is_formed:
            shutil.rmtree(self.home.path / "nodes", ignore_errors=True)
        held = orders.read(self.home).held_node if self.is_formed else None
        for node in self.nodes:
            if node.member.name != held:
                node.start()
        if not self.is_formed:
            form_cluster([node.server for node in self.nodes if node.member.cache == GAME])
        if not until(self.is_whole, WHOLE_SECONDS):
            raise DemoError(
                f"The demo fleet did not become whole in {WHOLE_SECONDS:.0f} s. "
                f"Delete {self.home.path} and start again."
            )
        self.is_formed = True
        self.record()

    def is_whole(self) -> bool:
        """Tell whether every server that runs serves: all slots, and each replica follows its primary."""
        try:
            return all(serves(node) for node in self.nodes if node.pid)
        except redis.RedisError:
            return False

    def tend(self, say: Say) -> None:
        """Restart what died, kill what is held down; once."""
        held, now = orders.read(self.home).held_node, time.monotonic()
        news = [said for node in self.nodes if (said := node.tend(node.member.name == held, now))]
        for sentence in news:
            say(sentence)
        if news:
            self.record()

    def record(self) -> None:
        nodes = {
            node.member.name: {
                "cache": node.member.cache,
                "address": f"redis://{HOST}:{node.member.port}",
                "port": node.member.port,
                "pid": node.pid,
            }
            for node in self.nodes
        }
        write_json(
            self.home.fleet_file,
            {
                "pid": os.getpid(),
                "base_port": self.base_port,
                "formed": self.is_formed,
                "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "nodes": nodes,
            },
        )


def serves(node: Node) -> bool:
    with client(node.member.port) as server:
        replication: dict[str, str] = server.info("replication")
        if replication["role"] == "slave" and replication["master_link_status"] != "up":
            return False
        if node.member.cache != GAME:
            return True
        told: dict[str, str] = server.execute_command("CLUSTER INFO")
        return told["cluster_state"] == "ok" and int(told["cluster_slots_ok"]) == SLOTS


def prepared(home: Home) -> Fleet:
    """Return the fleet with its ports settled. Raise DemoError where another program sits on one of them."""
    past = home.fleet()
    if not past:
        return Fleet(home, free_base_port())
    fleet = Fleet(home, past["base_port"], past["formed"])
    end_leftovers(fleet.nodes)
    if not (taken := taken_ports(fleet.members)):
        return fleet
    if not fleet.is_formed or not caches.are_registered():
        return Fleet(home, free_base_port())
    raise DemoError(
        f"The demo fleet needs port {', '.join(map(str, taken))} again, but another program uses it. Stop that "
        f"program; or delete {home.path}: the demo fleet then takes other ports and its caches follow."
    )


def run(home: Home, ending: threading.Event, say: Say) -> None:
    """Keep the demo fleet up until told to end. Raise DemoError where it cannot start."""
    started = time.monotonic()
    with home.claim("fleet"):
        home.ready_file.unlink(missing_ok=True)
        fleet = prepared(home)
        try:
            fleet.start()
            for name in caches.register(fleet.members):
                say(f"added {name} to the watched caches")
            home.ready_file.write_text("ready\n", encoding="ascii")
            last_port = fleet.members[-1].port
            say(f"ready after {time.monotonic() - started:.1f} s on ports {fleet.base_port} to {last_port}")
            if active := orders.read(home).names():
                say(f"trouble is still ordered: {', '.join(active)}; end it with: bin/manage demo_trouble stop")
            while not ending.wait(TEND_SECONDS):
                fleet.tend(say)
        except LauncherError as error:
            raise DemoError(str(error)) from error
        finally:
            home.ready_file.unlink(missing_ok=True)
            stop_all(fleet.nodes)
            fleet.record()
