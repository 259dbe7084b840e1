"""The read path: a WSGI callable in front of Django, for what applications ask every few seconds.

No session, no template, no query: an answer is made once from the snapshot, kept beside it, and sent again until
the snapshot changes. Everything that it does not know goes on to Django.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

import orjson

from switches import answers, ofrep, reports
from switches.answers import JSON_HEADERS, Answer, Headers
from switches.board import Board
from switches.client_key import digest_of
from switches.ofrep import OfrepError
from switches.snapshot import KnownKey, KnownSwitch, Snapshot

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

SWITCHES, FLAGS = "/api/v1/switches", "/ofrep/v1/evaluate/flags"
OURS = (SWITCHES, "/ofrep/")
REPORTS = f"{SWITCHES}/reports"
# Answers kept beside a snapshot; a fleet of more readers makes some of them anew.
ANSWERS_KEPT = 20_000
OFREP_LIMIT, REPORTS_LIMIT = 64 * 1024, 1024 * 1024
QUERY_LIMIT = 16 * 1024
# Longer queries are rare, and would fill the memory.
PLACE_LIMIT = 1_000
STATUSES = {
    200: "200 OK",
    202: "202 Accepted",
    304: "304 Not Modified",
    400: "400 Bad Request",
    401: "401 Unauthorized",
    404: "404 Not Found",
    405: "405 Method Not Allowed",
    413: "413 Content Too Large",
    415: "415 Unsupported Media Type",
    503: "503 Service Unavailable",
}


class RefusedError(Exception):
    """A request that is not answered: status, sentence, and headers of its own."""

    def __init__(self, status: int, sentence: str, *headers: tuple[str, str]) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, headers


class Gate:
    """The application that the web server calls: switches here, the rest behind."""

    def __init__(self, board: Board, behind: Application) -> None:
        self.board, self.behind = board, behind

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if not path.startswith(OURS):
            return self.behind(environ, start_response)
        board, method = self.board, environ["REQUEST_METHOD"]
        snapshot = board.snapshot
        if method == "GET" and snapshot is not None and time.monotonic() < board.fresh_until:
            kept = snapshot.answers.get((credential(environ), path, environ.get("QUERY_STRING")))
            if kept is not None:
                return send(kept, environ, start_response)
        if path.startswith(SWITCHES) and path[len(SWITCHES) : len(SWITCHES) + 1] not in {"", "/"}:
            return self.behind(environ, start_response)
        return self._answer(environ, path, method, start_response)

    def _answer(self, environ: Environ, path: str, method: str, start_response: StartResponse) -> Iterable[bytes]:
        is_ofrep = not path.startswith(SWITCHES)
        try:
            return self._route(environ, path.rstrip("/"), "GET" if method == "HEAD" else method, start_response)
        except OfrepError as error:
            status = 404 if error.code == "FLAG_NOT_FOUND" else 400
            key = path.removeprefix(FLAGS).strip("/")
            return plain(start_response, status, error.document(key or None))
        except RefusedError as error:
            sentence = {"errorCode": "GENERAL", "errorDetails": str(error)} if is_ofrep else {"error": str(error)}
            return plain(start_response, error.status, sentence, *error.headers)

    def _route(self, environ: Environ, path: str, method: str, start_response: StartResponse) -> Iterable[bytes]:
        allowed = method_of(path)
        if allowed is None:
            raise RefusedError(404, "There is nothing at this address.")
        if method != allowed:
            raise RefusedError(405, f"This address takes {allowed} only.", ("Allow", allowed))
        snapshot = self.board.begin()
        if snapshot is None:
            raise RefusedError(503, "The switches are not known yet: the database is away.", ("Retry-After", "1"))
        key = reader(environ, snapshot)
        if path == REPORTS:
            return self._take_reports(environ, key, snapshot, start_response)
        if path.startswith(SWITCHES):
            query = environ.get("QUERY_STRING") or ""
            answer = read(path, query, snapshot, key)
            if len(query) <= PLACE_LIMIT:
                keep(snapshot, (credential(environ), environ["PATH_INFO"], query), lambda: answer)
        else:
            answer = evaluate(path, body_of(environ, OFREP_LIMIT), snapshot, key)
        is_stale = time.monotonic() >= self.board.fresh_until
        stale = [("X-Shardwatch-Stale", str(self.board.stale_seconds()))] if is_stale else []
        return send(answer, environ, start_response, stale)

    def _take_reports(
        self, environ: Environ, key: KnownKey, snapshot: Snapshot, start_response: StartResponse
    ) -> Iterable[bytes]:
        rows = rows_of(environ)
        found, faults = reports.parse(rows, key, snapshot, sender_of(environ))
        self.board.reports.add(found)
        if faults:
            return plain(start_response, 400, {"error": " ".join(faults[:5]), "accepted": len(found)})
        return plain(start_response, 202, {"accepted": len(found)})


def method_of(path: str) -> str | None:
    """Return the method that a path takes, None where there is nothing."""
    root, method = (SWITCHES, "GET") if path.startswith(SWITCHES) else (FLAGS, "POST")
    before, _, key = path.rpartition("/")
    if path == REPORTS:
        return "POST"
    return method if path == root or (before == root and key) else None


def credential(environ: Environ) -> str | None:
    return environ.get("HTTP_X_API_KEY") or environ.get("HTTP_AUTHORIZATION")


def reader(environ: Environ, snapshot: Snapshot) -> KnownKey:
    """Return the client key of a request. Raise RefusedError where there is no valid one."""
    text = environ.get("HTTP_X_API_KEY") or ""
    scheme, _, token = (environ.get("HTTP_AUTHORIZATION") or "").partition(" ")
    if not text and scheme.lower() == "bearer":
        text = token.strip()
    key = snapshot.keys.get(digest_of(text)) if text else None
    if key is None:
        sentence = "The client key is unknown or revoked." if text else "Send a client key: X-API-Key: swc_…"
        raise RefusedError(401, sentence, ("WWW-Authenticate", "Bearer"))
    return key


def read(path: str, query: str, snapshot: Snapshot, key: KnownKey) -> Answer:
    """Return what is known of one switch, or of several. Raise RefusedError."""
    if len(query) > QUERY_LIMIT:
        raise RefusedError(413, "The query is too long.")
    given = parse_qs(query)
    instance = instance_of(given)
    if path != SWITCHES:
        switch = snapshot.switches.get(path[len(SWITCHES) + 1 :])
        if switch is None or not key.reads(switch.key):
            raise RefusedError(404, "There is no switch with this key.")
        return keep_shared(snapshot, [switch], [], instance, key, is_bulk=False)
    readable = {name: switch for name, switch in snapshot.switches.items() if key.reads(name)}
    named = [name for part in given.get("keys", ()) for name in part.split(",") if name]
    wanted = list(dict.fromkeys(named)) if "keys" in given else list(readable)
    missing = [name for name in wanted if name not in readable]
    found = [readable[name] for name in wanted if name in readable]
    return keep_shared(snapshot, found, missing, instance, key, is_bulk=True)


def keep_shared(
    snapshot: Snapshot, found: list[KnownSwitch], missing: list[str], instance: str, key: KnownKey, is_bulk: bool
) -> Answer:
    """Return the answer for these decisions, which most instances share."""
    decisions = [switch.allows(instance) for switch in found]
    place = (
        key.id,
        is_bulk,
        *missing,
        None,
        *((switch.key, can) for switch, can in zip(found, decisions, strict=True)),
    )
    rows = list(zip(found, decisions, strict=True))
    if is_bulk:
        return keep(snapshot, place, lambda: answers.several(rows, missing, snapshot, key.id))
    return keep(snapshot, place, lambda: answers.one(*rows[0], snapshot, key.id))


def instance_of(given: dict[str, list[str]]) -> str:
    try:
        return reports.instance_name(given["instance"][0]) if "instance" in given else ""
    except reports.ReportError as error:
        raise RefusedError(400, f"{error}".replace("instance", "Instance", 1)) from error


def evaluate(path: str, body: bytes, snapshot: Snapshot, key: KnownKey) -> Answer:
    name = ofrep.targeting_key(body)
    if path == FLAGS:
        found = [switch for switch in snapshot.switches.values() if key.reads(switch.key)]
        values = [ofrep.value_of(switch, name) for switch in found]
        rows = list(zip(found, values, strict=True))
        return keep(snapshot, (FLAGS, key.id, *values), lambda: ofrep.several(rows, snapshot, key.id))
    switch = snapshot.switches.get(path[len(FLAGS) + 1 :])
    if switch is None or not key.reads(switch.key):
        raise OfrepError("FLAG_NOT_FOUND", "There is no switch with this key.")
    value = ofrep.value_of(switch, name)
    return keep(snapshot, (FLAGS, key.id, switch.key, value), lambda: ofrep.one(switch, value, snapshot, key.id))


def keep(snapshot: Snapshot, place: Any, make: Callable[[], Answer]) -> Answer:
    kept: Answer | None = snapshot.answers.get(place)
    if kept is None:
        kept = make()
        if len(snapshot.answers) >= ANSWERS_KEPT:
            snapshot.answers.clear()
        snapshot.answers[place] = kept
    return kept


def send(
    answer: Answer, environ: Environ, start_response: StartResponse, more: Iterable[tuple[str, str]] = ()
) -> Iterable[bytes]:
    answer.is_used = True
    given = environ.get("HTTP_IF_NONE_MATCH")
    if given is not None and answer.is_known_to(given):
        start_response("304 Not Modified", [*answer.not_modified, *more])
        return []
    start_response("200 OK", [*answer.headers, *more])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else answer.body


def plain(start_response: StartResponse, status: int, document: Any, *more: tuple[str, str]) -> Iterable[bytes]:
    content = orjson.dumps(document)
    headers: Headers = [*JSON_HEADERS, ("Content-Length", str(len(content))), ("Cache-Control", "no-store"), *more]
    start_response(STATUSES[status], headers)
    return [content]


def rows_of(environ: Environ) -> list[Any]:
    """Return the reports in a body. Raise RefusedError for anything but a list in JSON."""
    if (environ.get("CONTENT_TYPE") or "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedError(415, "Send the reports as JSON, with Content-Type: application/json.")
    try:
        rows = orjson.loads(body_of(environ, REPORTS_LIMIT))
    except orjson.JSONDecodeError as error:
        raise RefusedError(400, f"The body is not valid JSON: {error}.") from error
    if not isinstance(rows, list):
        raise RefusedError(400, "The body must be a list of reports.")
    if len(rows) > reports.ROWS_LIMIT:
        raise RefusedError(413, f"Send at most {reports.ROWS_LIMIT} reports at once.")
    return rows


def body_of(environ: Environ, limit: int) -> bytes:
    """Return the body. Raise RefusedError for one that is longer than the limit, without reading it."""
    length = environ.get("CONTENT_LENGTH") or ""
    if length.isdigit() and int(length) > limit:
        raise RefusedError(413, f"The body is longer than {limit} bytes.")
    body: bytes = environ["wsgi.input"].read(int(length) if length.isdigit() else limit + 1)
    if len(body) > limit:
        raise RefusedError(413, f"The body is longer than {limit} bytes.")
    return body


def sender_of(environ: Environ) -> str:
    """Return the caller's address; "" where it is loopback, which many share, or unknown."""
    # Behind a proxy it would be the proxy's.
    address: str = "" if "HTTP_X_FORWARDED_FOR" in environ else environ.get("REMOTE_ADDR") or ""
    return "" if address == "::1" or address.startswith("127.") else address
