"""The catalogue of metrics. Nothing else knows a unit."""

from collectors.metrics.catalogue import Column, Derived, Kind, Metric
from collectors.metrics.hot import HOT, HOT_INDEX, HOT_NAMES

__all__ = ("HOT", "HOT_INDEX", "HOT_NAMES", "Column", "Derived", "Kind", "Metric")
