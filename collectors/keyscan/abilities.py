"""What a node lets a scan do: each command is tried once, on a key that is not there."""

from dataclasses import dataclass, field

import hiredis

from collectors.connections import Link, ask
from collectors.failures import from_error_reply
from collectors.keyscan.guards import number, read_info
from collectors.keyscan.identity import UNKNOWN, Identity, identity_of
from collectors.protocol import INFO, Command, Reply, is_refusal
from collectors.steps import Step

ABSENT = "shardwatch:no-such-key"
MEMORY: Command = ("MEMORY", "USAGE", ABSENT, "SAMPLES", "5")
READONLY: Command = ("READONLY",)
# Reading lengths counts as a use of a key, and makes it look fresh, unless the server is told otherwise.
NO_TOUCH: Command = ("CLIENT", "NO-TOUCH", "ON")
# What is read of single keys, by the field that it fills.
FIELDS: dict[str, tuple[Command, ...]] = {
    "type": (("TYPE", ABSENT),),
    "ttl": (("PTTL", ABSENT),),
    "encoding": (("OBJECT", "ENCODING", ABSENT),),
    "idle": (("OBJECT", "IDLETIME", ABSENT),),
    "len": tuple((name, ABSENT) for name in ("STRLEN", "HLEN", "LLEN", "SCARD", "ZCARD", "XLEN")),
}
FREQUENCY: Command = ("OBJECT", "FREQ", ABSENT)


@dataclass(slots=True)
class Abilities:
    """Who answers, and what may be asked. `missing` names the commands that are refused."""

    identity: Identity = UNKNOWN
    in_cluster: bool = False
    counts_uses: bool = False
    has_memory: bool = True
    # Keys of each database that holds any.
    databases: dict[int, int] = field(default_factory=lambda: {0: 0})
    fields: set[str] = field(default_factory=lambda: set(FIELDS))
    missing: list[str] = field(default_factory=list)


async def probe(link: Link, is_replica: bool) -> Abilities:
    """Return what a logged-in connection may do, and make it ready for reading. Raise ReadError."""
    (reply,) = await ask(link, [INFO])
    found = _identity(reply)
    asked = {**FIELDS, "idle": (FREQUENCY,)} if found.counts_uses else FIELDS
    await _prepare(link, found, is_replica)
    commands = [MEMORY, *(command for group in asked.values() for command in group)]
    replies = await ask(link, commands)
    refused = [command for command, answer in zip(commands, replies, strict=True) if is_refused(answer)]
    found.missing += [_name(command) for command in refused]
    found.has_memory = MEMORY not in refused
    found.fields = {name for name, group in asked.items() if not any(command in refused for command in group)}
    return found


def _identity(reply: Reply) -> Abilities:
    if isinstance(reply, hiredis.ReplyError):
        failure = from_error_reply(str(reply), Step.INFO)
        if not is_refusal(reply):
            raise failure
        return Abilities(missing=["INFO"])
    info = read_info(reply if isinstance(reply, bytes) else b"")
    databases = {int(name[2:]): _keys(value) for name, value in info.items() if name[:2] == "db" and name[2:].isdigit()}
    return Abilities(
        identity=identity_of(info),
        in_cluster=number(info, "cluster_enabled") == 1,
        counts_uses=info.get("maxmemory_policy", "").endswith("lfu"),
        databases=databases or {0: 0},
    )


def _keys(value: str) -> int:
    """Return the keys in "keys=5,expires=0,avg_ttl=0"."""
    words = dict(part.partition("=")[::2] for part in value.split(","))
    return int(number(words, "keys") or 0)


async def _prepare(link: Link, found: Abilities, is_replica: bool) -> None:
    wanted = [NO_TOUCH, *([READONLY] if is_replica and found.in_cluster else [])]
    replies = await ask(link, wanted)
    # Without NO-TOUCH (before Redis 7.2) only what lengths are read of looks fresher than it is.
    for reply in replies[1:]:
        if is_refused(reply):
            # A replica would send every question on to its primary: there is nothing to be read here.
            raise from_error_reply(str(reply), Step.INFO)


def is_refused(reply: Reply) -> bool:
    """Return whether a reply means that the command may not be run at all; a key may be forbidden by itself."""
    words = str(reply).lower() if isinstance(reply, hiredis.ReplyError) else ""
    about_key = words.startswith("noperm") and "key" in words and "to run" not in words
    return not about_key and is_refusal(reply)


def _name(command: Command) -> str:
    return " ".join(word for word in command[:2] if word != ABSENT)
