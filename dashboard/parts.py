"""All parts of Shardwatch that must work, as /readyz, the health page, the API and /metrics tell."""

from alerts import readiness as sending
from collectors import readiness
from collectors.readiness import Check


def checks() -> list[Check]:
    return [*readiness.checks(), *sending.checks()]
