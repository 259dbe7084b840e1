"""What may be kept of a logged command: its name, how many arguments it had, and the prefix of its first key.

Arguments hold what belongs to the users of a cache. They are dropped here, before anything is stored, shown
or logged; a command that is not known to begin with a key keeps no part of any argument.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from collectors.failures import printable
from collectors.slow_entry import PREFIX_LIMIT

# Servers keep at most so many words of a command; the last one then says how many more there were.
WORDS_KEPT = 32
MORE_WORDS = re.compile(rb"\.\.\. \((\d{1,9}) more arguments\)")
MORE_BYTES = re.compile(rb"\.\.\. \(\d+ more bytes\)\Z")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,39}")
UNREADABLE = "?"
KEY_READ_BYTES = 240

SEPARATOR = re.compile("([:/|])")
UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}[0-9a-fA-F-]*")
TOKEN = re.compile(r"[^\W_]+")
DIGITS = re.compile(r"\d+")
# A longer run of letters and digits is an id or a text, not a word.
WORD_LIMIT, WORD_WITH_DIGITS_LIMIT = 24, 15

CONTAINER_NAMES = """
    ACL CLIENT CLUSTER COMMAND COMMANDLOG CONFIG DEBUG FUNCTION LATENCY MEMORY MODULE OBJECT PUBSUB SCRIPT SLOWLOG
    XGROUP XINFO
"""
CONTAINERS = frozenset(CONTAINER_NAMES.split())
KEYED_CONTAINERS = frozenset(("MEMORY", "OBJECT", "XGROUP", "XINFO"))
# Commands whose first argument is a key. What is missing here loses its prefix and no more.
KEYED_NAMES = """
    APPEND DECR DECRBY DELIFEQ GET GETDEL GETEX GETRANGE GETSET INCR INCRBY INCRBYFLOAT LCS MGET MSET MSETNX PSETEX SET
    SETEX SETNX SETRANGE STRLEN SUBSTR BITCOUNT BITFIELD BITFIELD_RO BITPOS GETBIT SETBIT
    COPY DEL DUMP EXISTS EXPIRE EXPIREAT EXPIRETIME MOVE PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PTTL RENAME RENAMENX
    RESTORE RESTORE-ASKING SORT SORT_RO TOUCH TTL TYPE UNLINK WATCH
    HDEL HEXISTS HEXPIRE HEXPIREAT HEXPIRETIME HGET HGETALL HGETDEL HGETEX HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET
    HPERSIST HPEXPIRE HPEXPIREAT HPEXPIRETIME HPTTL HRANDFIELD HSCAN HSET HSETEX HSETNX HSTRLEN HTTL HVALS
    BLMOVE BLPOP BRPOP BRPOPLPUSH LINDEX LINSERT LLEN LMOVE LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM RPOP
    RPOPLPUSH RPUSH RPUSHX
    SADD SCARD SDIFF SDIFFSTORE SINTER SINTERSTORE SISMEMBER SMEMBERS SMISMEMBER SMOVE SPOP SRANDMEMBER SREM SSCAN
    SUNION SUNIONSTORE
    BZPOPMAX BZPOPMIN ZADD ZCARD ZCOUNT ZDIFFSTORE ZINCRBY ZINTERSTORE ZLEXCOUNT ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER
    ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE
    ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNIONSTORE
    GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUS_RO GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEOSEARCH
    GEOSEARCHSTORE PFADD PFCOUNT PFMERGE
    XACK XACKDEL XADD XAUTOCLAIM XCLAIM XDEL XDELEX XLEN XPENDING XRANGE XREVRANGE XSETID XTRIM
"""
KEYED = frozenset(KEYED_NAMES.split())


class Shape(NamedTuple):
    """A command without its arguments: `CONFIG GET`, how many arguments followed, and the prefix of the key."""

    command: str
    arguments: int
    key_prefix: str


def shape_of(words: object) -> Shape:
    """Return the shape of a command as a server logged it: a list of words, long ones cut."""
    if not isinstance(words, list) or not words or not isinstance(words[0], bytes):
        return Shape(UNREADABLE, 0, "")
    name, count = name_of(words[0]), word_count(words)
    if name not in CONTAINERS:
        return Shape(name, count - 1, prefix_at(words, 1) if name in KEYED else "")
    second = name_of(words[1]) if count > 1 else ""
    command = name if second in {"", UNREADABLE} else f"{name} {second}"
    return Shape(command, max(count - 2, 0), prefix_at(words, 2) if name in KEYED_CONTAINERS else "")


def name_of(word: object) -> str:
    text = word[:41].decode("ascii", "replace") if isinstance(word, bytes) else ""
    return text.upper() if NAME.fullmatch(text) else UNREADABLE


def word_count(words: Sequence[object]) -> int:
    """Return how many words the command had, those that the server left out included."""
    more = MORE_WORDS.fullmatch(words[-1]) if len(words) == WORDS_KEPT and isinstance(words[-1], bytes) else None
    return len(words) - 1 + int(more[1]) if more else len(words)


def prefix_at(words: Sequence[object], index: int) -> str:
    key = words[index] if len(words) > index else None
    return key_prefix(key) if isinstance(key, bytes) else ""


def key_prefix(key: bytes) -> str:
    """Return a key up to its second separator with ids as `*`: b"player:81723:items" is "player:*"."""
    text = MORE_BYTES.sub(b"", key[:KEY_READ_BYTES]).decode("utf-8", "replace")
    # Parts at even places, separators between them.
    pieces = SEPARATOR.split(text, maxsplit=2)[:3]
    kept = "".join(piece if index % 2 else without_ids(piece) for index, piece in enumerate(pieces))
    return printable(kept, PREFIX_LIMIT)


def without_ids(part: str) -> str:
    """Return a part of a key with everything that may name one thing alone as `*`."""
    if not part.isprintable() or "\ufffd" in part or "@" in part:
        return "*"
    return TOKEN.sub(lambda token: without_digits(token[0]), UUID.sub("*", part))


def without_digits(word: str) -> str:
    numbers = len(DIGITS.findall(word))
    if numbers > 1 or len(word) > (WORD_WITH_DIGITS_LIMIT if numbers else WORD_LIMIT):
        return "*"
    return DIGITS.sub("*", word)
