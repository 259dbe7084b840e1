"""The demo's page cache, with a real Memcached."""

import os
import random
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import needed_program
from demo import memcached
from demo.cloud.reading import MemcachedServer, asked
from demo.memcached import Reader
from launcher.memcached import Memcached
from launcher.valkey import HOST
from launcher.waiting import until


@pytest.fixture
def page_cache(tmp_path: Path) -> Iterator[tuple[Memcached, int]]:
    """A running page cache and the port of its discovery endpoint."""
    needed_program("memcached")
    ports = memcached.free_ports()
    with memcached.page_cache(tmp_path / "memcached.log", ports) as server:
        yield server, ports[1]


def stat(server: Memcached, name: str) -> float:
    reading = MemcachedServer(server.port).read(0)
    return reading.number(name) if reading else 0.0


def test_readers_fill_it_and_find_what_they_wrote(page_cache: tuple[Memcached, int]) -> None:
    server, _ = page_cache

    assert until(lambda: stat(server, "curr_items") > 100, 10)
    assert until(lambda: stat(server, "get_hits") > 0, 10)
    assert stat(server, "curr_connections") >= memcached.READERS


def test_its_discovery_endpoint_names_the_node(page_cache: tuple[Memcached, int]) -> None:
    server, discovery_port = page_cache

    said = asked(discovery_port, b"config get cluster\r\n")

    nodes = f"1\n{HOST}|{HOST}|{server.port}\n"
    assert said.decode() == f"CONFIG cluster 0 {len(nodes)}\r\n{nodes}\r\nEND\r\n"


def test_its_discovery_endpoint_knows_nothing_else(page_cache: tuple[Memcached, int]) -> None:
    with socket.create_connection((HOST, page_cache[1]), timeout=5) as connection:
        connection.sendall(b"stats\r\n")

        assert connection.recv(100) == b"ERROR\r\n"


def test_it_starts_again_when_it_died(page_cache: tuple[Memcached, int]) -> None:
    server, _ = page_cache
    assert server.process is not None
    before = server.process.pid

    os.kill(before, signal.SIGKILL)

    assert until(lambda: server.process is not None and server.process.pid != before, 10)
    assert until(lambda: stat(server, "curr_connections") >= memcached.READERS, 10)


def test_it_ends_with_its_readers(tmp_path: Path) -> None:
    needed_program("memcached")
    with memcached.page_cache(tmp_path / "memcached.log", memcached.free_ports()) as server:
        pass

    assert server.has_ended()
    assert not server.listens()


def test_a_reader_writes_what_is_missing(page_cache: tuple[Memcached, int]) -> None:
    server, _ = page_cache
    reader = Reader(server.port, random.Random(7))
    page = reader.page()
    reader.rng.seed(7)

    reader.read(1)

    assert until(lambda: f"VALUE page:{page} " in server.ask(f"get page:{page}"), 5)
    reader.close()


def test_a_reader_gives_up_on_an_answer_that_is_none(page_cache: tuple[Memcached, int]) -> None:
    _, discovery_port = page_cache
    reader = Reader(discovery_port, random.Random(7))

    with pytest.raises(ConnectionResetError):
        reader.read(1)
    reader.close()
