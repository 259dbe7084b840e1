"""Where messages may go: host names resolved, private networks refused unless allowed."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from alerts.causes import Cause
from alerts.channel import Final, RetryAt

IpAddress: TypeAlias = IPv4Address | IPv6Address
# Addresses that carry an IPv4 address in their last bits.
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


class TargetError(Exception):
    """Nothing can be sent there; `outcome` says why."""

    def __init__(self, outcome: RetryAt | Final) -> None:
        super().__init__(outcome.cause, outcome.words)
        self.outcome = outcome


async def addresses(host: str, port: int, seconds: float) -> list[str]:
    """Return the addresses of a host that messages may go to, checked once so that no later answer counts.

    Raise TargetError where DNS gives none in time, or only such as are not allowed.
    """
    try:
        async with asyncio.timeout(seconds):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise TargetError(RetryAt(cause=Cause.DNS_SLOW, words=host)) from None
    except (OSError, UnicodeError):
        raise TargetError(RetryAt(cause=Cause.UNKNOWN_HOST, words=host)) from None
    named = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    allowed = [text for text in named if is_allowed(host, port, text)]
    if not allowed:
        raise TargetError(Final(cause=Cause.PRIVATE_ADDRESS, words=host))
    return allowed


def is_allowed(host: str, port: int, text: str) -> bool:
    """Return whether messages to the host may go to this address of it."""
    address = bare(ipaddress.ip_address(text.partition("%")[0]))
    if is_public(address) or is_ours(host, port):
        return True
    named = host.lower() in {entry.lower() for entry in settings.ALLOWED_PRIVATE_HOSTS}
    return named or any(address in network for network in allowed_networks())


def bare(address: IpAddress) -> IpAddress:
    """Return the IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, IPv4Address):
        return address
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def is_public(address: IpAddress) -> bool:
    return address.is_global and not address.is_multicast


def is_ours(host: str, port: int) -> bool:
    """Return whether the environment points a service there: whoever sets it knows our network."""
    return any((parts.hostname, port_of(parts)) == (host.lower(), port) for parts in map(urlsplit, own_addresses()))


def own_addresses() -> tuple[str, ...]:
    return settings.PAGERDUTY_URL, settings.SLACK_URL, settings.HEARTBEAT_URL


def port_of(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def allowed_networks() -> Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    for entry in settings.ALLOWED_PRIVATE_HOSTS:
        try:
            yield ipaddress.ip_network(entry, strict=False)
        except ValueError:
            # A host name.
            continue
