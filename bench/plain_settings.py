"""Settings of the peer of `bin/bench switches`: Django with nothing before its one view."""

from config.settings import *  # noqa: F403

MIDDLEWARE = []
ROOT_URLCONF = "bench.plain_view"
