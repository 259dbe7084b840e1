"""Looking at a Memcached while somebody waits: what it is, and which nodes its discovery endpoint names."""

import hiredis

from collectors.connections import Link, ask
from collectors.failures import Cause, ReadError, from_error_reply
from collectors.layout import Layout
from collectors.memcached.discovery import CONFIG_CLUSTER, ConfigCluster
from collectors.memcached.stats import MemcachedStats
from collectors.memcached.text import STATS
from collectors.steps import Step


async def version(link: Link) -> str:
    """Return the version of a Memcached. Raise ReadError where `stats` tells none."""
    (reply,) = await ask(link, [STATS], Step.STATS)
    if isinstance(reply, hiredis.ReplyError):
        raise from_error_reply(str(reply), Step.STATS)
    facts = MemcachedStats().parse([reply]).facts
    if "memcached_version" not in facts:
        raise ReadError(Step.STATS, Cause.NOT_STATS)
    return facts["memcached_version"]


async def nodes(link: Link) -> Layout:
    """Return the nodes that a discovery endpoint names. Raise ReadError where it names none."""
    (reply,) = await ask(link, [CONFIG_CLUSTER], Step.NODES)
    layout = ConfigCluster().parse([reply]).layout
    if layout is None:
        raise ReadError(Step.NODES, Cause.NO_NODE_LIST, reply)
    return layout
