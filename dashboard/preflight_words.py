"""What a look at a target found, in sentences made when they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.templatetags.units import bytes_size, duration, grouped, percent
from switches.preflight import FAILED, OK, UNKNOWN, WARNING, Check

Data = Mapping[str, Any]
ICONS = {
    OK: ("ok", "ok"),
    WARNING: ("warning", "warning"),
    FAILED: ("critical", "critical"),
    UNKNOWN: ("info", "waiting"),
}


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding as the page shows it."""

    label: str
    verdict: str
    sentence: str

    @property
    def icon(self) -> str:
        return ICONS[self.verdict][0]

    @property
    def tone(self) -> str:
        return ICONS[self.verdict][1]


def row(finding: Mapping[str, Any]) -> FindingRow:
    check, verdict = Check(finding["check"]), finding["verdict"]
    words = "" if verdict == UNKNOWN else SENTENCES[check](verdict, finding["data"])
    return FindingRow(str(check.label), verdict, words or _("This cannot be told: the server does not report it."))


def reach(verdict: str, data: Data) -> str:
    told = {"sentence": data["sentence"], "time": duration(data["seconds"])}
    return _("%(sentence)s It took %(time)s.") % told if verdict == OK else str(data["sentence"])


def polled(verdict: str, data: Data) -> str:
    if verdict == FAILED:
        return _("It has not been polled lately: a canary could not be watched.")
    words = ngettext(
        "%(answering)s of %(nodes)d node answers.", "%(answering)s of %(nodes)d nodes answer.", data["nodes"]
    )
    return words % data


def role(verdict: str, data: Data) -> str:
    if verdict == FAILED:
        return _("No primary is known: writes would be refused.")
    words = ngettext("%(primaries)d primary", "%(primaries)d primaries", data["primaries"])
    more = ngettext("%(replicas)d replica", "%(replicas)d replicas", data["replicas"])
    return _("It has %(primaries)s and %(replicas)s.") % {"primaries": words % data, "replicas": more % data}


def version(verdict: str, data: Data) -> str:
    if verdict == WARNING:
        return _("It runs %(version)s, older than the %(now)s of the cache of now.") % data
    return _("It runs %(version)s.") % data


def memory(verdict: str, data: Data) -> str:
    sizes = {"limit": bytes_size(data["limit"]), "needed": bytes_size(data["needed"])}
    if verdict == WARNING:
        return _("It takes %(limit)s, less than the %(needed)s that the cache of now holds.") % sizes
    return _("It takes %(limit)s.") % sizes


def policy(verdict: str, data: Data) -> str:
    if verdict == WARNING:
        return _("It follows %(policy)s, the cache of now %(now)s.") % data
    return _("It follows %(policy)s.") % data


def connections(verdict: str, data: Data) -> str:
    told = {name: grouped(data[name]) for name in ("limit", "used", "needed")}
    if verdict == WARNING:
        return _("%(used)s are open, and the applications hold %(needed)s: too many for its %(limit)s.") % told
    return _("%(used)s are open, and the applications hold %(needed)s: they fit into its %(limit)s.") % told


def latency(verdict: str, data: Data) -> str:
    told = {"time": duration(data["seconds"]), "now": duration(data["now"])}
    if verdict == WARNING:
        return _("Its slowest node answers in %(time)s, that of the cache of now in %(now)s.") % told
    return _("Its slowest node answers in %(time)s.") % told


def warmth(verdict: str, data: Data) -> str:
    if verdict == WARNING:
        return _("It is empty: what is looked up falls on the database until it is warm. Go in small steps.")
    holds = ngettext("It holds %(keys)s key.", "It holds %(keys)s keys.", data["keys"]) % {
        "keys": grouped(data["keys"])
    }
    if data["hit_ratio"] is None:
        return holds
    found = _("%(ratio)s of what is looked up is found.") % {"ratio": percent(data["hit_ratio"])}
    return f"{holds} {found}"


SENTENCES: dict[str, Callable[[str, Data], str]] = {
    Check.REACH: reach,
    Check.POLLED: polled,
    Check.ROLE: role,
    Check.VERSION: version,
    Check.MEMORY: memory,
    Check.POLICY: policy,
    Check.CONNECTIONS: connections,
    Check.LATENCY: latency,
    Check.WARMTH: warmth,
}
