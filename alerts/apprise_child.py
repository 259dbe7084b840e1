"""Apprise in a process of its own: one request on standard input, one answer on standard output, both JSON.

The library opens its connections itself, for every service in another way. So it runs within a fence, makes one
attempt, follows no redirect, and what goes over HTTP has our limits and is looked at on its way: Apprise itself tells
only success or failure.
"""

import json
import math
import signal
import socket
import ssl
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import requests
from apprise import Apprise, AppriseAsset, NotifyBase, NotifyFormat, NotifyType, OverflowMode, PersistentStoreMode
from apprise.plugins import N_MGR, url_to_dict
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, NewConnectionError, ReadTimeoutError

from alerts.fence import Fence
from alerts.reach import Reach

Problem: TypeAlias = Literal["unknown", "wrong", "local", "missing"]
# Plugins that act on this machine, or (rsyslog) hand a log line over without an answer.
LOCAL = frozenset({"blink1", "dbus", "glib", "gnome", "macosx", "rsyslog", "syslog", "windows"})
SUCCESS = range(200, 300)
KEPT_HEADERS = ("retry-after", "date", "location")
WORDS_LIMIT, TEXT_LIMIT = 1_000, 2_000
KINDS = {
    "critical": NotifyType.FAILURE,
    "error": NotifyType.FAILURE,
    "warning": NotifyType.WARNING,
    "info": NotifyType.INFO,
    "over": NotifyType.SUCCESS,
}
send = HTTPAdapter.send


class Road:
    """What goes over HTTP: each exchange within our limits. `wrong` is the last that was no success."""

    def __init__(self, limits: Mapping[str, Any]) -> None:
        self.timeout = (limits["connect"], limits["read"])
        self.size: int = limits["size"]
        self.trust: str | bool = limits["trust"] or True
        self.status: int | None = None
        self.wrong: dict[str, Any] | None = None

    def open(self) -> None:
        """Let everything that this process asks over HTTP go here."""
        HTTPAdapter.send = lambda adapter, request, *_, **__: self.exchange(adapter, request)  # type: ignore[method-assign]
        requests.Session.get_redirect_target = lambda *_: None  # type: ignore[method-assign]

    def exchange(self, adapter: HTTPAdapter, request: requests.PreparedRequest) -> requests.Response:
        """Send a request and return the answer, its body cut. Raise ConnectionError without words of others in it."""
        try:
            response = send(adapter, request, stream=True, timeout=self.timeout, verify=self.trust)
            body = response.raw.read(self.size, decode_content=True)
        except (requests.RequestException, HTTPError, OSError) as error:
            self.wrong = lost(error, urlsplit(request.url or "").hostname or "")
            raise requests.ConnectionError(self.wrong["lost"]) from None
        response._content = body
        response.close()
        self.note(response.status_code, response.headers, body)
        return response

    def note(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        if status not in SUCCESS:
            kept = {name: headers[name] for name in KEPT_HEADERS if name in headers}
            text = body[:TEXT_LIMIT].decode("utf-8", "replace")
            self.wrong = {"status": status, "headers": kept, "text": text}


def lost(error: Exception, host: str) -> dict[str, str]:
    """Return why there is no answer, by the names that causes have."""
    causes = list(chain(error))
    if tls := next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None):
        words = getattr(tls, "verify_message", "") or (tls.reason or "").replace("_", " ").lower()
        return {"lost": "tls", "words": words}
    if isinstance(error, requests.ConnectTimeout):
        return {"lost": "connect_slow", "words": host}
    if isinstance(error, requests.ReadTimeout | ReadTimeoutError):
        return {"lost": "silent", "words": ""}
    if not any(isinstance(cause, NewConnectionError) for cause in causes):
        return {"lost": "cut", "words": ""}
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return {"lost": "unknown_host", "words": host}
    was_refused = any(isinstance(cause, ConnectionRefusedError) for cause in causes)
    return {"lost": "refused" if was_refused else "unreachable", "words": host}


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def service_of(url: str) -> NotifyBase | Problem:
    """Return the service that an address means, or why there is none."""
    found = url_to_dict(url)
    if not found:
        return "wrong" if url.partition("://")[0].strip().lower() in N_MGR else "unknown"
    plugin = N_MGR[found["schema"]]
    if plugin.__module__.rpartition(".")[2] in LOCAL:
        return "local"
    if not plugin.enabled:
        return "missing"
    return Apprise.instantiate(url, asset=asset()) or "wrong"


def asset() -> AppriseAsset:
    """Return how Apprise behaves: it writes no files, makes no keys, and keeps to no time but ours."""
    return AppriseAsset(
        app_id="Shardwatch",
        app_desc="Shardwatch",
        image_url_mask="",
        image_url_logo="",
        async_mode=False,
        interpret_emojis=False,
        language="en",
        pem_autogen=False,
        pgp_autogen=False,
        service_timeout=0,
        storage_mode=PersistentStoreMode.MEMORY,
    )


def hardened(service: NotifyBase, limits: Mapping[str, Any]) -> NotifyBase:
    """Return the service without what its address may have asked for: retries, waits, success whatever happens."""
    service.retry = 0
    service.optional = False
    service.verify_certificate = True
    service.persistent_storage = False
    service.request_rate_per_sec = 0
    service.overflow_mode = OverflowMode.TRUNCATE
    service.socket_connect_timeout, service.socket_read_timeout = limits["connect"], limits["read"]
    return service


def sent(service: NotifyBase, message: Mapping[str, str]) -> dict[str, Any]:
    """Make one attempt and return what Apprise says of it."""
    result = Apprise([service], asset=service.asset).notify(
        body=message["body"],
        title=message["title"],
        notify_type=KINDS[message["kind"]],
        body_format=NotifyFormat.TEXT,
    )
    words = "; ".join(dict.fromkeys(entry.message for entry in result.logs()))
    return {"is_sent": bool(result), "words": words[:WORDS_LIMIT]}


def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what came of a request; without a message only whether the address means a service."""
    # All modules are read before the fence closes: later nothing more of them is written down for the next start.
    N_MGR.load_modules()
    fence, road = Fence(Reach.from_json(asked["reach"])), Road(asked["limits"])
    fence.close()
    road.open()
    service = service_of(asked["url"])
    if isinstance(service, str):
        return {"problem": service}
    if not asked.get("message"):
        return {"problem": ""}
    told = sent(hardened(service, asked["limits"]), asked["message"])
    seen = {"status": road.status, "wrong": road.wrong, "refused": fence.refused, "forbidden": fence.forbidden}
    return {"problem": "", **told, **seen}


def main() -> None:
    asked = json.load(sys.stdin.buffer)
    # Should nobody be left who ends it.
    signal.alarm(math.ceil(asked["limits"]["whole"]) + 1)
    said, sys.stdout = sys.stdout, sys.stderr
    json.dump(answer(asked), said)


if __name__ == "__main__":
    main()
