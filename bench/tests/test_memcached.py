"""The servers that the bench of Memcached polls."""

from pathlib import Path

import pytest

from bench import memcached
from collectors.tests.conftest import Poller
from collectors.tests.conftest import poller as poller
from conftest import needed_program

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memcached, "SERVERS", 2)
    monkeypatch.setattr(memcached, "NODES_A_CACHE", 2)


@pytest.mark.usefixtures("few")
def test_a_few_servers_stand_for_many_nodes(poller: Poller, tmp_path: Path) -> None:
    with memcached.targets(tmp_path, needed_program("memcached"), 4) as caches:
        poller.poll(*caches)

        nodes = [node for cache in caches for node in cache.nodes.all()]
        assert len({(node.host, node.port) for node in nodes}) == 4
        assert all(poller.sample(node, "keys") == (0,) for node in nodes)
        assert all(cache.is_paused for cache in caches)


def test_it_names_the_version() -> None:
    assert memcached.version(needed_program("memcached")).count(".") == 2
