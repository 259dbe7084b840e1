"""A peer of the switches' read path: a constant under the same web server, which is the limit here."""

from collections.abc import Callable, Iterable
from typing import Any


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer so many bytes as the query says, 304 for none."""
    size = int(environ["QUERY_STRING"] or 1)
    start_response("200 OK" if size else "304 Not Modified", [("Content-Type", "application/json")])
    return [b"x" * size] if size else []
