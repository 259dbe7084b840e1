"""Whether a cache is ready for maintenance and for scaling, check by check: a mark, or that it is not known."""

from dashboard.readiness.rules import RULES, Check, Part, check, summary

__all__ = ("RULES", "Check", "Part", "check", "summary")
