"""The only place that opens connections to watched servers.

Connecting goes by steps of its own rather than through redis-py: name, TCP, TLS and AUTH must fail apart,
and a managed service that refuses CLIENT or HELLO must still be reached. A kept `Link` costs a poll one
write and one read: no stream, no task, no decoding.
"""

import asyncio
import re
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import hiredis
from django.conf import settings

from collectors.dialect import MISSING, Dialect
from collectors.failures import Cause, ReadError, from_error_reply, from_opening, from_tls_error
from collectors.protocol import INFO, Command, Reply
from collectors.steps import Step

# An array of a million parts is no answer to anything we ask, and hiredis would make room for it at once.
LONG_ARRAY = re.compile(rb"(?:\A|\n)[*%~>]\d{7}")
CONNECTION_NAME = "shardwatch"
SETNAME: Command = ("CLIENT", "SETNAME", CONNECTION_NAME)

SocketAddress = tuple[socket.AddressFamily, Any]
Done = Callable[[list[Reply] | ReadError], None]


class Tokens(Protocol):
    """What gives passwords that end, such as a cloud's access tokens."""

    def text(self) -> str:
        """Return one that is good for a while; may block. Raise ReadError where none is to be had."""

    def refuse(self, text: str) -> None:
        """Take note that a server did not accept this one."""


@dataclass(frozen=True, slots=True)
class Access:
    """How the servers of one cache are reached. Two are equal when nothing changed in between."""

    tls: bool
    username: str = ""
    password: str = field(default="", repr=False)
    ca_bundle: str = field(default="", repr=False)
    client_certificate: str = field(default="", repr=False)
    client_key: str = field(default="", repr=False)
    check_hostname: bool = True
    # Where these are, they take the place of the password.
    tokens: Tokens | None = None

    async def complete(self) -> "Access":
        """Return the access with the password that is good now."""
        return replace(self, password=await asyncio.to_thread(self.tokens.text)) if self.tokens else self

    def login(self) -> Command | None:
        """Return the AUTH command, None where no credentials are set."""
        if self.username:
            return ("AUTH", self.username, self.password)
        return ("AUTH", self.password) if self.password else None

    def redact(self, words: str) -> str:
        """Return a server's words without the password: some servers repeat the arguments of a bad command."""
        for secret in filter(None, (self.password, self.username and f"'{self.username}'")):
            words = words.replace(secret, "(hidden)")
        return words


