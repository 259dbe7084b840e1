"""Commands that cost a server much, with the better choice. What is cheap on small keys is named only when slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from dashboard.commands import CommandRow

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# A command that reads a whole collection takes longer than this where collections are big.
BIG_USEC = 200.0
# A script holds up everybody else: from here on it shows in the latency of other commands.
LONG_USEC = 5_000.0


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do instead, from so many calls per second and from such a latency on (mean or p99)."""

    sentence: StrOrPromise
    slow_usec: float = 0.0
    per_second: float = 0.0
    in_clusters_only: bool = False

    def fits(self, row: CommandRow, is_clustered: bool = False) -> bool:
        if self.in_clusters_only and not is_clustered:
            return False
        return (row.calls_per_second or 0.0) > self.per_second and row.slowest_usec >= self.slow_usec


WHOLE_HASH = Advice(
    _("Reads whole hashes, some of them big: name the fields with HMGET, or page with HSCAN."), BIG_USEC
)
WHOLE_SET = Advice(_("Reads whole sets, some of them big: page with SSCAN, or ask SISMEMBER."), BIG_USEC)
COMBINED = Advice(_("Combines whole sets, some of them big: keep the result, or read it from a replica."), BIG_USEC)
LONG_RANGE = Advice(_("Reads long ranges: ask for a bounded piece, such as the first 100, and page."), BIG_USEC)
SORTING = Advice(_("Sorts on the one thread that serves everybody: use a sorted set, or sort in the application."))
SCRIPT = Advice(_("A long script holds up every other command: split it, and give its loops an end."), LONG_USEC)
LAYOUT = Advice(
    _(
        "Clients ask for the cluster's layout again and again. With phpredis, redis.clusters.cache_slots=1 is"
        " missing; other clients should be kept between requests."
    ),
    per_second=0.5,
)
DELETION = Advice(_("Frees big keys while everybody waits: UNLINK frees them in the background."), BIG_USEC)
PASSED_ON = Advice(
    _("A cluster passes each message on to all of its nodes: SPUBLISH and SSUBSCRIBE keep it within one shard."),
    per_second=1.0,
    in_clusters_only=True,
)
FLUSH = Advice(_("Removes all keys, and everybody waits meanwhile: add ASYNC, and ask who needs it."))

# What clients ask to learn which node serves which slots.
LAYOUT_COMMANDS = ("cluster|slots", "cluster|shards", "cluster|nodes")
ADVICE: dict[str, Advice] = {
    "keys": Advice(_("Walks through all keys while everybody waits: use SCAN.")),
    "hgetall": WHOLE_HASH,
    "hkeys": WHOLE_HASH,
    "hvals": WHOLE_HASH,
    "smembers": WHOLE_SET,
    **dict.fromkeys(("sinter", "sunion", "sdiff", "sinterstore", "sunionstore", "sdiffstore"), COMBINED),
    **dict.fromkeys(("zinter", "zunion", "zdiff", "zinterstore", "zunionstore", "zdiffstore"), COMBINED),
    **dict.fromkeys(("lrange", "zrange", "zrevrange", "zrangebyscore", "zrevrangebyscore", "zrangebylex"), LONG_RANGE),
    **dict.fromkeys(("xrange", "xrevrange"), LONG_RANGE),
    **dict.fromkeys(("sort", "sort_ro"), SORTING),
    **dict.fromkeys(("eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro"), SCRIPT),
    **dict.fromkeys(LAYOUT_COMMANDS, LAYOUT),
    **dict.fromkeys(("publish", "subscribe"), PASSED_ON),
    "del": DELETION,
    "flushall": FLUSH,
    "flushdb": FLUSH,
    "save": Advice(_("Writes the whole data set while everybody waits: use BGSAVE.")),
    "monitor": Advice(
        _("Copies every command to a client and can halve the throughput: use this page or the slow log.")
    ),
    "client|list": Advice(_("Writes a line for each connection while everybody waits: ask rarely."), BIG_USEC),
    "debug": Advice(_("A tool for the server's makers, which can stop it: keep it out of production.")),
}


def advice_for(row: CommandRow, is_clustered: bool = False) -> StrOrPromise:
    """Return what to do instead of a command, as it was used; empty where nothing is wrong with it."""
    advice = ADVICE.get(row.name)
    return advice.sentence if advice and advice.fits(row, is_clustered) else ""
