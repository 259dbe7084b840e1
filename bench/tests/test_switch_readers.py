"""The simulated readers of a bench: they must measure what real ones would."""

import asyncio
import contextlib
import json
from collections.abc import Callable

import pytest

from bench import switch_readers
from bench.switch_readers import Reader, answered, run_all


class Peer:
    """A scripted server: revision 1 at first, 2 from the third poll on; keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.polls = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                if head.startswith("POST"):
                    await reader.readexactly(int(head.split("Content-Length: ")[1].split()[0]))
                self.asked.append(head)
                writer.write(self._answer(head))

    def _answer(self, head: str) -> bytes:
        if head.startswith("POST"):
            return b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"
        self.polls += 1
        revision = 1 if self.polls < 3 else 2
        if f'If-None-Match: "{revision}"' in head:
            return b"HTTP/1.1 304 Not Modified\r\n\r\n"
        body = json.dumps({"revision": revision}).encode()
        return b'HTTP/1.1 200 OK\r\nETag: "%d"\r\nContent-Length: %d\r\n\r\n%s' % (revision, len(body), body)


def polled(peer: Peer, until: Callable[[Reader], bool], reports: bool = False) -> Reader:
    async def run() -> Reader:
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
        reader = Reader(server.sockets[0].getsockname()[1], "user-cache", "swc_x", "pod-1", reports)
        async with asyncio.timeout(20):
            await run_all([reader], lambda: until(reader))
        server.close()
        return reader

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch_readers, "PERIOD_SECONDS", 0.01)


def test_a_reader_notes_when_it_first_saw_each_revision() -> None:
    reader = polled(Peer(), lambda reader: 2 in reader.seen)

    assert list(reader.seen) == [1, 2]
    assert reader.seen[1] <= reader.seen[2]


def test_a_reader_asks_with_what_it_knows() -> None:
    peer = Peer()

    polled(peer, lambda reader: 2 in reader.seen)

    assert "If-None-Match" not in peer.asked[0]
    assert 'If-None-Match: "1"' in peer.asked[1]
    assert all("X-API-Key: swc_x" in head and "instance=pod-1" in head for head in peer.asked)


def test_a_reader_reports_after_each_poll() -> None:
    peer = Peer()

    polled(peer, lambda reader: 2 in reader.seen, reports=True)

    assert [head.split()[0] for head in peer.asked[:4]] == ["GET", "POST", "GET", "POST"]


def test_a_refusal_ends_the_measurement() -> None:
    async def read() -> None:
        stream = asyncio.StreamReader()
        stream.feed_data(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        await answered(stream)

    with pytest.raises(RuntimeError, match="503"):
        asyncio.run(read())
