import socket
from pathlib import Path

import pytest

from demo.layout import DemoError, Home, free_base_port, members, read_json, taken_ports, write_json
from launcher.valkey import HOST


def test_it_keeps_bus_ports_out_of_the_ephemeral_range() -> None:
    fleet = members(free_base_port())

    assert len(fleet) == 8
    assert max(member.bus_port or 0 for member in fleet) < 32_768


def test_it_sees_a_bus_port_that_is_taken() -> None:
    fleet = members(free_base_port())

    with socket.create_server((HOST, fleet[2].port + 10_000)):
        assert taken_ports(fleet) == [fleet[2].port + 10_000]


def test_it_lets_one_process_hold_a_role(tmp_path: Path) -> None:
    home = Home(tmp_path)

    with home.claim("traffic"):
        assert home.is_running("traffic")
        with pytest.raises(DemoError, match="runs already"), home.claim("traffic"):
            pass

    assert not home.is_running("traffic")
    assert not home.is_running("fleet")


def test_it_reads_a_file_that_was_cut_short_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "fleet.json"
    write_json(path, {"base_port": 17_000})
    whole = read_json(path)

    path.write_text('{"base_po', encoding="utf-8")

    assert whole == {"base_port": 17_000}
    assert read_json(path) == {}


def test_it_says_how_to_start_a_fleet_that_never_was(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"manage\.py demo_fleet"):
        Home(tmp_path).members()