def tls_context(access: Access) -> ssl.SSLContext:
    """Return the context for a cache's TLS. Raise ReadError where its certificates cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = access.check_hostname
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if access.ca_bundle:
            context.load_verify_locations(cadata=access.ca_bundle)
        else:
            context.load_default_certs()
        if access.client_certificate:
            _load_client_certificate(context, access)
    except (ssl.SSLError, ValueError) as error:
        raise ReadError(Step.TLS, Cause.TLS_FILES, error) from error
    return context


def _load_client_certificate(context: ssl.SSLContext, access: Access) -> None:
    # ssl reads a client certificate from a file only: one that its owner alone can read, gone at once.
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"{access.client_certificate}\n{access.client_key}\n")
        file.flush()
        # Without a password of its own OpenSSL would ask for one on the terminal.
        context.load_cert_chain(file.name, password="")


def pack(commands: Sequence[Command]) -> bytes:
    """Return commands as they go over the wire, one after the other."""
    return b"".join(hiredis.pack_command(cast(Any, command)) for command in commands)


RESP = Dialect(
    lambda: hiredis.Reader(notEnoughData=MISSING),
    pack,
    Access.login,
    from_opening,
    Cause.TLS_EXPECTED,
    INFO,
    Step.INFO,
    Cause.NOT_INFO,
)


class Link(asyncio.Protocol):
    """One open connection: writes pipelined commands and hands over their replies, one request at a time."""

    def __init__(self, limit: int, dialect: Dialect = RESP) -> None:
        self.dialect = dialect
        self.lost: ReadError | None = None
        self.busy_since: float | None = None
        self._limit = limit
        self._reader = dialect.reader()
        self._transport: asyncio.Transport | None = None
        self._done: Done | None = None
        self._step = Step.INFO
        self._wanted = 0
        self._received = 0
        self._replies: list[Reply] = []
        self._tail = b""
        self._has_answered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    @property
    def peer(self) -> tuple[str, int] | None:
        """Return the IP address and port at the other end."""
        name = self._transport.get_extra_info("peername") if self._transport else None
        return (str(name[0]), int(name[1])) if name else None

    @property
    def own_address(self) -> str:
        """Return our end as a client list names it, where nothing between translates addresses."""
        name = self._transport.get_extra_info("sockname") if self._transport else None
        return f"[{name[0]}]:{name[1]}" if name and ":" in name[0] else f"{name[0]}:{name[1]}" if name else ""

    @property
    def tls(self) -> ssl.SSLObject | None:
        return self._transport.get_extra_info("ssl_object") if self._transport else None

    def request(self, payload: bytes, count: int, done: Done, step: Step = Step.INFO) -> None:
        """Write commands and call `done` once, with their `count` replies or with the failure."""
        if self._replies and self.lost is None:
            self._fail(self._unasked())
        if self.lost or self._transport is None:
            done(self.lost or ReadError(step, Cause.CUT))
            return
        self._done, self._wanted, self._received, self._step = done, count, 0, step
        self.busy_since = time.monotonic()
        self._transport.write(payload)

    def stream(self, payload: bytes, reader: asyncio.Protocol) -> None:
        """Write a command whose reply `reader` takes as it comes; afterwards the link can only be closed."""
        if self.lost or self._transport is None:
            reader.connection_lost(None)
            return
        self._transport.set_protocol(reader)
        self._transport.write(payload)

    def hand_over(self, protocol: asyncio.BaseProtocol) -> asyncio.Transport:
        """Return the open connection, which `protocol` reads from now on. Raise ReadError where it is lost."""
        if self.lost or self._transport is None:
            raise self.lost or ReadError(self._step, Cause.CUT)
        self._transport.set_protocol(protocol)
        return self._transport

    def abandon(self) -> None:
        """Wait no longer for the replies; when they come they are thrown away and the link is free again."""
        self._done = None

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._received > self._limit:
            self._fail(ReadError(self._step, Cause.TOO_LONG))
            return
        if b"*" in data and LONG_ARRAY.search(self._tail + data):
            self._fail(ReadError(self._step, Cause.TOO_LONG))
            return
        self._tail = data[-10:]
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not MISSING:
                self._replies.append(reply)
        except (hiredis.HiredisError, MemoryError):
            self._fail(self.dialect.opening(data, self._step))
            return
        if self._wanted and len(self._replies) > self._wanted:
            self._fail(self._unasked())
        elif self._wanted and len(self._replies) == self._wanted:
            self._finish()

    def _finish(self) -> None:
        replies, self._replies = self._replies, []
        done, self._done, self._wanted, self.busy_since = self._done, None, 0, None
        self._has_answered = True
        if done:
            done(replies)

    def _unasked(self) -> ReadError:
        """Return what it means that the server spoke first."""
        first = self._replies[0]
        if isinstance(first, hiredis.ReplyError):
            return from_error_reply(str(first), self._step)
        return ReadError(self._step, Cause.GARBAGE, first)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.lost:
            return
        if self._replies and (self._done is None or isinstance(self._replies[0], hiredis.ReplyError)):
            failure = self._unasked()
        elif isinstance(exc, ssl.SSLError):
            failure = from_tls_error(exc)
        elif self._has_answered or self._received:
            failure = ReadError(self._step, Cause.CUT)
        elif self.tls:
            # TLS 1.3 looks at the client's certificate after the handshake; the alert may be lost with the connection.
            failure = ReadError(Step.TLS, Cause.TLS_CLIENT_CERTIFICATE)
        else:
            failure = ReadError(Step.TLS, self.dialect.closed_at_once)
        self._fail(failure)

    def _fail(self, failure: ReadError) -> None:
        self.lost = failure
        done, self._done, self.busy_since = self._done, None, None
        self.close()
        if done:
            done(failure)

    def close(self) -> None:
        self.lost = self.lost or ReadError(self._step, Cause.CUT)
        if self._transport:
            self._transport.abort()


async def ask(link: Link, commands: Sequence[Command], step: Step = Step.INFO) -> list[Reply]:
    """Return the replies to commands. Raise ReadError where the server fails or takes too long."""
    answer: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()

    def done(result: list[Reply] | ReadError) -> None:
        if answer.done():
            return
        if isinstance(result, ReadError):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    link.request(link.dialect.pack(commands), len(commands), done, step)
    try:
        async with asyncio.timeout(settings.POLL_COMMAND_TIMEOUT_SECONDS):
            return await answer
    except TimeoutError as error:
        link.abandon()
        raise ReadError(step, Cause.SILENT) from error


async def resolve(host: str, port: int) -> list[SocketAddress]:
    """Return the socket addresses of a host. Raise ReadError where the name is not known."""
    try:
        async with asyncio.timeout(settings.POLL_CONNECT_TIMEOUT_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise ReadError(Step.RESOLVE, Cause.RESOLVE_SLOW) from error
    except (OSError, UnicodeError) as error:
        raise ReadError(Step.RESOLVE, Cause.UNKNOWN_HOST) from error
    return [(family, address) for family, _, _, _, address in found]


async def reach(addresses: Sequence[SocketAddress]) -> socket.socket:
    """Return a socket connected to the first address that answers. Raise ReadError where none does."""
    failure = ReadError(Step.CONNECT, Cause.CONNECT_SLOW)
    for family, address in addresses:
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            async with asyncio.timeout(settings.POLL_CONNECT_TIMEOUT_SECONDS / len(addresses)):
                await asyncio.get_running_loop().sock_connect(sock, address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException as error:
            sock.close()
            if not isinstance(error, OSError):
                raise
            failure = _connect_failure(error)
        else:
            return sock
    raise failure


def _connect_failure(error: OSError) -> ReadError:
    if isinstance(error, TimeoutError):
        return ReadError(Step.CONNECT, Cause.CONNECT_SLOW)
    if isinstance(error, ConnectionRefusedError):
        return ReadError(Step.CONNECT, Cause.REFUSED)
    return ReadError(Step.CONNECT, Cause.UNREACHABLE, error.strerror or error)


async def attach(sock: socket.socket, host: str, context: ssl.SSLContext | None, dialect: Dialect = RESP) -> Link:
    """Return a link on a connected socket, after the TLS handshake where there is a context."""
    link = Link(settings.POLL_REPLY_LIMIT_BYTES, dialect)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(settings.POLL_CONNECT_TIMEOUT_SECONDS):
            await loop.create_connection(
                lambda: link, sock=sock, ssl=context, server_hostname=host if context else None
            )
    except TimeoutError as error:
        sock.close()
        raise ReadError(Step.TLS, Cause.TLS_SLOW) from error
    except OSError as error:
        sock.close()
        raise from_tls_error(error) from error
    return link


async def log_in(link: Link, access: Access) -> None:
    """Send AUTH where credentials are set. Raise ReadError where the server does not take them."""
    place, tls = link.peer, link.tls
    try:
        await _log_in(link, access)
    except ReadError as failure:
        look_again = link.dialect.look_again if failure.step is Step.TLS else None
        reason = await look_again(place, tls) if look_again and place else None
        if reason is None:
            raise
        raise reason from failure


async def _log_in(link: Link, access: Access) -> None:
    access = await access.complete()
    command = link.dialect.login(access)
    if link.dialect.door and not await _is_locked(link, link.dialect.door, command is not None):
        return
    if command is None:
        return
    (reply,) = await ask(link, [command], Step.AUTH)
    if isinstance(reply, hiredis.ReplyError):
        raise _login_failure(from_error_reply(access.redact(str(reply)), Step.AUTH), access)


async def _is_locked(link: Link, door: Command, has_key: bool) -> bool:
    """Return whether the server wants a login. Raise ReadError where that and what we have do not fit together."""
    (reply,) = await ask(link, [door], Step.AUTH)
    failure = from_error_reply(str(reply), Step.AUTH) if isinstance(reply, hiredis.ReplyError) else None
    is_locked = failure is not None and failure.cause is Cause.PASSWORD_MISSING
    if failure and (failure.step is Step.CONNECT or (is_locked and not has_key)):
        raise failure
    if has_key and not is_locked:
        raise ReadError(Step.AUTH, Cause.PASSWORD_UNEXPECTED)
    return is_locked


def _login_failure(failure: ReadError, access: Access) -> ReadError:
    """Return the failure in words that fit what was sent."""
    if failure.cause is not Cause.USER_OR_PASSWORD_WRONG:
        return failure
    if access.tokens:
        access.tokens.refuse(access.password)
        return ReadError(Step.AUTH, Cause.TOKEN_REFUSED, failure.words)
    return failure if access.username else ReadError(Step.AUTH, Cause.PASSWORD_WRONG, failure.words)


async def open_link(host: str, port: int, context: ssl.SSLContext | None, dialect: Dialect = RESP) -> Link:
    """Return a link that is not logged in yet. Raise ReadError naming the step that failed."""
    return await attach(await reach(await resolve(host, port)), host, context, dialect)
