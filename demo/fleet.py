"""The demo fleet: real servers, started together, kept alive and stopped together."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from demo import caches, cluster, orders
from demo.layout import GAME, HOST, DemoError, Home, Member, free_base_port, members, taken_ports, write_json
from demo.nodes import Node, end_leftovers, stop_all

START_SECONDS = 10.0
WHOLE_SECONDS = 20.0
TEND_SECONDS = 0.2

Say = Callable[[str], None]


class Fleet:
    """All servers of one directory."""

    def __init__(self, home: Home, base_port: int, is_formed: bool = False) -> None:
        self.home = home
        self.base_port = base_port
        self.members = members(base_port)
        ports = {member.name: member.port for member in self.members}
        self.nodes = [Node(member, home, ports.get(member.primary)) for member in self.members]
        self.is_formed = is_formed

    @property
    def cluster(self) -> list[Member]:
        return [member for member in self.members if member.cache == GAME]

    def start(self) -> None:
        """Start all servers and wait until both caches are whole. Raise DemoError where they do not come up."""
        held = orders.read(self.home).held_node
        self.record()
        if not self.is_formed:
            shutil.rmtree(self.home.path / "nodes", ignore_errors=True)
        for node in self.nodes:
            if not (self.is_formed and node.member.name == held):
                node.start()
        self.record()
        for node in self.nodes:
            if node.process and not cluster.until(lambda m=node.member: cluster.answers(m), START_SECONDS):  # type: ignore[misc]
                raise DemoError(f"{node.member.name} does not answer on port {node.member.port}: {node.complaint()}")
        if not self.is_formed:
            cluster.form(self.cluster)
        if not cluster.until(self.is_whole, WHOLE_SECONDS):
            raise DemoError(
                f"The demo cluster did not become whole in {WHOLE_SECONDS:.0f} s. Stop the fleet, delete "
                f"{self.home.path} and start again."
            )
        self.is_formed = True
        self.record()

    def is_whole(self) -> bool:
        up = [node.member for node in self.nodes if node.pid]
        game = [member for member in up if member.cache == GAME]
        return all(cluster.is_whole(member, len(self.cluster)) for member in game) and all(map(cluster.follows, up))

    def tend(self, say: Say) -> None:
        """Restart what died, kill what is held down; once."""
        held, now = orders.read(self.home).held_node, time.monotonic()
        changed = [node for node in self.nodes if node.tend(node.member.name == held, now)]
        for node in changed:
            say(f"{node.member.name} on port {node.member.port} was {'started again' if node.pid else 'killed'}")
        if changed:
            self.record()

    def record(self) -> None:
        write_json(
            self.home.fleet_file,
            {
                "pid": os.getpid(),
                "base_port": self.base_port,
                "formed": self.is_formed,
                "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "nodes": {
                    node.member.name: {
                        "cache": node.member.cache,
                        "host": HOST,
                        "port": node.member.port,
                        "address": f"redis://{HOST}:{node.member.port}",
                        "pid": node.pid,
                    }
                    for node in self.nodes
                },
            },
        )


def prepared(home: Home) -> Fleet:
    """Return the fleet with its ports settled. Raise DemoError where another program sits on one of them."""
    past = home.fleet()
    if not past:
        return Fleet(home, free_base_port())
    fleet = Fleet(home, past["base_port"], past["formed"])
    end_leftovers(fleet.nodes)
    if taken := taken_ports(fleet.members):
        if not fleet.is_formed or not caches.are_registered():
            return Fleet(home, free_base_port())
        ports = ", ".join(map(str, taken))
        raise DemoError(
            f"The demo fleet needs port {ports} again, but another program uses it. Stop that program; or delete "
            f"{home.path}, and the demo fleet takes other ports and its caches follow."
        )
    return fleet


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
            say(f"ready after {time.monotonic() - started:.1f} s on ports {fleet.base_port} to {fleet.base_port + 7}")
            if active := orders.read(home).names():
                say(f"trouble is still ordered: {', '.join(active)}; end it with: manage.py demo_trouble stop")
            while not ending.wait(TEND_SECONDS):
                fleet.tend(say)
        finally:
            home.ready_file.unlink(missing_ok=True)
            stop_all(fleet.nodes)
