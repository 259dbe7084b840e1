"""Refusals in the log: a line each, as they are nobody's error."""

import logging
from http import HTTPStatus


class WithoutTraceback(logging.Filter):
    """Cut the traceback that Django adds to a 403 and, while the database is away, to a 503: the line says enough."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", None) in {HTTPStatus.FORBIDDEN, HTTPStatus.SERVICE_UNAVAILABLE}:
            record.exc_info = record.exc_text = None
        return True
