"""redis-py behind a switch: every command looks at the switch first, and none is sent while the cache is off."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeAlias

from redis import Redis, RedisCluster
from redis.client import NEVER_DECODE
from redis.commands import CoreCommands
from redis.exceptions import ConnectionError as ConnectionLostError
from redis.exceptions import MovedError, ReadOnlyError, RedisError

from shardwatch_client import gzip_values
from shardwatch_client.off_answer import SwitchedOffError, off_answer
from shardwatch_client.state import Endpoint
from shardwatch_client.switches import Switches

Client: TypeAlias = Redis | RedisCluster
Connect: TypeAlias = Callable[[Endpoint | None], Client]

# Done twice they do no more than once, so they may be sent again when only the answer was lost.
REPEATABLE = {
    "GET",
    "MGET",
    "HGET",
    "HMGET",
    "HGETALL",
    "HVALS",
    "EXISTS",
    "TTL",
    "PTTL",
    "STRLEN",
    "SETEX",
    "PSETEX",
    "DEL",
}


class SwitchedRedis(CoreCommands):
    """The commands of redis-py for one cache.

    `connect` is given the endpoint of the switch, None where none is known, and returns a client with its timeouts set.
    """

    # What redis-py's own classes of commands ask of the client that they are mixed into.
    _is_async_client: Literal[False] = False
    _event_dispatcher: Any = None

    def __init__(
        self, switches: Switches, key: str, connect: Connect, compress_above: int = gzip_values.ABOVE_BYTES
    ) -> None:
        self._switches = switches
        self._key = key
        self._connect = connect
        self._above = compress_above
        self._client: Client | None = None
        self._endpoint: Endpoint | None = None
        self._decided = threading.local()
        self._connecting = threading.RLock()

    def can_use(self) -> bool:
        decided: bool | None = getattr(self._decided, "answer", None)
        return self._switches.can_use(self._key) if decided is None else decided

    @contextmanager
    def group(self) -> Iterator[bool]:
        """Decide once for several commands of this thread, so that one piece of work does not mix two states."""
        outer = getattr(self._decided, "answer", None)
        self._decided.answer = self.can_use()
        try:
            yield self._decided.answer
        finally:
            self._decided.answer = outer

    def raw(self) -> Client:
        """Return redis-py itself, for pipelines and the like; raise SwitchedOffError while the cache is off."""
        if not self.can_use():
            self.close()
            raise SwitchedOffError("The cache is switched off.")
        return self._connected()

    def close(self) -> None:
        """Leave the cache: "off" is proven only when no connection of this host is left."""
        with self._connecting:
            client, self._client = self._client, None
        if client is not None:
            _leave(client)

    def get_encoder(self) -> Any:
        return self._connected().get_encoder()

    def execute_command(self, *words: Any, **options: Any) -> Any:
        if not self.can_use():
            self.close()
            return off_answer(words)
        try:
            return self._send(words, options)
        except (ReadOnlyError, MovedError):
            # The server did nothing, and will do nothing on this connection.
            self.close()
        except ConnectionLostError:
            self.close()
            if str(words[0]).upper() not in REPEATABLE:
                raise
        return self._send(words, options)

    def _send(self, words: Sequence[Any], options: dict[str, Any]) -> Any:
        # redis-py's execute_command has no types.
        client: Any = self._connected()
        encoder = client.get_encoder()
        packed = gzip_values.pack_words(words, encoder.encode, self._above)
        if str(words[0]).upper() not in gzip_values.READS:
            return client.execute_command(*packed, **options)
        # What is compressed is no text, whatever the client decodes otherwise.
        reply = client.execute_command(*packed, **{**options, NEVER_DECODE: True})
        return gzip_values.unpack_reply(reply, encoder.decode)

    def _connected(self) -> Client:
        endpoint = self._switches.endpoint(self._key)
        with self._connecting:
            if self._client is not None and endpoint != self._endpoint:
                self.close()
            if self._client is None:
                self._client, self._endpoint = self._connect(endpoint), endpoint
            return self._client


def _leave(client: Any) -> None:
    """Close what is idle; a command under way in another thread still gets its answer."""
    clients = [node.redis_connection for node in client.get_nodes()] if hasattr(client, "get_nodes") else [client]
    for one in clients:
        if one is not None:
            with suppress(RedisError, OSError):
                one.connection_pool.disconnect(inuse_connections=False)
