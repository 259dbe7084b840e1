"""The port of the web server: a free one, held until the server takes it."""

import socket

from launcher.trouble import LauncherError

FIRST_PORT = 8000
TRIES = 1000


def reserve(bind: str, port: int) -> socket.socket:
    """Return a bound socket that keeps the port for us until it is closed; port 0 means the first free one from 8000.

    Raise LauncherError where the port is taken or the address is not ours.
    """
    if port:
        return _bind(bind, port)
    for candidate in range(FIRST_PORT, FIRST_PORT + TRIES):
        try:
            return _bind(bind, candidate)
        except PortTakenError:
            continue
    raise LauncherError(f"No port from {FIRST_PORT} on is free.", "Name one with --port N.")


class PortTakenError(LauncherError):
    """Another program listens there."""


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror as error:
        raise LauncherError(f"The address {host} is not known: {error.strerror}.", "Correct --bind.") from error
    held = socket.socket(family)
    # Connections of the last run that are still closing do not count; with the option taken back, nobody else may join.
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind(address)
    except OSError as error:
        held.close()
        raise _reason(host, port, error) from error
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return held


def _reason(host: str, port: int, error: OSError) -> LauncherError:
    if isinstance(error, PermissionError):
        return LauncherError(f"This account may not open port {port}.", "Name a port above 1023 with --port N.")
    if "in use" in str(error.strerror):
        return PortTakenError(
            f"Port {port} is taken by another program.", "Name another with --port N, or leave --port out."
        )
    return LauncherError(f"{host} port {port} cannot be opened: {error.strerror}.", "Correct --bind and --port.")
