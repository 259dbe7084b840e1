"""A scripted Shardwatch, and both clients behind one face."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from alerts.tests.peers import Exchange, Script, Service, in_turn, says
from shardwatch_client import Default, Options
from shardwatch_client.keeper import Keeper

KEY = "user-cache"
HERE = Path(__file__).parent
# A machine under load must not turn a patient answer into none; tests of slowness set their own.
PATIENT_MILLISECONDS = 5_000
START = 1_800_000_000.0
# The longest time until a client asks again after an answer with a TTL of 5 s.
NEXT = 6.1
EVER = 10 * 365 * 86_400.0


def row(**said: Any) -> dict[str, Any]:
    usual = {"key": KEY, "can_use": True, "percent": 100, "revision": 1, "epoch": 1, "endpoint": None}
    return {**usual, "ttl_seconds": 5, **said}


def answers(etag: str = "", **said: Any) -> Script:
    """Return a script that answers with one switch; a tag of its own for each revision unless one is given."""
    one = row(**said)
    tag = etag or f'"{one["epoch"]}.{one["revision"]}.{one["can_use"]}"'
    return says(200, {"switches": [one], "epoch": one["epoch"], "missing": []}, ETag=tag)


class ScriptedShardwatch:
    """Answers questions as it is told, and keeps the reports."""

    def __init__(self) -> None:
        self.script: Script = answers()
        self.service = Service(self._serve)
        self.polls: list[Exchange] = []
        self.reports: list[dict[str, Any]] = []

    def _serve(self, exchange: Exchange) -> None:
        if exchange.line.startswith("POST"):
            self.reports += exchange.json
            exchange.reply(202, {"accepted": len(exchange.json)})
            return
        self.polls.append(exchange)
        self.script(exchange)

    def then(self, *scripts: Script) -> None:
        self.script = in_turn(*scripts)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.service.port}"

    def close(self) -> None:
        self.service.close()


@dataclass
class Wishes:
    """How a test wants its client; the same for both languages."""

    url: str
    directory: Path
    caches: Mapping[str, str] = field(default_factory=lambda: {KEY: "open"})
    instance: str = "web1"
    address: str = "10.0.0.5"
    milliseconds: int = PATIENT_MILLISECONDS
    # 0: nobody knows.
    workers: int = 0


class Client(Protocol):
    """A client whose clock the test sets with every question."""

    def can_use(self, now: float, key: str = KEY) -> bool: ...
    def endpoint(self, now: float) -> dict[str, Any] | None: ...
    def age(self, now: float) -> float | None: ...
    def error(self, now: float) -> str: ...
    def stop(self) -> None: ...


class PhpClient:
    """A php-cli process with its own APCu, or none."""

    def __init__(self, wishes: Wishes, php: str, *settings: str) -> None:
        given = json.dumps(asdict(wishes), default=str)
        options = [word for one in ("display_errors=stderr", *settings) for word in ("-d", one)]
        self._process = subprocess.Popen(
            [php, *options, HERE / "php" / "driver.php", given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _ask(self, question: str, key: str, now: float) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([question, key, now]) + "\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        if "raised" in said:
            raise LookupError(said["raised"])
        return said["answer"]

    def can_use(self, now: float, key: str = KEY) -> bool:
        return bool(self._ask("can_use", key, now))

    def endpoint(self, now: float) -> Any:
        return self._ask("endpoint", KEY, now)

    def age(self, now: float) -> Any:
        return self._ask("age", KEY, now)

    def error(self, now: float) -> str:
        return str(self._ask("error", KEY, now))

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


class PythonClient:
    """What the thread of a process does, by hand."""

    def __init__(self, wishes: Wishes) -> None:
        self._now = START
        self._keeper = Keeper(python_options(wishes, lambda: self._now))

    def can_use(self, now: float, key: str = KEY) -> bool:
        self._now = now
        self._keeper.renew()
        return self._keeper.can_use(key)

    def endpoint(self, now: float) -> Any:
        endpoint = self._keeper.endpoint(KEY)
        return endpoint and asdict(endpoint)

    def age(self, now: float) -> float | None:
        self._now = now
        return self._keeper.age_seconds(KEY)

    def error(self, now: float) -> str:
        return self._keeper.known.error

    def stop(self) -> None:
        """There is nothing to stop: what is not in the files is gone with the object."""


def python_options(wishes: Wishes, clock: Any) -> Options:
    seconds = wishes.milliseconds / 1000
    caches = {key: Default(value) for key, value in wishes.caches.items()}
    place = (wishes.directory, wishes.instance, wishes.address)
    return Options(wishes.url, "swc_key", caches, *place, seconds, seconds, clock, wishes.workers or None)
