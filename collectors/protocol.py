"""Commands and replies as they go over the wire, and what an error reply says about a command."""

from typing import Any, TypeAlias

import hiredis

Command: TypeAlias = tuple[str, ...]
Reply: TypeAlias = bytes | int | list[Any] | hiredis.ReplyError | None

INFO: Command = ("INFO",)
# INFO is about 7 kB. Beyond this a hostile text is not read: each of its lines would become an object.
TEXT_LIMIT_BYTES = 512 * 1024
# Commands whose second word says which one is meant.
CONTAINERS = {"ACL", "CLIENT", "CLUSTER", "COMMAND", "COMMANDLOG", "CONFIG", "HOTKEYS", "INFO", "LATENCY", "MEMORY"}
CONTAINERS |= {"OBJECT", "SLOWLOG", "stats"}
# How servers and services say that a command is not to be had; compared in small letters.
REFUSALS = (
    "noperm",
    "err unknown command",
    "err unknown subcommand",
    # Redis 3 and 4, of CLUSTER.
    "err wrong cluster subcommand",
    "err unsupported",
    "err syntax error, try",
    "err wrong number of arguments",
    "err command not allowed",
    "err this instance has cluster support disabled",
    "err command is not allowed",
    "err command is disabled",
    "err not supported",
    # Memcached's; SERVER_ERROR may pass.
    "error",
    "client_error",
)


def name_of(command: Command) -> str:
    """Return the command as people name it, without its arguments: CONFIG GET, INFO."""
    return " ".join(command[: 2 if command[0] in CONTAINERS else 1])


def is_refusal(reply: Reply) -> bool:
    """Return whether a reply means that the command may not be run; an error that may pass means nothing."""
    return isinstance(reply, hiredis.ReplyError) and str(reply).lower().startswith(REFUSALS)


def lines_of(text: Reply) -> list[bytes]:
    """Return the lines of a text, of a very long one the first that fit; none of any other reply."""
    if not isinstance(text, bytes):
        return []
    if len(text) > TEXT_LIMIT_BYTES:
        # The last line may be cut in the middle of a number.
        text = text[:TEXT_LIMIT_BYTES].rpartition(b"\n")[0]
    return text.splitlines()
