"""Readers of switches by the hundred in one process: they poll, note when they see a change, and report."""

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

PERIOD_SECONDS, SPREAD = 5.0, 0.2
REPORTS = "/api/v1/switches/reports"


@dataclass(slots=True)
class Reader:
    """One simulated pod on a kept connection."""

    port: int
    key: str
    token: str
    name: str
    reports: bool = False
    etag: str = ""
    revision: int = 0
    # By revision, when it was seen.
    seen: dict[int, float] = field(default_factory=dict)

    async def run(self, until: Callable[[], bool]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        # The first polls of a fleet that started together are spread like the later ones.
        await asyncio.sleep(random.uniform(0, PERIOD_SECONDS))
        while not until():
            await self._poll(reader, writer)
            if self.reports:
                await self._report(reader, writer)
            await asyncio.sleep(PERIOD_SECONDS * random.uniform(1 - SPREAD, 1 + SPREAD))
        writer.close()

    async def _poll(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = f"/api/v1/switches/{self.key}?instance={self.name}"
        known = f"If-None-Match: {self.etag}\r\n" if self.etag else ""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {self.token}\r\n{known}\r\n".encode())
        status, headers, body = await answered(reader)
        if status == 200:
            self.etag, self.revision = headers["etag"], json.loads(body)["revision"]
            self.seen[self.revision] = time.time()

    async def _report(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        row = {"key": self.key, "instance": self.name, "address": "10.0.0.1", "revision": self.revision}
        body = json.dumps([{**row, "age_seconds": 0.5, "workers": 25}])
        head = f"POST {REPORTS} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {self.token}\r\nContent-Type: application/json"
        writer.write(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        status, _headers, text = await answered(reader)
        if status != 202:
            raise RuntimeError(f"A report was answered {status}: {text[:200]!r}")


async def answered(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Return the status, headers and body of one answer. Raise RuntimeError for one that is no success."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    status = int(head[0].split()[1])
    if status not in {200, 202, 304}:
        raise RuntimeError(f"The web process answered {head[0]}.")
    return status, headers, body


async def run_all(readers: list[Reader], until: Callable[[], bool]) -> None:
    await asyncio.gather(*(reader.run(until) for reader in readers))
