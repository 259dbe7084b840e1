"""What events say in words, and how charts mark them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.event import Event, Kind
from dashboard import service_event_words
from dashboard.templatetags.units import bytes_size, duration, grouped

# Nodes that a sentence names before it only counts them.
NAMED = 2
BYTES = {"maxmemory"}


@dataclass(frozen=True, slots=True)
class Mark:
    """How a kind is marked: a letter and a tone, so that colour is never needed to tell them apart."""

    letter: str
    tone: str


MARKS: dict[str, Mark] = {
    Kind.FAILOVER: Mark("F", "trouble"),
    Kind.ROLE: Mark("R", "change"),
    Kind.RESTART: Mark("↻", "trouble"),
    Kind.UNREACHABLE: Mark("✕", "trouble"),
    Kind.SCALING: Mark("S", "change"),
    Kind.JOINED: Mark("+", "change"),
    Kind.LEFT: Mark("−", "change"),
    Kind.SLOTS: Mark("⇄", "change"),
    Kind.MOVED: Mark("→", "change"),
    Kind.VERSION: Mark("V", "change"),
    Kind.CONFIG: Mark("C", "change"),
    Kind.EVICTION: Mark("E", "trouble"),
    Kind.KEY_SCAN: Mark("K", "change"),
    Kind.SWITCH: Mark("U", "change"),
    Kind.MAINTENANCE: Mark("M", "change"),
    Kind.SERVICE: Mark("G", "change"),
    Kind.CLOUD: Mark("P", "change"),
    Kind.DEPLOY: Mark("D", "note"),
    Kind.SCALE_OUT: Mark("O", "note"),
    Kind.LOAD_TEST: Mark("L", "note"),
    Kind.OTHER: Mark("N", "note"),
}


def mark_of(event: Event) -> Mark:
    return MARKS.get(event.kind, Mark("N", "note"))


def sentence(event: Event) -> str:
    """Return what happened, in one sentence without a full stop."""
    if event.is_note:
        return event.title
    return SENTENCES[event.kind](event)


def names(nodes: Sequence[dict[str, Any]]) -> str:
    """Return the addresses of a few nodes, else how many there are."""
    if len(nodes) <= NAMED:
        return ", ".join(str(node["address"]) for node in nodes)
    return _("%(count)s nodes") % {"count": grouped(len(nodes))}


def times(event: Event, text: str) -> str:
    """Return the text with how often it happened, where that was more than once for each node."""
    most = max((node.get("times", 1) for node in event.nodes), default=event.count)
    return _("%(text)s, %(count)s times") % {"text": text, "count": grouped(most)} if most > 1 else text


def failover(event: Event) -> str:
    data = event.data
    parts = {"shard": data["shard"], "to": data["to"]["address"], "from": data["from"]["address"]}
    if event.count > 1:
        parts["count"] = grouped(event.count)
        return _("Shard %(shard)s changed its primary %(count)s times, last to %(to)s") % parts
    if data["is_forced"]:
        return _("Shard %(shard)s: %(to)s took over from %(from)s, which had stopped answering") % parts
    return _("Shard %(shard)s: %(to)s took over from %(from)s as asked") % parts


def role(event: Event) -> str:
    words = {"primary": _("primary"), "replica": _("replica")}
    parts = {"node": names(event.nodes), "from": words[event.data["from"]], "to": words[event.data["to"]]}
    return _("%(node)s changed from %(from)s to %(to)s") % parts


def restart(event: Event) -> str:
    return times(event, _("%(node)s restarted") % {"node": names(event.nodes)})


def unreachable(event: Event) -> str:
    parts = {"node": names(event.nodes), "time": duration(length(event))}
    if event.goes_on:
        words = ngettext("%(node)s does not answer", "%(node)s do not answer", len(event.nodes))
        return times(event, words % parts)
    text = times(event, _("%(node)s did not answer for %(time)s") % parts)
    if event.data.get("stale_possible"):
        return _("%(text)s, was only cut off and may have served stale data") % {"text": text}
    return text


def length(event: Event) -> float:
    return max(0.0, (event.last_at - event.at).total_seconds())


def scaling(event: Event) -> str:
    data = event.data
    steps = [
        change(count_of_shards, data.get("shards_before"), data.get("shards_after")),
        change(count_of_nodes, data.get("nodes_before"), data.get("nodes_after")),
    ]
    if data.get("slots"):
        steps.append(
            ngettext("%(count)s slot moved", "%(count)s slots moved", data["slots"]) % {"count": grouped(data["slots"])}
        )
    told = ", ".join(filter(None, steps)) or _("nodes replaced")
    return _("Scaling: %(steps)s") % {"steps": told}


def change(words: Callable[[int], str], before: int | None, after: int | None) -> str:
    return "" if before is None or after in {None, before} else words(after or 0) % {"before": before, "after": after}


def count_of_shards(count: int) -> str:
    return ngettext("%(before)s to %(after)s shard", "%(before)s to %(after)s shards", count)


def count_of_nodes(count: int) -> str:
    return ngettext("%(before)s to %(after)s node", "%(before)s to %(after)s nodes", count)


def joined(event: Event) -> str:
    return _("%(node)s joined") % {"node": names(event.nodes)}


def left(event: Event) -> str:
    return _("%(node)s left") % {"node": names(event.nodes)}


def slots(event: Event) -> str:
    ways = [_("%(count)s from shard %(from)s to %(to)s") % way_of(*pair) for pair in event.data["ways"].items()]
    if len(ways) > NAMED:
        count = event.data["slots"]
        moved = ngettext("%(count)s slot moved between shards", "%(count)s slots moved between shards", count)
        return moved % {"count": grouped(count)}
    return _("Slots moved: %(ways)s") % {"ways": ", ".join(ways)}


def way_of(way: str, count: int) -> dict[str, str]:
    source, _space, target = way.partition(" ")
    return {"count": grouped(count), "from": source, "to": target}


def moved(event: Event) -> str:
    if len(event.nodes) > 1:
        return _("%(node)s moved to another address") % {"node": names(event.nodes)}
    node = event.nodes[0]
    return _("%(before)s moved to %(after)s") % {"before": node["before"], "after": node["address"]}


def version(event: Event) -> str:
    before, after = event.data["changes"]["version"]
    return _("%(node)s: from %(before)s to %(after)s") % {
        "node": names(event.nodes),
        "before": before,
        "after": after,
    }


def config(event: Event) -> str:
    changes = [
        _("%(name)s from %(before)s to %(after)s")
        % {"name": name, "before": setting(name, before), "after": setting(name, after)}
        for name, (before, after) in event.data["changes"].items()
    ]
    return _("%(node)s: %(changes)s") % {"node": names(event.nodes), "changes": ", ".join(changes)}


def setting(name: str, value: Any) -> str:
    if name in BYTES:
        return bytes_size(value) if value else _("no limit")
    return str(value)


def eviction(event: Event) -> str:
    parts = {"node": names(event.nodes), "time": duration(length(event))}
    if event.goes_on:
        words = ngettext("%(node)s evicts keys to make room", "%(node)s evict keys to make room", len(event.nodes))
        return words % parts
    if not length(event):
        return _("%(node)s evicted keys to make room") % parts
    return _("%(node)s evicted keys for %(time)s to make room") % parts


def key_scan(event: Event) -> str:
    data = event.data
    parts = {"number": data["scan"], "keys": grouped(data.get("keys")), "size": bytes_size(data.get("bytes"))}
    if event.goes_on:
        return _("Scan %(number)s of the keys is under way") % parts
    return _("Scan %(number)s of the keys: %(keys)s in all, %(size)s") % parts


def switch(event: Event) -> str:
    data = event.data
    words = {
        "off": _("Switch %(switch)s turned off: %(reason)s"),
        "on": _("Switch %(switch)s turned on: %(reason)s"),
        "step": _("Switch %(switch)s at %(percent)s %%: %(reason)s"),
        "repointed": _("Switch %(switch)s pointed elsewhere: %(reason)s"),
    }
    return str(words[data["change"]] % data)


SENTENCES: dict[str, Callable[[Event], str]] = {
    Kind.FAILOVER: failover,
    Kind.ROLE: role,
    Kind.RESTART: restart,
    Kind.UNREACHABLE: unreachable,
    Kind.SCALING: scaling,
    Kind.JOINED: joined,
    Kind.LEFT: left,
    Kind.SLOTS: slots,
    Kind.MOVED: moved,
    Kind.VERSION: version,
    Kind.CONFIG: config,
    Kind.EVICTION: eviction,
    Kind.KEY_SCAN: key_scan,
    Kind.SWITCH: switch,
    Kind.MAINTENANCE: service_event_words.maintenance,
    Kind.SERVICE: service_event_words.state,
    Kind.CLOUD: service_event_words.found_or_gone,
}


def moment(seconds: float | None) -> datetime | None:
    """Return a time that an event keeps in its data."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
