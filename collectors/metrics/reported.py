"""Which metrics servers of a kind report at all; what they never do is left out of pages."""

from collectors.metrics.memcached import MEMCACHED_DETAIL, REPORTED
from fleet.engines import Engine

OF_MEMCACHED = REPORTED | {metric.name for metric in MEMCACHED_DETAIL}
NOT_OF_OTHERS = frozenset(metric.name for metric in MEMCACHED_DETAIL)


def is_reported(name: str, engine: str) -> bool:
    """Return whether servers of a kind may report a metric; of a kind not known yet, they may report any."""
    if engine == Engine.MEMCACHED:
        return name in OF_MEMCACHED
    return name not in NOT_OF_OTHERS
