"""MySQL's InnoDB memcached plugin: its settings, read over MySQL where somebody gave an address for that.

The plugin's own protocol tells neither its batch sizes nor its limit of connections. Only system variables are
read; no table is touched.
"""

import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote, urlsplit

import pymysql
from django.conf import settings
from django.utils.translation import gettext as _

from collectors.connections import Access, tls_context
from collectors.failures import ReadError, from_tls_error, printable
from collectors.memcached.models import MysqlPlugin
from fleet.models import Cache
from fleet.registration import is_host
from fleet.secrets import SecretUnreadableError

DEFAULT_PORT = 3306
SCHEMES = {"mysql": False, "mysqls": True}
QUERY = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'daemon\\_memcached\\_%' OR Variable_name LIKE 'innodb\\_api\\_%'"
)
VARIABLES_LIMIT, VALUE_LIMIT = 50, 200
# What the daemon allows unless daemon_memcached_option says otherwise.
DEFAULT_CONNECTIONS = 1_024
CONNECTIONS = re.compile(r"(?:^|\s)(?:-c\s*|--conn-limit[= ])(\d{1,7})(?=\s|$)")


class PluginError(Exception):
    """The settings cannot be read; the text says why and holds no password."""


@dataclass(frozen=True, slots=True)
class Dsn:
    """Where the MySQL is, as whom it is asked, and whether only over TLS."""

    host: str
    port: int
    user: str
    password: str
    tls: bool = False

    @classmethod
    def of(cls, text: str) -> "Dsn":
        """Read mysqls://user:password@host:3306. Raise PluginError where it is none."""
        try:
            url = urlsplit(text.strip())
            port = url.port or DEFAULT_PORT
        except ValueError as error:
            raise PluginError(_("The port must be a number from 1 to 65535.")) from error
        if url.scheme not in SCHEMES or not url.hostname or not is_host(url.hostname) or not url.username:
            raise PluginError(_("Write mysqls://user:password@host:3306, or mysql:// where MySQL has no TLS."))
        return cls(url.hostname, port, unquote(url.username), unquote(url.password or ""), SCHEMES[url.scheme])


def plugin_of(cache: Cache) -> MysqlPlugin | None:
    """Return what is known of the MySQL behind a cache, None where nobody gave its address."""
    found: MysqlPlugin | None = getattr(cache, "mysql_plugin", None)
    # One that was just deleted is still at hand, without its key.
    return found if found and found.pk else None


def read(plugin: MysqlPlugin) -> dict[str, str]:
    """Return the system variables of a plugin, stored or not. Raise PluginError as read_variables does."""
    try:
        dsn = Dsn.of(plugin.dsn.reveal())
        access = Access(dsn.tls, ca_bundle=plugin.ca_bundle, check_hostname=plugin.check_hostname)
        return read_variables(dsn, tls_context(access) if dsn.tls else None)
    except ReadError as failure:
        raise PluginError(failure.sentence()) from failure
    except SecretUnreadableError as error:
        raise PluginError(str(error)) from error


def read_variables(dsn: Dsn, context: ssl.SSLContext | None = None) -> dict[str, str]:
    """Return the plugin's system variables. Raise PluginError where MySQL refuses, is away, or has no plugin.

    With a context MySQL must speak TLS and show a certificate that fits. Without one PyMySQL encrypts where MySQL
    offers it, whoever that is. However slowly MySQL answers, it is left after MYSQL_TIMEOUT_SECONDS.
    """
    seconds, began = settings.MYSQL_TIMEOUT_SECONDS, time.monotonic()
    try:
        with socket.create_connection((dsn.host, dsn.port), seconds) as sock, hung_up_after(sock, seconds):
            rows = rows_of(dsn, sock, context)
    # PyMySQL lets errors of reading a packet through as they are.
    except (pymysql.Error, OSError, ValueError, LookupError, TypeError, AssertionError) as error:
        if time.monotonic() - began >= seconds:
            words = _("MySQL did not answer in full within %(seconds)g seconds. Check that it is one, and its load.")
            raise PluginError(words % {"seconds": seconds}) from error
        raise PluginError(words_of(error, dsn.password)) from error
    found = {printable(row[0], 64): printable(row[1], VALUE_LIMIT) for row in rows if len(row) == 2}
    if not any(name.startswith("daemon_memcached_") for name in found):
        raise PluginError(_("This MySQL has no InnoDB memcached plugin: it tells no daemon_memcached settings."))
    return found


def rows_of(dsn: Dsn, sock: socket.socket, context: ssl.SSLContext | None) -> Sequence[Sequence[object]]:
    """Sign in over a connected socket and return the names and values of variables."""
    seconds = settings.MYSQL_TIMEOUT_SECONDS
    connection = pymysql.connect(
        host=dsn.host,
        port=dsn.port,
        user=dsn.user,
        password=dsn.password,
        read_timeout=seconds,
        write_timeout=seconds,
        autocommit=None,
        ssl=context,
        defer_connect=True,
    )
    connection.connect(sock)
    with connection, connection.cursor() as cursor:
        cursor.execute(QUERY)
        rows: Sequence[Sequence[object]] = cursor.fetchmany(VARIABLES_LIMIT)
        return rows


@contextmanager
def hung_up_after(sock: socket.socket, seconds: float) -> Iterator[None]:
    """Have a connection end by force: PyMySQL waits anew for each part of an answer, and pages wait for PyMySQL."""
    # For TLS PyMySQL makes another object of the socket; this one stays on the same connection.
    handle = sock.dup()

    def hang_up() -> None:
        with suppress(OSError):
            handle.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        handle.close()


def words_of(error: Exception, password: str) -> str:
    """Return why MySQL could not be read, without the password, which some servers repeat."""
    # PyMySQL keeps what lies behind its own error of connecting.
    cause = getattr(error, "original_exception", error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return from_tls_error(cause).sentence()
    words = str(error.args[-1] if error.args else error)
    return printable(words.replace(password, "(hidden)") if password else words)


def connection_limit(variables: Mapping[str, str]) -> int:
    """Return how many connections the plugin allows."""
    given = CONNECTIONS.search(variables.get("daemon_memcached_option", ""))
    return int(given.group(1)) if given and int(given.group(1)) else DEFAULT_CONNECTIONS


def due() -> list[int]:
    """Return the caches whose plugin is to be asked."""
    return list(MysqlPlugin.objects.filter(cache__is_paused=False).values_list("pk", flat=True))


def look(cache_id: int, now: datetime) -> None:
    """Read the settings of one plugin and keep them; a failure keeps those of before beside its words."""
    plugin = MysqlPlugin.objects.filter(pk=cache_id).first()
    if plugin is None:
        return
    rows = MysqlPlugin.objects.filter(pk=cache_id)
    try:
        variables = read(plugin)
    except PluginError as error:
        rows.update(failed_words=printable(error))
        return
    rows.update(variables=variables, read_at=now, failed_words="")
    # What a service publishes for an instance of its own comes from there.
    Cache.objects.filter(pk=cache_id, cloud=None).update(service_maxclients=connection_limit(variables))
