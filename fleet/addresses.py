"""Addresses as people write them: redis://host:6379, rediss://host, lists of them."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from django.utils.translation import gettext as _

SCHEMES = {"redis": False, "valkey": False, "rediss": True, "valkeys": True}
DEFAULT_PORT = 6379


class AddressError(ValueError):
    """An address that cannot be used; the text says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class Address:
    """One server to connect to. `text` never holds credentials."""

    host: str
    port: int
    tls: bool

    @property
    def text(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'rediss' if self.tls else 'redis'}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """User and password taken out of an address."""

    username: str
    password: str


def parse_addresses(text: str) -> tuple[list[Address], Credentials]:
    """Return the servers named in `text` (separated by commas or blanks) and the first credentials in it.

    Raise AddressError for an empty list, an unknown scheme, a bad port, a path or mixed TLS.
    """
    addresses, credentials = [], Credentials("", "")
    for part in text.replace(",", " ").split():
        address, found = parse_address(part)
        addresses.append(address)
        credentials = credentials if credentials.password or credentials.username else found
    if not addresses:
        raise AddressError(_("Give an address such as redis://10.0.0.5:6379."))
    if len({address.tls for address in addresses}) > 1:
        raise AddressError(_("Use either redis:// or rediss:// for all servers of one cache, not both."))
    if len(set(addresses)) < len(addresses):
        raise AddressError(_("The list names the same server twice."))
    return addresses, credentials


def parse_address(part: str) -> tuple[Address, Credentials]:
    """Return one server and the credentials in its URL. Raise AddressError as parse_addresses does."""
    if "://" not in part:
        part = f"redis://{part}"
    try:
        url = urlsplit(part)
        port = DEFAULT_PORT if url.port is None else url.port
    except ValueError as error:
        raise AddressError(_("The port must be a number from 1 to 65535.")) from error
    if port == 0:
        raise AddressError(_("The port must be a number from 1 to 65535."))
    if url.scheme not in SCHEMES:
        raise AddressError(
            _("The address begins with %(scheme)s://; use redis:// or, with TLS, rediss://.")
            % {"scheme": url.scheme[:20]}
        )
    if not url.hostname or any(not c.isprintable() or c.isspace() for c in url.hostname):
        raise AddressError(_("The address has no host; write redis://host:6379."))
    if url.path.strip("/") not in {"", "0"} or url.query or url.fragment:
        raise AddressError(_("Leave out what follows the port: Shardwatch reads all databases of a server."))
    credentials = Credentials(unquote(url.username or ""), unquote(url.password or ""))
    return Address(url.hostname, port, SCHEMES[url.scheme]), credentials
