"""What a command answers while its cache is off: what redis-py answers for an empty cache that takes nothing."""

from collections.abc import Sequence
from typing import Any


class SwitchedOffError(Exception):
    """The cache is out of service, and what was asked cannot be left out in silence: a job would be lost."""


MUST_NOT_VANISH = {
    *("LPUSH", "RPUSH", "LPUSHX", "RPUSHX", "LINSERT", "RPOPLPUSH", "BRPOPLPUSH", "LMOVE", "BLMOVE"),
    *("XADD", "PUBLISH", "SPUBLISH"),
}
EMPTY_LIST = {
    *("HKEYS", "HVALS", "LRANGE", "KEYS", "SORT", "ZRANGE", "ZRANGEBYSCORE", "ZREVRANGE", "ZREVRANGEBYSCORE"),
    *("ZRANGEBYLEX", "XRANGE", "XREVRANGE", "XREAD", "XREADGROUP"),
}
EMPTY_SET = {"SMEMBERS", "SINTER", "SUNION", "SDIFF"}
NOTHING_COUNTED = {
    *("EXISTS", "DEL", "UNLINK", "HDEL", "SREM", "ZREM", "LREM", "HLEN", "LLEN", "SCARD", "ZCARD", "ZCOUNT", "STRLEN"),
    *("SADD", "ZADD", "HSET"),
}
REFUSED = {"SETEX", "PSETEX", "SETNX", "MSET", "MSETNX", "HMSET", "EXPIRE", "PEXPIRE", "PERSIST"}


def off_answer(words: Sequence[Any]) -> Any:
    """Raise SwitchedOffError for what goes into a queue. A lock (SET with NX) is not got: None."""
    command = str(words[0]).upper()
    if command in MUST_NOT_VANISH:
        raise SwitchedOffError(f"The cache is switched off; {command} has to go elsewhere.")
    if command in ("MGET", "HMGET"):
        return [None] * (len(words) - (1 if command == "MGET" else 2))
    if command in ("SCAN", "SSCAN", "ZSCAN", "HSCAN"):
        return (0, {} if command == "HSCAN" else [])
    return _plain(command)


def _plain(command: str) -> Any:
    if command in EMPTY_LIST:
        return []
    if command in EMPTY_SET:
        return set()
    if command in NOTHING_COUNTED:
        return 0
    return {"HGETALL": {}}.get(command, False if command in REFUSED else None)
