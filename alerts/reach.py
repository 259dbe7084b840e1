"""Which addresses messages may go to, without Django: processes that have only this rule follow it, too."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, TypeAlias

IpAddress: TypeAlias = IPv4Address | IPv6Address
# Addresses that carry an IPv4 address in their last bits.
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Reach:
    """Public addresses, and of others those that are allowed by name, address or network.

    `own` are hosts with their ports that the environment points a service at: whoever sets it knows our network.
    """

    allowed: tuple[str, ...] = ()
    own: tuple[tuple[str, int], ...] = ()

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Reach":
        """Return what `dataclasses.asdict` and JSON made of one."""
        return cls(tuple(stored["allowed"]), tuple((host, port) for host, port in stored["own"]))

    def allows(self, host: str, port: int, text: str) -> bool:
        """Return whether messages to the host may go to this address of it."""
        address = bare(ipaddress.ip_address(text.partition("%")[0]))
        if is_public(address) or (host.lower(), port) in self.own:
            return True
        named = host.lower() in {entry.lower() for entry in self.allowed}
        return named or any(address in network for network in self._networks())

    def _networks(self) -> Iterator[IPv4Network | IPv6Network]:
        for entry in self.allowed:
            try:
                yield ipaddress.ip_network(entry, strict=False)
            except ValueError:
                # A host name.
                continue


def bare(address: IpAddress) -> IpAddress:
    """Return the IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, IPv4Address):
        return address
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def is_public(address: IpAddress) -> bool:
    return address.is_global and not address.is_multicast
