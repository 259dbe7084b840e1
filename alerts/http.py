"""The one HTTP road of all channels: one request, hard limits, and an answer or the reason why there is none."""

import asyncio
import functools
import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
from django.conf import settings

from alerts import outbox
from alerts.causes import WORDS_LIMIT, Cause
from alerts.channel import Final, Refused, RetryAt, Unknown
from alerts.destinations import TargetError, addresses
from alerts.models import ANSWER_LIMIT
from collectors import background
from collectors.failures import printable

BODY_LIMIT_BYTES = 65_536
# Shorter texts stand in many answers by chance.
SECRET_LENGTH = 6
# Requests show their addresses in httpx' log, and Slack's and others' are secrets.
QUIET = ("httpx", "httpcore")


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: a body to an address. `secrets` never appear in what is kept of the answer."""

    url: str
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()

    @classmethod
    def json(cls, url: str, body: Any, secrets: tuple[str, ...] = (), **headers: str) -> "Request":
        content = orjson.dumps(body)
        return cls(url, content, {"Content-Type": "application/json", **headers}, secrets)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service said; the body is cut at BODY_LIMIT_BYTES."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    text: str

    def parsed(self) -> Any:
        """Return the body read as JSON, None where it is none."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return None

    def retry_after(self) -> float | None:
        """Return the seconds of Retry-After, which may be a number or a date by the service's own clock."""
        value = self.headers.get("retry-after", "").strip()
        if value.isdecimal():
            return float(value)
        until, now = moment(value), moment(self.headers.get("date", "")) or datetime.now(UTC)
        return max(0.0, (until - now).total_seconds()) if until else None


def moment(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def post(request: Request) -> Answer | Refused:
    """Send a request and return the answer, or why there is none. Follows no redirect and never raises."""
    return asyncio.run_coroutine_threadsafe(_post(request), background.loop()).result()


async def _post(request: Request) -> Answer | Refused:
    state = {"sent": False}
    host = urlsplit(request.url).hostname or ""
    try:
        async with asyncio.timeout(outbox.attempt_seconds()):
            return await _at_any_address(request, host, state)
    except TargetError as error:
        return error.outcome
    except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as error:
        return doubtful(error) if state["sent"] else certain(error, host)


async def _at_any_address(request: Request, host: str, state: dict[str, bool]) -> Answer:
    """Try the host's addresses in turn until one takes the connection."""
    url = httpx.URL(request.url)
    port = url.port or (443 if url.scheme == "https" else 80)
    limit = settings.DELIVERY_CONNECT_TIMEOUT_SECONDS
    found = await addresses(host, port, limit)
    for address in found[:-1]:
        try:
            return await _at(address, url, request, state)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            continue
    return await _at(found[-1], url, request, state)


async def _at(address: str, url: httpx.URL, request: Request, state: dict[str, bool]) -> Answer:
    async def trace(event: str, _: object) -> None:
        state["sent"] = state["sent"] or event.endswith("send_request_headers.started")

    connect, read = settings.DELIVERY_CONNECT_TIMEOUT_SECONDS, settings.DELIVERY_READ_TIMEOUT_SECONDS
    limits = httpx.Timeout(read, connect=connect)
    headers = {"User-Agent": "Shardwatch", "Accept-Encoding": "identity", **request.headers, "Host": host_header(url)}
    # The name is for the certificate; the connection goes to the address that was checked.
    extensions = {"sni_hostname": url.host, "trace": trace}
    async with (
        httpx.AsyncClient(verify=trust(), timeout=limits, trust_env=False) as client,
        client.stream(
            "POST", url.copy_with(host=address), content=request.content, headers=headers, extensions=extensions
        ) as response,
    ):
        body = await beginning(response)
        return Answer(response.status_code, body, response.headers, redacted(printable(body, 1000), request.secrets))


def host_header(url: httpx.URL) -> str:
    return url.netloc.decode()


async def beginning(response: httpx.Response) -> bytes:
    body = b""
    async for part in response.aiter_raw():
        body += part
        if len(body) >= BODY_LIMIT_BYTES:
            break
    return body[:BODY_LIMIT_BYTES]


@functools.cache
def trust() -> ssl.SSLContext:
    """Return whom we believe: the authorities of SSL_CERT_FILE where it is set, else those of certifi."""
    return httpx.create_ssl_context()


def redacted(text: str, secrets: tuple[str, ...]) -> str:
    """Return the text without secrets; of one that is an address its path is secret as well, which services repeat."""
    parts = [part for secret in secrets for part in (secret, urlsplit(secret).path if "://" in secret else "")]
    for part in parts:
        if len(part) >= SECRET_LENGTH:
            text = text.replace(part, "…")
    return text[:ANSWER_LIMIT]


def certain(error: Exception, host: str) -> Refused:
    """Return the reason why nothing was sent at all."""
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return RetryAt(cause=Cause.CONNECT_SLOW, words=host)
    if isinstance(error, ValueError | httpx.InvalidURL | httpx.UnsupportedProtocol):
        return Final(cause=Cause.BAD_SETTINGS, words=host)
    if tls := next((cause for cause in chain(error) if isinstance(cause, ssl.SSLError)), None):
        words = getattr(tls, "verify_message", "") or (tls.reason or "").replace("_", " ").lower()
        return RetryAt(cause=Cause.TLS, words=printable(words, WORDS_LIMIT))
    refused = any(isinstance(cause, ConnectionRefusedError) for cause in chain(error))
    return RetryAt(cause=Cause.REFUSED if refused else Cause.UNREACHABLE, words=host)


def doubtful(error: Exception) -> Refused:
    """Return the reason why nobody knows whether the service accepted."""
    slow = isinstance(error, TimeoutError | httpx.TimeoutException)
    return Unknown(cause=Cause.SILENT if slow else Cause.CUT)


def chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


for _name in QUIET:
    logging.getLogger(_name).setLevel(logging.WARNING)
