"""The port that is held for the web server."""

import socket

import pytest

from launcher import ports
from launcher.trouble import LauncherError


def test_two_starts_at_once_do_not_get_the_same_port() -> None:
    with ports.reserve("127.0.0.1", 0) as first, ports.reserve("127.0.0.1", 0) as second:
        assert first.getsockname()[1] != second.getsockname()[1]


def test_a_named_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ports.PortTakenError, match="is taken"):
        ports.reserve("127.0.0.1", taken.getsockname()[1])


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(LauncherError, match="cannot be opened"):
        ports.reserve("192.0.2.1", 8000)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(LauncherError, match="is not known"):
        ports.reserve("no-such-host.invalid", 8000)
