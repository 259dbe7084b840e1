"""A scripted pager with the faults of real ones. It keeps incidents as PagerDuty does: `python -m bench.pager`."""

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, TypeAlias

HEADER_LIMIT = 65_536
SUCCESS = {"status": "success", "message": "Event processed"}
Event: TypeAlias = dict[str, Any]
Reply: TypeAlias = tuple[int, dict[str, str], Any]


@dataclass(frozen=True, slots=True)
class Faults:
    """The share of requests that meet each fault, and how slow the slow ones are."""

    busy: float = 0.05
    unavailable: float = 0.07
    slow: float = 0.04
    unanswered: float = 0.04
    slowest_seconds: float = 2.0


@dataclass(slots=True)
class Book:
    """What became of incidents: a trigger opens one unless it is open, and a resolved one never opens again."""

    opened: Counter[str] = field(default_factory=Counter)
    open: set[str] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)

    def take(self, event: Event) -> None:
        key, action = str(event["dedup_key"]), event["event_action"]
        if action == "trigger" and key not in self.open:
            self.open.add(key)
            self.opened[key] += 1
        elif action == "resolve":
            self.open.discard(key)

    def as_json(self) -> dict[str, Any]:
        return {"opened": self.opened, "open": sorted(self.open), "answers": self.answers}


@dataclass(slots=True)
class Pager:
    """The endpoint. `chance` decides which fault a request meets."""

    faults: Faults
    chance: random.Random
    book: Book = field(default_factory=Book)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            method, body = await request(reader)
            reply = (200, {}, self.book.as_json()) if method == "GET" else await self.answer(json.loads(body))
            if reply:
                writer.write(encoded(reply))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, ValueError):
            # The sender was killed in the middle.
            pass
        finally:
            writer.close()

    async def answer(self, event: Event) -> Reply | None:
        """Meet a fault or take the event; None closes the connection without an answer."""
        name = self.fault()
        self.book.answers[name] += 1
        return await FAULTS[name](self, event)

    def fault(self) -> str:
        drawn = self.chance.random()
        for name in ("busy", "unavailable", "slow", "unanswered"):
            drawn -= getattr(self.faults, name)
            if drawn < 0:
                return name
        return "taken"

    async def busy(self, event: Event) -> Reply:
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
        return 429, {"Retry-After": self.chance.choice(["1", date])}, {"status": "throttle exceeded"}

    async def unavailable(self, event: Event) -> Reply:
        return 503, {}, {"status": "unavailable"}

    async def slow(self, event: Event) -> Reply:
        # Taken late, and also when the sender has long gone: that is what a resolve must not overtake.
        await asyncio.sleep(self.chance.uniform(0, self.faults.slowest_seconds))
        return await self.taken(event)

    async def unanswered(self, event: Event) -> None:
        self.book.take(event)

    async def taken(self, event: Event) -> Reply:
        self.book.take(event)
        return 202, {}, {**SUCCESS, "dedup_key": event["dedup_key"]}


FAULTS: dict[str, Callable[[Pager, Event], Awaitable[Reply | None]]] = {
    "busy": Pager.busy,
    "unavailable": Pager.unavailable,
    "slow": Pager.slow,
    "unanswered": Pager.unanswered,
    "taken": Pager.taken,
}


async def request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """Return the method and the body of one request. Raise IncompleteReadError where it is cut."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    lengths = [line.partition(":")[2] for line in head if line.lower().startswith("content-length:")]
    return head[0].split(" ")[0], await reader.readexactly(int(lengths[0]) if lengths else 0)


def encoded(reply: Reply) -> bytes:
    status, headers, body = reply
    content = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(content)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def main(seed: int, faults: Faults) -> None:
    """Serve on a free loopback port until killed; the port is the first line that is printed."""
    server = await asyncio.start_server(Pager(faults, random.Random(seed)).serve, "127.0.0.1", 0, limit=HEADER_LIMIT)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def command(seed: int, faults: Faults) -> list[str]:
    return [sys.executable, "-P", "-m", "bench.pager", str(seed), json.dumps(asdict(faults))]


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Faults(**json.loads(sys.argv[2]))))
