"""What metrics count, as nouns that agree with their number; collectors/metrics names them in the plural."""

from collections.abc import Callable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

Words = Callable[[int], str]

# Each takes the number that decides between singular and plural, and returns words with a place for the amount.
NOUNS: dict[str, Words] = {
    "batches": lambda n: ngettext("%(amount)s batch", "%(amount)s batches", n),
    "calls": lambda n: ngettext("%(amount)s call", "%(amount)s calls", n),
    "changes": lambda n: ngettext("%(amount)s change", "%(amount)s changes", n),
    "channels": lambda n: ngettext("%(amount)s channel", "%(amount)s channels", n),
    "checks": lambda n: ngettext("%(amount)s check", "%(amount)s checks", n),
    "classes": lambda n: ngettext("%(amount)s class", "%(amount)s classes", n),
    "commands": lambda n: ngettext("%(amount)s command", "%(amount)s commands", n),
    "connections": lambda n: ngettext("%(amount)s connection", "%(amount)s connections", n),
    "cycles": lambda n: ngettext("%(amount)s cycle", "%(amount)s cycles", n),
    "databases": lambda n: ngettext("%(amount)s database", "%(amount)s databases", n),
    "epochs": lambda n: ngettext("%(amount)s epoch", "%(amount)s epochs", n),
    "events": lambda n: ngettext("%(amount)s event", "%(amount)s events", n),
    "failures": lambda n: ngettext("%(amount)s failure", "%(amount)s failures", n),
    "fields": lambda n: ngettext("%(amount)s field", "%(amount)s fields", n),
    "forks": lambda n: ngettext("%(amount)s fork", "%(amount)s forks", n),
    "functions": lambda n: ngettext("%(amount)s function", "%(amount)s functions", n),
    "items": lambda n: ngettext("%(amount)s item", "%(amount)s items", n),
    "jobs": lambda n: ngettext("%(amount)s job", "%(amount)s jobs", n),
    "keys": lambda n: ngettext("%(amount)s key", "%(amount)s keys", n),
    "libraries": lambda n: ngettext("%(amount)s library", "%(amount)s libraries", n),
    "lookups": lambda n: ngettext("%(amount)s lookup", "%(amount)s lookups", n),
    "messages": lambda n: ngettext("%(amount)s message", "%(amount)s messages", n),
    "nodes": lambda n: ngettext("%(amount)s node", "%(amount)s nodes", n),
    "objects": lambda n: ngettext("%(amount)s object", "%(amount)s objects", n),
    "pages": lambda n: ngettext("%(amount)s page", "%(amount)s pages", n),
    "patterns": lambda n: ngettext("%(amount)s pattern", "%(amount)s patterns", n),
    "prefixes": lambda n: ngettext("%(amount)s prefix", "%(amount)s prefixes", n),
    "repairs": lambda n: ngettext("%(amount)s repair", "%(amount)s repairs", n),
    "replicas": lambda n: ngettext("%(amount)s replica", "%(amount)s replicas", n),
    "replies": lambda n: ngettext("%(amount)s reply", "%(amount)s replies", n),
    "requests": lambda n: ngettext("%(amount)s request", "%(amount)s requests", n),
    "rewrites": lambda n: ngettext("%(amount)s rewrite", "%(amount)s rewrites", n),
    "runs": lambda n: ngettext("%(amount)s run", "%(amount)s runs", n),
    "saves": lambda n: ngettext("%(amount)s save", "%(amount)s saves", n),
    "scripts": lambda n: ngettext("%(amount)s script", "%(amount)s scripts", n),
    "shards": lambda n: ngettext("%(amount)s shard", "%(amount)s shards", n),
    "slots": lambda n: ngettext("%(amount)s slot", "%(amount)s slots", n),
    "sockets": lambda n: ngettext("%(amount)s socket", "%(amount)s sockets", n),
    "syncs": lambda n: ngettext("%(amount)s sync", "%(amount)s syncs", n),
    "threads": lambda n: ngettext("%(amount)s thread", "%(amount)s threads", n),
    "ticks": lambda n: ngettext("%(amount)s tick", "%(amount)s ticks", n),
    "values": lambda n: ngettext("%(amount)s value", "%(amount)s values", n),
    "hertz": lambda n: _("%(amount)s Hz"),
    "kilobytes": lambda n: _("%(amount)s kB"),
    "microseconds": lambda n: _("%(amount)s µs"),
    "milliseconds": lambda n: _("%(amount)s ms"),
}


def counted(amount: str, value: float, unit: str) -> str:
    """Return an amount with the noun that is counted, or with the unit as it is where there is no noun for it."""
    noun = NOUNS.get(unit.removesuffix("/s"))
    if noun is None:
        return f"{amount} {unit}".strip()
    words = noun(1 if value == 1 else 2) % {"amount": amount}
    return _("%s/s") % words if unit.endswith("/s") else words
