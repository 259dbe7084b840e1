"""One question to Shardwatch for all switches of an application, and the report of what was made of the answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from shardwatch_client import state, timetable
from shardwatch_client.http import Answer, Conversation, conversation
from shardwatch_client.known import Known
from shardwatch_client.memory import Memory
from shardwatch_client.options import Options
from shardwatch_client.state import State

VERSION = "python/0.1.0"
LONGEST_ERROR = 200


def run(options: Options, memory: Memory, known: Known, now: float) -> Known:
    """Ask, keep what may be kept, and tell what was applied."""
    query = urlencode({"keys": ",".join(options.caches), "instance": options.instance})
    with conversation(options) as talk:
        trouble = talk.connect()
        answer = Answer(0, trouble=trouble) if trouble else talk.get(f"/api/v1/switches?{query}", known.etag)
        address = talk.local_address()
        record = understand(options, answer, known, now)
        changed = record.failures == 0 and (not record.etag or record.etag != known.etag)
        record = memory.save(record, changed=changed)
        if record.failures == 0:
            _report(talk, options, record, record.error or known.error, address, now)
    return record


def understand(options: Options, answer: Answer, known: Known, now: float) -> Known:
    confirmed_at = now - answer.seconds("x-shardwatch-stale")
    if answer.status == 304 and known.etag:
        return _confirm(known, confirmed_at, now)
    content = answer.json() if answer.status == 200 else None
    rows = content.get("switches") if isinstance(content, dict) else None
    if isinstance(rows, list):
        read = (state.read(row, confirmed_at) for row in rows)
        said = {one.key: one for one in read if one is not None}
        return accept(options, said, answer.headers.get("etag", ""), known, now)
    due = timetable.after_failure(known.failures, now, answer.seconds("retry-after"))
    return known.failed(_reason(answer), now, due)


def _confirm(known: Known, confirmed_at: float, now: float) -> Known:
    states = {key: replace(one, confirmed_at=confirmed_at) for key, one in known.states.items()}
    return Known(states, known.etag, now, timetable.after_answer(states.values(), now))


def accept(options: Options, said: dict[str, State], etag: str, known: Known, now: float) -> Known:
    """Take each switch whose revision may replace the known one; what is missing or refused stays as it was."""
    states, errors = dict(known.states), []
    for key in options.caches:
        one = said.get(key)
        if one is None:
            errors.append(f"{key} is not in the answer")
        elif one.replaces(known.states.get(key)):
            states[key] = one
        else:
            errors.append(f"{key}: revision {one.revision} of epoch {one.epoch} does not replace what is known")
    due = timetable.after_answer(states.values(), now)
    return Known(states, "" if errors else etag, now, due, 0, "; ".join(errors)[:LONGEST_ERROR])


def _reason(answer: Answer) -> str:
    if answer.status == 0:
        return f"no answer: {answer.trouble}"
    return "the answer is not what Shardwatch says" if answer.status == 200 else f"answered {answer.status}"


def _report(talk: Conversation, options: Options, record: Known, error: str, found: str, now: float) -> None:
    # Loopback is the same address on every host, so it would tell nothing.
    address = options.address or ("" if found.startswith("127.") or found == "::1" else found)
    common: dict[str, Any] = {"instance": options.instance, "address": address, "error": error, "version": VERSION}
    if options.workers is not None:
        common["workers"] = options.workers
    talk.post("/api/v1/switches/reports", report_rows(list(options.caches), record, common, now))


def report_rows(keys: Sequence[str], record: Known, common: dict[str, Any], now: float) -> list[dict[str, Any]]:
    rows = []
    for key in keys:
        one = record.states.get(key)
        rows.append(
            {
                "key": key,
                **common,
                "revision": one.revision if one else 0,
                "epoch": one.epoch if one else 0,
                "age_seconds": round(max(0.0, now - one.confirmed_at), 1) if one else None,
            }
        )
    return rows
