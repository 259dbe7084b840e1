"""Orders of troubles, which three processes read while a fourth one writes."""

from pathlib import Path

import pytest

from demo import orders
from demo.layout import GAME, PORTS, ROSTER, SESSIONS, Home, members, read_json


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_nothing_is_ordered_at_first(home: Home) -> None:
    assert orders.read(home) == orders.Orders(0, {})


def test_orders_add_up_and_each_has_a_number_of_its_own(home: Home) -> None:
    orders.order(home, "growth", cache=SESSIONS)

    now = orders.order(home, "kill-node", node="game-2")

    assert (now.revision, now.names(), now.held_node) == (2, ["growth", "kill-node"], "game-2")
    assert orders.read(home) == now


def test_a_trouble_is_the_games_unless_it_says_otherwise(home: Home) -> None:
    orders.order(home, "storm")
    now = orders.order(home, "growth", cache=SESSIONS)

    assert (now.cache_of("storm"), now.cache_of("growth")) == (GAME, SESSIONS)


def test_an_order_that_is_repeated_is_news(home: Home) -> None:
    first = orders.order(home, "storm")

    assert orders.order(home, "storm").revision > first.revision


def test_clearing_is_an_order_too(home: Home) -> None:
    orders.order(home, "kill-node", node="game-1")

    now = orders.clear(home)

    assert (now.revision, now.active, now.held_node) == (2, {}, None)


@pytest.mark.parametrize("content", ["", "[]", "nul", "7", '"text"', "{", '{"revision"'])
def test_a_damaged_file_orders_nothing(content: str, home: Home) -> None:
    (home.path / "trouble.json").write_text(content)

    assert orders.read(home) == orders.Orders(0, {})
    assert read_json(home.path / "trouble.json") == {}


def test_a_writer_leaves_no_draft(home: Home) -> None:
    orders.order(home, "storm")

    assert [path.name for path in home.path.iterdir()] == ["trouble.json"]


def test_every_replica_has_a_primary_of_its_own_cache() -> None:
    cache_of = {name: cache for name, cache, _primary in ROSTER}

    assert all(cache_of[primary] == cache for _name, cache, primary in ROSTER if primary)


@pytest.mark.parametrize("base", [PORTS.start, PORTS[-1]])
def test_no_block_of_ports_reaches_into_another(base: int) -> None:
    ports = [member.port for member in members(base)]

    assert len({*ports}) == len(ROSTER) <= PORTS.step
    assert ports[0] == base
    assert all((member.bus_port is None) is (member.cache == SESSIONS) for member in members(base))
