"""Answers of the read path, made once from a snapshot and sent many times."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from switches.snapshot import KnownSwitch, Snapshot

JSON_HEADERS = [("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff")]
# Whoever shares an answer must share the key that it was given for.
VARY = ("Vary", "X-API-Key, Authorization")
Headers = list[tuple[str, str]]


class Answer:
    """A body with its ETag. `is_used` is set by whoever sends it, and taken back by the board."""

    __slots__ = ("body", "etag", "headers", "is_used", "key_id", "not_modified", "switch_ids")

    def __init__(self, document: Any, cache_control: str, switch_ids: Iterable[int], key_id: int) -> None:
        content = orjson.dumps(document)
        # There is no time in a body, so that its hash changes with what it says alone.
        self.etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
        self.not_modified: Headers = [("ETag", self.etag), ("Cache-Control", cache_control), VARY]
        self.headers: Headers = [*JSON_HEADERS, ("Content-Length", str(len(content))), *self.not_modified]
        self.body = [content]
        self.switch_ids, self.key_id = tuple(switch_ids), key_id
        self.is_used = False

    def is_known_to(self, given: str) -> bool:
        """Return whether an If-None-Match names it: quoted or not, weak or strong, in a list or as *."""
        if given == self.etag:
            return True
        tags = (part.strip().removeprefix("W/").strip('"') for part in given.split(","))
        return any(tag in {"*", self.etag.strip('"')} for tag in tags)


def one(switch: KnownSwitch, can_use: bool, snapshot: Snapshot, key_id: int) -> Answer:
    return Answer(document_of(switch, can_use, snapshot), max_age([switch]), [switch.id], key_id)


def several(rows: Sequence[tuple[KnownSwitch, bool]], missing: list[str], snapshot: Snapshot, key_id: int) -> Answer:
    """Answer switches, each with the decision for the reader, and the keys that there are none for."""
    documents = [document_of(switch, can_use, snapshot) for switch, can_use in rows]
    document = {"switches": documents, "epoch": snapshot.epoch, "missing": missing}
    found = [switch for switch, _ in rows]
    return Answer(document, max_age(found), [switch.id for switch in found], key_id)


def document_of(switch: KnownSwitch, can_use: bool, snapshot: Snapshot) -> Mapping[str, Any]:
    return {
        "key": switch.key,
        "can_use": can_use,
        "percent": switch.percent,
        "revision": switch.revision,
        "epoch": snapshot.epoch,
        "endpoint": switch.endpoint,
        "ttl_seconds": switch.ttl_seconds,
    }


def max_age(switches: Iterable[KnownSwitch]) -> str:
    """Return how long an answer may be kept: as long as the shortest-lived switch in it."""
    return f"private, max-age={min((switch.ttl_seconds for switch in switches), default=5)}"
