"""OFREP 0.3: switches as flags of OpenFeature, for any of its SDKs.

Every success carries a value, a variant and one of the reasons of the specification: clients that miss one of them
fall back to the default in their code, which is to ignore the switch. So is every 4xx: input is read leniently.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from switches.answers import Answer
from switches.snapshot import KnownSwitch, Snapshot
from switches.switch import ALL

VARIANTS = {True: "on", False: "off"}
# Polling clients keep nothing by themselves: they ask with the ETag.
NO_CACHE = "private, no-cache"
KEY_SHOWN = 100


class OfrepError(ValueError):
    """A request that cannot be evaluated: an error code of the specification, and a sentence."""

    def __init__(self, code: str, details: str) -> None:
        super().__init__(details)
        self.code = code

    def document(self, key: str | None = None) -> dict[str, str]:
        shown = {} if key is None else {"key": key[:KEY_SHOWN]}
        return {**shown, "errorCode": self.code, "errorDetails": str(self)}


def targeting_key(body: bytes) -> str:
    """Return the targeting key in a body; "" where there is none. Raise OfrepError where nothing can be read."""
    if not body.strip():
        return ""
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise OfrepError("PARSE_ERROR", f"The body is not valid JSON: {error}.") from error
    context = given.get("context") if isinstance(given, dict) else given
    if context is None:
        return ""
    if not isinstance(context, dict):
        raise OfrepError("INVALID_CONTEXT", "The context must be an object.")
    name = context.get("targetingKey")
    # Numbers are ids too; what else comes names nobody.
    return str(name) if isinstance(name, str | int) and not isinstance(name, bool) else ""


def one(switch: KnownSwitch, value: bool, snapshot: Snapshot, key_id: int) -> Answer:
    return Answer(evaluation(switch, value, snapshot), NO_CACHE, [switch.id], key_id)


def several(rows: Sequence[tuple[KnownSwitch, bool]], snapshot: Snapshot, key_id: int) -> Answer:
    flags = [evaluation(switch, value, snapshot) for switch, value in rows]
    document = {"flags": flags, "metadata": {"epoch": snapshot.epoch}}
    return Answer(document, NO_CACHE, [switch.id for switch, _ in rows], key_id)


def value_of(switch: KnownSwitch, name: str) -> bool:
    """Decide for a targeting key. In a canary who gives none is not let in: nobody could tell them apart."""
    if not switch.is_canary:
        return switch.percent == ALL
    if name in switch.instances:
        return switch.instances[name]
    return bool(name) and switch.allows_bucket(name)


def evaluation(switch: KnownSwitch, value: bool, snapshot: Snapshot) -> dict[str, Any]:
    return {
        "key": switch.key,
        "value": value,
        "variant": VARIANTS[value],
        "reason": "SPLIT" if switch.is_canary else "STATIC",
        "metadata": metadata(switch, snapshot),
    }


def metadata(switch: KnownSwitch, snapshot: Snapshot) -> Mapping[str, Any]:
    """Return flat facts: the specification allows texts, numbers and booleans."""
    endpoint = {f"endpoint_{name}": value for name, value in (switch.endpoint or {}).items()}
    return {
        "percent": switch.percent,
        "revision": switch.revision,
        "epoch": snapshot.epoch,
        "ttl_seconds": switch.ttl_seconds,
        **endpoint,
    }
