"""The demo's page cache: a Memcached with a few readers, and the endpoint that names its one node."""

import random
import shutil
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from demo.workload import text_of
from launcher.memcached import Memcached
from launcher.trouble import LauncherError
from launcher.valkey import HOST, free_port

# The items below take about 30 MB.
OPTIONS = ("--memory-limit=64", "--conn-limit=256", "--threads=1")
PAGES, POPULAR = 20_000, 2_000
READERS = 8
READS_PER_TICK = 12
TICK_SECONDS = 0.1
AGAIN_SECONDS = 2.0
TIMEOUT_SECONDS = 1.0
LIFE_SECONDS = 900


def is_installed() -> bool:
    return shutil.which("memcached") is not None


class Reader:
    """One connection of a web server: it reads pages, and writes those that are missing."""

    def __init__(self, port: int, rng: random.Random) -> None:
        self.connection = socket.create_connection((HOST, port), timeout=TIMEOUT_SECONDS)
        self.answers = self.connection.makefile("rb")
        self.rng = rng

    def read(self, count: int) -> None:
        wanted = [self.page() for _ in range(count)]
        self.connection.sendall(b"get " + b" ".join(f"page:{page}".encode() for page in wanted) + b"\r\n")
        found = set(self.found())
        for page in set(wanted) - found:
            body = text_of(page, 400 + page % 1_600).encode()
            head = f"set page:{page} 0 {LIFE_SECONDS} {len(body)} noreply\r\n"
            self.connection.sendall(head.encode() + body + b"\r\n")

    def page(self) -> int:
        return self.rng.randrange(POPULAR if self.rng.random() < 0.9 else PAGES)

    def found(self) -> Iterator[int]:
        """Return the pages in the answer. Raise OSError where it is none."""
        while (line := self.answers.readline()) != b"END\r\n":
            if not line.startswith(b"VALUE page:"):
                raise ConnectionResetError("The page cache said something else.")
            _, key, _, size = line.split()
            self.answers.read(int(size) + 2)
            yield int(key.removeprefix(b"page:"))

    def close(self) -> None:
        self.answers.close()
        self.connection.close()


class NamesItsNode(socketserver.StreamRequestHandler):
    """Answers `config get cluster` as the discovery endpoints of managed services do."""

    timeout = 30

    def handle(self) -> None:
        with suppress(OSError):
            while line := self.rfile.readline(256):
                self.wfile.write(self.answer(line.strip()))

    def answer(self, command: bytes) -> bytes:
        if command != b"config get cluster":
            return b"ERROR\r\n"
        assert isinstance(self.server, Discovery)
        nodes = f"1\n{HOST}|{HOST}|{self.server.node_port}\n".encode()
        return b"CONFIG cluster 0 %d\r\n%s\r\nEND\r\n" % (len(nodes), nodes)


class Discovery(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, node_port: int) -> None:
        super().__init__((HOST, port), NamesItsNode)
        self.node_port = node_port


@contextmanager
def page_cache(log: Path, ports: tuple[int, int]) -> Iterator[Memcached]:
    """Run the page cache, its discovery endpoint and its readers on these two ports."""
    server, ending = Memcached(ports[0], log, OPTIONS).start(), threading.Event()
    discovery = Discovery(ports[1], ports[0])
    threads = [
        threading.Thread(target=discovery.serve_forever, name="discovery"),
        threading.Thread(target=keep_reading, args=(server, ending), name="readers"),
    ]
    for thread in threads:
        thread.start()
    try:
        yield server
    finally:
        ending.set()
        discovery.shutdown()
        discovery.server_close()
        for thread in threads:
            thread.join()
        server.kill()


def keep_reading(server: Memcached, ending: threading.Event) -> None:
    """Play web servers until told to end; start the server again when it died."""
    rng = random.Random()
    readers: list[Reader] = []
    while not ending.wait(TICK_SECONDS):
        try:
            if server.has_ended():
                server.start()
            while len(readers) < READERS:
                readers.append(Reader(server.port, rng))
            rng.choice(readers).read(READS_PER_TICK)
        except (OSError, LauncherError):
            close_all(readers)
            ending.wait(AGAIN_SECONDS)
    close_all(readers)


def close_all(readers: list[Reader]) -> None:
    while readers:
        readers.pop().close()


def free_ports() -> tuple[int, int]:
    return free_port(), free_port()
