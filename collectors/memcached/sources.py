"""The sources of a Memcached node, in the order in which their commands are sent."""

from collectors.memcached.rare import MemcachedConns, MemcachedSettings
from collectors.memcached.slabs import MemcachedSlabs
from collectors.memcached.stats import MemcachedDetail, MemcachedStats
from collectors.source import Source


def make_memcached_sources() -> tuple[Source, ...]:
    return MemcachedStats(), MemcachedDetail(), MemcachedSettings(), MemcachedSlabs(), MemcachedConns()
