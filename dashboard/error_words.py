"""What error replies mean, by their first word, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Meaning(NamedTuple):
    """What an error says, what to do, and whether it is part of normal work as long as it is rare."""

    sentence: StrOrPromise
    action: StrOrPromise
    is_usual: bool = False


PLAIN = Meaning(
    _("A plain error: an unknown command, wrong arguments, or a value that does not fit."),
    _("Look at the commands with failed or rejected calls above, and at the application's log."),
)
OWN = Meaning(
    _("A word that the server itself does not use: a script or a module answered it."),
    _("Look for it in the scripts of the application."),
)
MEANINGS: dict[str, Meaning] = {
    "ERR": PLAIN,
    "OOM": Meaning(
        _("Memory is full and nothing may be evicted: writes are refused."),
        _("Give it more memory, set times to live, or choose an eviction policy."),
    ),
    "MOVED": Meaning(
        _("A client asked the wrong shard and was sent to the right one."),
        _("Usual after slots moved. When it stays, clients do not keep the layout: turn on their slot cache."),
        is_usual=True,
    ),
    "ASK": Meaning(
        _("A slot is being moved, and the key is at its new place."), _("Ends with the move."), is_usual=True
    ),
    "TRYAGAIN": Meaning(
        _("A command with several keys met a slot that is being moved."),
        _("Ends with the move; let clients try again."),
        True,
    ),
    "CROSSSLOT": Meaning(
        _("A command named keys of several slots."), _("Put what belongs together into one slot: {tag} in the keys.")
    ),
    "CLUSTERDOWN": Meaning(
        _("The cluster serves nothing, as some slots have no primary."),
        _("Look for unreachable nodes and uncovered slots."),
    ),
    "READONLY": Meaning(
        _("Writes were sent to a replica."),
        _("Clients still use the old primary after a failover: let them connect anew, or ask for the layout."),
    ),
    "MASTERDOWN": Meaning(
        _("A replica lost its primary and is set to answer nothing."), _("Look at the replication of this shard.")
    ),
    "NOREPLICAS": Meaning(
        _("Too few replicas are in sync, so that writes are refused (min-replicas-to-write)."),
        _("Look at the replicas and at their lag."),
    ),
    "LOADING": Meaning(
        _("The server is reading its data set into memory."), _("Wait; after a restart this is usual."), is_usual=True
    ),
    "BUSY": Meaning(
        _("A script has run for too long and nothing else is served."),
        _("End it by SCRIPT KILL or FUNCTION KILL, and make it shorter."),
    ),
    "UNKILLABLE": Meaning(
        _("A script that has written already cannot be ended."), _("Wait, or SHUTDOWN NOSAVE and lose what it wrote.")
    ),
    "NOTBUSY": Meaning(_("No script was running that could be ended."), _("Nothing to do."), is_usual=True),
    "NOSCRIPT": Meaning(
        _("EVALSHA named a script that the server does not have."),
        _("Usual after a restart or failover: clients send it again by EVAL."),
        is_usual=True,
    ),
    "NOAUTH": Meaning(
        _("A client gave no password."), _("Find it by its address in the list of clients, and give it the password.")
    ),
    "WRONGPASS": Meaning(
        _("A client gave a wrong user or password."),
        _("Look for a service with an old password; or somebody is guessing."),
    ),
    "NOPERM": Meaning(
        _("The user may not run this command or touch this key."),
        _("ACL LOG names user and command. Our own attempts count too: see the refused commands of this cache."),
    ),
    "WRONGTYPE": Meaning(
        _("A command met a key of another type."), _("Two parts of the application use one name for different things.")
    ),
    "MISCONF": Meaning(
        _("The last save failed, so that writes are refused (stop-writes-on-bgsave-error)."),
        _("Look at the disk and at the server's log."),
    ),
    "EXECABORT": Meaning(
        _("A transaction was dropped, as one of its commands was wrong."),
        _("Look at the commands with rejected calls."),
    ),
    "BUSYGROUP": Meaning(
        _("A consumer group exists already."), _("Usual when workers start: each tries to create it."), is_usual=True
    ),
    "NOGROUP": Meaning(_("A stream or its consumer group does not exist."), _("Create the group before reading.")),
    "BUSYKEY": Meaning(_("RESTORE met a key that exists."), _("Add REPLACE where that is meant.")),
    "NOPROTO": Meaning(_("A client asked for a protocol that the server does not speak."), _("Set it to RESP2.")),
    "DENIED": Meaning(
        _("Protected mode refused a connection from another machine."), _("Give the server a password, or bind it.")
    ),
    "UNBLOCKED": Meaning(_("A waiting client was woken by force."), _("Usual at a failover."), is_usual=True),
    "NOGOODSLAVE": Meaning(_("No replica was fit to take over."), _("Look at the replicas.")),
    "INPROG": Meaning(_("A failover is under way already."), _("Wait until it ends."), is_usual=True),
    "IOERR": Meaning(_("MIGRATE could not reach the other server."), _("Look at the network between the nodes.")),
    "ERRORSTATS_OVERFLOW": Meaning(
        _("More kinds of errors than the server counts: the others are counted here."),
        _("Scripts make up error words with changing parts; give them fixed ones."),
    ),
    "ERRORSTATS_DISABLED": Meaning(
        _("Too many kinds of errors: the server stopped counting them."),
        _("Give errors of scripts fixed words, then CONFIG RESETSTAT."),
    ),
    "other": Meaning(_("Kinds of errors that are too rare to be kept apart."), ""),
}


def meaning_of(name: str) -> Meaning:
    return MEANINGS.get(name, OWN)
