"""Whether a cache can be scaled: room for a replica, no giant key, a quiet time, room on fewer shards."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.readiness.inputs import CLUSTERS, Inputs
from dashboard.readiness.verdict import CLOSE, Mark, Room, Verdict, at_most, none, unknown
from dashboard.templatetags.units import bytes_size, duration, grouped, percent, rate

REPLICA_MEMORY = 0.8
# Google writes 128 MB: the smaller reading lets no key pass that the larger would stop.
BIGGEST_KEY = 128 * 10**6
OLD_SCAN = timedelta(days=7)
# Connections and commands per second of two scalings in production: the first was over in under five minutes, the
# second failed after two hours.
WENT_WELL, FAILED = (10_000, 15_000), (32_000, 50_000)
SCALE_IN_FACTOR = 1.5
NANO, NANO_MEMORY = "SHARED_CORE_NANO", 0.98


def not_a_cluster() -> Verdict:
    return none(_("The rule is about clusters, whose slots move when they scale."))


def replica_memory(inputs: Inputs) -> Verdict:
    if not inputs.has_rules_of_clusters:
        return none(_("The rule is about Redis Cluster and Valkey."))
    return at_most(
        inputs.memory,
        REPLICA_MEMORY,
        _("A replica can be added and snapshots can be taken."),
        _("Adding a replica fails above it: delete keys, or add shards first."),
        _("Neither Cloud Monitoring nor INFO told the memory against its limit lately."),
    )


def biggest_key(inputs: Inputs) -> Verdict:
    if not inputs.is_clustered:
        return not_a_cluster()
    limit = _("under 128 MB (%(bytes)s)") % {"bytes": bytes_size(BIGGEST_KEY)}
    found = inputs.biggest_key
    if found is None:
        return unknown(why_no_scan(inputs), limit)
    age = inputs.now - found.at if found.at else timedelta()
    told = {"age": duration(max(1, round(age.total_seconds())))}
    if found.value >= BIGGEST_KEY:
        mark, sentence = Mark.NOT_READY, _("Split or delete it: its slot cannot move. Scanned %(age)s ago.") % told
    elif age > OLD_SCAN:
        mark, sentence = Mark.CARE, _("Scanned %(age)s ago: keys may have grown since. Scan again.") % told
    elif found.value > CLOSE * BIGGEST_KEY:
        mark, sentence = Mark.CARE, _("Within the limit, but by less than a tenth of it. Scanned %(age)s ago.") % told
    else:
        mark, sentence = Mark.READY, _("Every slot can move. Scanned %(age)s ago.") % told
    return Verdict(mark, bytes_size(found.value), limit, sentence, (found,))


def why_no_scan(inputs: Inputs) -> str:
    if inputs.is_reached:
        return _("No complete scan of the keys yet: run one to know.")
    return _(
        "It cannot be known from here: keys are scanned on the nodes, which are not reached. Run memkeys on a machine"
        " that reaches them, or let Shardwatch reach them."
    )


def load(inputs: Inputs) -> Verdict:
    if not inputs.is_clustered:
        return not_a_cluster()
    limit = _("connections at most %(connections)s, commands at most %(rate)s") % amount_of_load(*WENT_WELL)
    connections, commands = inputs.connections, inputs.commands
    if connections is None or commands is None:
        return unknown(_("Connections or commands of the whole cache are not known now."), limit)
    mark = mark_of_load(connections.value, commands.value)
    figure = _("connections %(connections)s, commands %(rate)s") % amount_of_load(connections.value, commands.value)
    return Verdict(mark, figure, limit, load_sentence(mark), (connections, commands))


def amount_of_load(connections: float, commands: float) -> dict[str, str]:
    return {"connections": grouped(connections), "rate": rate(commands)}


def mark_of_load(connections: float, commands: float) -> Mark:
    if connections <= WENT_WELL[0] and commands <= WENT_WELL[1]:
        return Mark.READY
    return Mark.NOT_READY if connections >= FAILED[0] and commands >= FAILED[1] else Mark.CARE


def load_sentence(mark: Mark) -> str:
    if mark == Mark.READY:
        return _(
            "With as much a scaling took under 5 minutes and 0 to a few commands failed; connections were even again"
            " after about 15 minutes."
        )
    if mark == Mark.NOT_READY:
        sentence = _(
            "With as much (connections %(connections)s, commands %(rate)s) a scaling failed after 2 hours: choose a"
            " quieter time."
        )
        return sentence % amount_of_load(*FAILED)
    sentence = _(
        "More than what was seen to go well (connections %(connections)s, commands %(rate)s): choose a quieter time."
    )
    return sentence % amount_of_load(*WENT_WELL)


def scale_in(inputs: Inputs) -> Verdict:
    if not inputs.is_clustered:
        return not_a_cluster()
    if inputs.shards == 1:
        return none(_("There is one shard only."))
    limit = _("room for 1.5 × used memory")
    used, node = inputs.used_bytes, inputs.node_bytes
    if inputs.shards is None or used is None or node is None:
        return unknown(_("Shards, used memory or the size of a node are not known now."), limit)
    rooms = tuple(rooms_below(inputs.shards, used.value, node.value))
    fitting = [room.shards for room in rooms if room.fits]
    if not fitting:
        sentence = _("One shard less would hold %(room)s; %(needed)s are wanted.") % amounts(rooms[0])
        return Verdict(Mark.NOT_READY, _("no room"), limit, sentence, (used, node), rooms)
    words = ngettext("down to %(count)s shard", "down to %(count)s shards", fitting[-1])
    sentence = _("Scale in at a quiet time; there is room for %(room)s, and %(needed)s are wanted.")
    figure = words % {"count": grouped(fitting[-1])}
    return Verdict(Mark.READY, figure, limit, sentence % amounts(rooms[len(fitting) - 1]), (used, node), rooms)


def rooms_below(shards: int, used: float, node: float) -> Iterator[Room]:
    """Return each smaller number of shards down to the first that is too small: all below it are, too."""
    for smaller in range(shards - 1, 0, -1):
        room = Room(smaller, smaller * node, SCALE_IN_FACTOR * used)
        yield room
        if not room.fits:
            return


def amounts(room: Room) -> dict[str, str]:
    return {"room": bytes_size(room.room), "needed": bytes_size(room.needed)}


def node_type(inputs: Inputs) -> Verdict:
    if inputs.product not in CLUSTERS:
        return none(_("The rule is about nodes of Redis Cluster and Valkey in Google Cloud."))
    limit = _("not a nano node")
    if not inputs.node_type:
        return unknown(_("Google's API did not tell the type of its nodes."), limit)
    if not inputs.node_type.endswith(NANO):
        return Verdict(Mark.READY, inputs.node_type, limit, _("Nodes of this type have CPUs of their own."))
    memory = (inputs.memory,) if inputs.memory else ()
    if inputs.memory and inputs.memory.value > NANO_MEMORY:
        told = {"level": percent(inputs.memory.value), "limit": percent(NANO_MEMORY)}
        sentence = _("Scaling fails: %(level)s of the memory is used, and nano nodes allow %(limit)s.") % told
        return Verdict(Mark.NOT_READY, inputs.node_type, limit, sentence, memory)
    sentence = _("Nano nodes share their CPU and are outside Google's SLA: change the type before you depend on it.")
    return Verdict(Mark.CARE, inputs.node_type, limit, sentence, memory)
