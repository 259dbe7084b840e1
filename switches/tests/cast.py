"""The small cast of tests about switches: switches, keys, reports, and a caller of the read path."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import orjson
from django.utils import timezone

from accounts.models import Role, User
from accounts.tests.cast import person
from fleet.models import Cache
from switches import changing
from switches.changing import Why
from switches.client_key import digest_of
from switches.gate import Application, Gate
from switches.models import Instance, Switch
from switches.snapshot import Snapshot, parse

WHY = Why("cache is sick", "OPS-1")
KEY = "swc_test"


def operator(name: str = "ann") -> User:
    return User.objects.filter(username=name).first() or person(Role.OPERATOR, name)


def cache(name: str = "user", address: str = "redis://10.0.0.5:6379", **fields: Any) -> Cache:
    return Cache.objects.create(name=name, address=address, poll_interval_seconds=15, **fields)


def switch(key: str = "user-cache", **given: Any) -> Switch:
    return changing.create(operator(), key, given, Why("new"))


def instance(of: Switch, name: str, revision: int | None = None, **fields: Any) -> Instance:
    """Return an instance that reported just now, by default the revision of the day."""
    now = timezone.now()
    known = {"revision": of.revision if revision is None else revision, "first_seen_at": now, "seen_at": now}
    return Instance.objects.create(switch=of, name=name, **{**known, **fields})


def row(key: str = "user-cache", percent: int = 100, **fields: Any) -> dict[str, Any]:
    """Return a switch as a snapshot's document has it."""
    usual = {"id": 1, "revision": 1, "ttl_seconds": 5, "address": None, "topology": "", "instances": None}
    return {"key": key, "percent": percent, **usual, **fields}


def snapshot(*rows: Mapping[str, Any], scope: list[str] | None = None, epoch: int = 1, serial: int = 1) -> Snapshot:
    """Return a snapshot of these switches that KEY reads, all of them or those of a scope."""
    keys = [{"id": 1, "digest": digest_of(KEY), "scope": scope or []}]
    return parse(orjson.dumps({"epoch": epoch, "serial": serial, "switches": rows or [row()], "keys": keys}))


class Reply:
    """What the read path answered."""

    def __init__(self, application: Application, environ: dict[str, Any]) -> None:
        self.headers: dict[str, str] = {}
        self.status = 0
        self.body = b"".join(application(environ, self._start))

    def _start(self, status: str, headers: list[tuple[str, str]]) -> None:
        self.status, self.headers = int(status.split()[0]), dict(headers)

    @property
    def json(self) -> Any:
        assert self.headers["Content-Type"] == "application/json"
        return orjson.loads(self.body)


def ask(gate: Gate, method: str, path: str, body: Any = None, key: str | None = KEY, **headers: str) -> Reply:
    """Call the read path; `headers` are WSGI's names. A body that is no bytes goes as JSON."""
    path, _, query = path.partition("?")
    content = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
    environ: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query}
    environ |= {"wsgi.input": BytesIO(content), "CONTENT_LENGTH": str(len(content)), "REMOTE_ADDR": "10.0.0.9"}
    environ |= {"CONTENT_TYPE": "application/json"} if content else {}
    environ |= {"HTTP_X_API_KEY": key} if key is not None else {}
    return Reply(gate, environ | headers)
