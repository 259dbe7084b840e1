"""Addresses as people write them: redis://host:6379, rediss://host, memcached://host, lists of them."""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from django.utils.translation import gettext as _


class Protocol(StrEnum):
    """What the servers behind an address speak; the values begin addresses without TLS."""

    REDIS = "redis"
    MEMCACHED = "memcached"
    # An endpoint that names the nodes: those of Memorystore and ElastiCache for Memcached.
    DISCOVERY = "memcached+discovery"


SCHEMES = {
    "redis": (Protocol.REDIS, False),
    "valkey": (Protocol.REDIS, False),
    "rediss": (Protocol.REDIS, True),
    "valkeys": (Protocol.REDIS, True),
    "memcached": (Protocol.MEMCACHED, False),
    "memcacheds": (Protocol.MEMCACHED, True),
    "memcached+discovery": (Protocol.DISCOVERY, False),
    "memcacheds+discovery": (Protocol.DISCOVERY, True),
}
WITH_TLS = {
    Protocol.REDIS: "rediss",
    Protocol.MEMCACHED: "memcacheds",
    Protocol.DISCOVERY: "memcacheds+discovery",
}
DEFAULT_PORTS = {Protocol.REDIS: 6379, Protocol.MEMCACHED: 11211, Protocol.DISCOVERY: 11211}


class AddressError(ValueError):
    """An address that cannot be used; the text says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class Address:
    """One server to connect to. `text` never holds credentials."""

    host: str
    port: int
    tls: bool
    protocol: Protocol = Protocol.REDIS

    @property
    def text(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{WITH_TLS[self.protocol] if self.tls else self.protocol}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """User and password taken out of an address."""

    username: str
    password: str


def parse_addresses(text: str) -> tuple[list[Address], Credentials]:
    """Return the servers named in `text` (separated by commas or blanks) and the first credentials in it.

    Raise AddressError for an empty list, an unknown scheme, a bad port, a path, mixed protocols or mixed TLS.
    """
    addresses, credentials = [], Credentials("", "")
    for part in text.replace(",", " ").split():
        address, found = parse_address(part)
        addresses.append(address)
        credentials = credentials if credentials.password or credentials.username else found
    if not addresses:
        raise AddressError(_("Give an address such as redis://10.0.0.5:6379."))
    if len({address.protocol for address in addresses}) > 1:
        raise AddressError(_("All servers of one cache begin alike: redis://, memcached:// or memcached+discovery://."))
    if len({address.tls for address in addresses}) > 1:
        raise AddressError(
            _("Use either %(plain)s:// or %(tls)s:// for all servers of one cache, not both.")
            % {"plain": addresses[0].protocol, "tls": WITH_TLS[addresses[0].protocol]}
        )
    if len(addresses) > 1 and addresses[0].protocol is Protocol.DISCOVERY:
        raise AddressError(_("Name one discovery endpoint only: it knows all nodes of its cache."))
    if len(set(addresses)) < len(addresses):
        raise AddressError(_("The list names the same server twice."))
    return addresses, credentials


def parse_address(part: str) -> tuple[Address, Credentials]:
    """Return one server and the credentials in its URL. Raise AddressError as parse_addresses does."""
    if "://" not in part:
        part = f"redis://{part}"
    try:
        url = urlsplit(part)
        given_port = url.port
    except ValueError as error:
        raise AddressError(_("The port must be a number from 1 to 65535.")) from error
    if given_port == 0:
        raise AddressError(_("The port must be a number from 1 to 65535."))
    if url.scheme not in SCHEMES:
        raise AddressError(
            _(
                "The address begins with %(scheme)s://; use redis:// or memcached://, with TLS rediss:// or"
                " memcacheds://."
            )
            % {"scheme": url.scheme[:20]}
        )
    protocol, tls = SCHEMES[url.scheme]
    if not url.hostname or any(not c.isprintable() or c.isspace() for c in url.hostname):
        example = f"{url.scheme}://host:{DEFAULT_PORTS[protocol]}"
        raise AddressError(_("The address has no host; write %(example)s.") % {"example": example})
    if url.path.strip("/") not in {"", "0"} or url.query or url.fragment:
        raise AddressError(_("Leave out what follows the port: Shardwatch reads all databases of a server."))
    credentials = Credentials(unquote(url.username or ""), unquote(url.password or ""))
    port = DEFAULT_PORTS[protocol] if given_port is None else given_port
    return Address(url.hostname, port, tls, protocol), credentials
