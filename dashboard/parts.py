"""All parts of Shardwatch that must work, as /readyz, the health page, the API and /metrics tell."""

from datetime import datetime

from alerts import pulse, self_tests
from alerts import readiness as sending
from collectors import readiness
from collectors.readiness import Check


def checks() -> list[Check]:
    return [*readiness.checks(), *sending.checks()]


def watch(now: datetime) -> list[Check]:
    """Return who would notice if all of that were wrong; /readyz does not depend on services outside."""
    return [pulse.check(now), self_tests.check(now)]
