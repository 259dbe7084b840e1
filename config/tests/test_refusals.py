"""What the log and the API repeat of a refusal."""

import logging
import sys

import pytest

from config.errors import SENTENCE_LIMIT, harmless
from config.refusals import WithoutTraceback


def record_of(status: object) -> logging.LogRecord:
    try:
        raise PermissionError("no")  # noqa: TRY301 - a record needs a traceback
    except PermissionError:
        record = logging.LogRecord("django", logging.WARNING, "x.py", 1, "Forbidden", None, sys.exc_info())
    record.status_code = status
    return record


@pytest.mark.parametrize(
    ("status", "has_traceback"), [(403, False), (503, False), (500, True), (404, True), (None, True)]
)
def test_only_a_refusal_loses_its_traceback(status: object, has_traceback: bool) -> None:
    record = record_of(status)

    kept = WithoutTraceback().filter(record)

    assert (kept, bool(record.exc_info)) == (True, has_traceback)


def test_a_record_without_a_status_passes() -> None:
    record = logging.LogRecord("other", logging.INFO, "x.py", 1, "hello", None, None)

    assert WithoutTraceback().filter(record)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("plain", "plain"),
        ("a\x1b[2Jb", "a [2Jb"),
        ("\u202eevil", "evil"),
        ("タイトル 🙂", "タイトル 🙂"),
        ("x" * 5_000, "x" * SENTENCE_LIMIT),
        ("", ""),
    ],
)
def test_an_error_repeats_nothing_that_drives_a_terminal(words: str, shown: str) -> None:
    assert harmless({"error": words, "field": words}) == {"error": shown, "field": shown}
