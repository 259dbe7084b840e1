"""Conditions as the packs of rules write them, and how long after events nothing is out of the ordinary."""

from typing import Any

# Rates and ratios are out of the ordinary for so long after such events.
SETTLING = {"restart": "5m", "failover": "5m", "scaling": "5m"}
WARMING = {"restart": "30m", "failover": "15m", "scaling": "15m", "deploy": "15m", "load-test": "15m"}


def over(metric: str, warning: float | None = None, critical: float | None = None, **more: Any) -> dict[str, Any]:
    """Return a condition that is true above its bounds."""
    bounds = {"warning": warning, "critical": critical}
    return {"metric": metric, "is": ">"} | {name: one for name, one in bounds.items() if one is not None} | more


def under(metric: str, warning: float | None = None, critical: float | None = None, **more: Any) -> dict[str, Any]:
    """Return a condition that is true below its bounds."""
    return over(metric, warning, critical, **more) | {"is": "<"}
