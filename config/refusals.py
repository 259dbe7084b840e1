"""Refusals in the log: a line each, as they are nobody's error."""

import logging
from http import HTTPStatus


class WithoutTraceback(logging.Filter):
    """Cut the traceback that Django adds to a 403: the line says who was refused what."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", None) == HTTPStatus.FORBIDDEN:
            record.exc_info = record.exc_text = None
        return True
