"""What a scan says in sentences, each with a step to take; silent where nothing stands out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collectors.keyscan.details import SLOTS
from collectors.keyscan.models import Scan, ScanKey, ScanPrefix, ScanState
from collectors.keyscan.summary import skew
from dashboard.findings.finding import ORDER, State
from dashboard.scans.found import larger_than, memory_by_address
from dashboard.scans.naming import Naming
from dashboard.templatetags.units import bytes_size, exact_time, grouped, percent

HEAVY_PREFIX = 0.25
GIANT_BYTES, GIANT_SHARE = 10_000_000, 0.05
LASTING, MOSTLY = 0.5, 0.95
UNEVEN = 1.3
HOT_SLOT_SHARE, HOT_SLOT_SAMPLES = 0.05, 1_000
THIN_PAYLOAD, THIN_SAMPLES = 0.4, 100
MANY_ELEMENTS = 100_000
GROWN_SHARE, GROWN_BYTES = 0.1, 1_000_000
BIG_BITS, BIG_SHARE = 20, 0.001
REPEATS = 0.02


@dataclass(frozen=True, slots=True)
class ScanFinding:
    """A sentence about the keys, what to do next, and the figure that counts."""

    state: State
    sentence: str
    step: str
    figure: str

    @property
    def rank(self) -> int:
        return ORDER[self.state]


@dataclass(frozen=True, slots=True)
class Seen:
    """A scan with the one before it, as one reader sees it."""

    scan: Scan
    earlier: Scan | None
    naming: Naming

    def prefix(self, row: ScanPrefix) -> str:
        return self.naming.prefix(bytes(row.prefix), row.is_other)


def of(seen: Seen) -> list[ScanFinding]:
    found = [finding for check in FINDINGS for finding in check(seen)]
    return sorted(found, key=lambda finding: finding.rank)


def incomplete(seen: Seen) -> Iterator[ScanFinding]:
    if seen.scan.state == ScanState.DONE:
        return
    total = seen.scan.summary.get("total") or 0
    share = percent(min(seen.scan.keys / total, 1.0)) if total else "?"
    yield ScanFinding(
        State.WARNING,
        _("The scan saw only a part of the keys, about %(share)s: larger keys may be among the rest")
        % {"share": share},
        _("Start it again, in a quieter time or at another speed."),
        share,
    )


def no_memory_command(seen: Seen) -> Iterator[ScanFinding]:
    if seen.scan.summary.get("has_memory") is False:
        yield ScanFinding(
            State.WARNING,
            _("The servers refuse MEMORY USAGE: sizes are estimated from lengths"),
            _("Let the user run MEMORY USAGE to have exact sizes."),
            "",
        )


def heavy_prefix(seen: Seen) -> Iterator[ScanFinding]:
    """The deepest family that still holds much of the memory."""
    if not seen.scan.bytes:
        return
    heavy = seen.scan.prefixes.filter(depth__gt=0, is_other=False, size__gte=seen.scan.bytes * HEAVY_PREFIX)
    rows = list(heavy.filter(keys__gt=1).order_by("-size"))
    parents = {row.parent for row in rows}
    for row in [row for row in rows if row.digest not in parents][:3]:
        parts = {
            "prefix": seen.prefix(row),
            "share": percent(row.size / seen.scan.bytes),
            "keys": grouped(row.keys),
            "mean": bytes_size(row.mean),
            "ttl": ttl_words(row),
        }
        sentence = _("%(prefix)s holds %(share)s of the memory: %(keys)s keys of %(mean)s on average; %(ttl)s") % parts
        step = _("Give these keys a TTL, store less in each value, or compress the values.")
        if row.lasting_ratio == 0:
            step = _("Store less in each value, compress the values, or let them expire sooner.")
        yield ScanFinding(State.NOTICE, sentence, step, str(parts["share"]))


def ttl_words(row: ScanPrefix) -> str:
    lasting = row.lasting_ratio
    if lasting is None:
        return _("their TTL was not read")
    if lasting == 0:
        return _("all of them expire")
    return _("none expire") if lasting == 1 else _("%(share)s never expire") % {"share": percent(lasting)}


def giants(seen: Seen) -> Iterator[ScanFinding]:
    """The largest key, where it is large by itself or for its node."""
    key = seen.scan.top_keys.order_by("-size").first()
    if key is None:
        return
    used = memory_by_address(seen.scan).get(key.address)
    share = key.size / used if used else 0.0
    if key.size < GIANT_BYTES and not (share >= GIANT_SHARE and key.size > GIANT_BYTES / 10):
        return
    parts = {
        "key": seen.naming.key(bytes(key.name)),
        "size": bytes_size(key.size),
        "node": key.address,
        "share": percent(share),
    }
    sentence = _("The largest key, %(key)s, takes %(size)s") % parts
    if used:
        sentence = _("The largest key, %(key)s, takes %(size)s: %(share)s of the memory of %(node)s") % parts
    yield ScanFinding(State.WARNING, sentence, giant_step(key), str(parts["size"]))


def giant_step(key: ScanKey) -> str:
    if key.type in {"", "string"}:
        return _("Split the value, or store it elsewhere; delete it with UNLINK, not with DEL.")
    return _("Split it over several keys and read it in parts; delete it with UNLINK, not with DEL.")


def lasting(seen: Seen) -> Iterator[ScanFinding]:
    told = seen.scan.summary.get("without_ttl")
    if not told or told[0] < LASTING:
        return
    share, error = told
    parts = {"share": percent(share), "error": percent(error)}
    sentence = _("%(share)s of the keys never expire") % parts
    if error:
        sentence = _("About %(share)s of the keys never expire (give or take %(error)s)") % parts
    step = _("Where they are a cache, give them a TTL; else let maxmemory-policy keep them.")
    yield ScanFinding(State.NOTICE, sentence, step, str(parts["share"]))


def big_values(seen: Seen) -> Iterator[ScanFinding]:
    count = larger_than(seen.scan, BIG_BITS)
    if not count or count < seen.scan.keys * BIG_SHARE:
        return
    sentence = ngettext("%(count)s value is larger than 1 MiB", "%(count)s values are larger than 1 MiB", count) % {
        "count": grouped(count)
    }
    yield ScanFinding(
        State.NOTICE, sentence, _("Each of them holds up other commands while it is sent."), str(grouped(count))
    )


def uneven_shards(seen: Seen) -> Iterator[ScanFinding]:
    shards = list(seen.scan.shards.all())
    factor = skew([shard.bytes for shard in shards])
    if factor is None or factor < UNEVEN:
        return
    heaviest = max(shards, key=lambda shard: shard.bytes)
    sentence = _("Shard %(number)d holds %(size)s, %(factor).1f times the mean of all shards") % {
        "number": heaviest.number,
        "size": bytes_size(heaviest.bytes),
        "factor": factor,
    }
    step = _("Look for a hash tag or a giant key on that shard, or move slots.")
    yield ScanFinding(State.WARNING, sentence, step, f"×{factor:.1f}")


def heavy_slot(seen: Seen) -> Iterator[ScanFinding]:
    slots = (seen.scan.summary.get("slots") or {}) if seen.scan.cache.topology == "cluster" else {}
    if slots.get("keys", 0) < HOT_SLOT_SAMPLES or not slots.get("heaviest") or not slots["bytes"]:
        return
    slot, _keys, size = slots["heaviest"][0]
    share = size / slots["bytes"]
    if share < max(HOT_SLOT_SHARE, 3 / SLOTS):
        return
    sentence = _("Slot %(slot)d holds about %(share)s of the memory: a hash tag keeps many keys together") % {
        "slot": slot,
        "share": percent(share),
    }
    yield ScanFinding(State.WARNING, sentence, _("Put less into one hash tag: a slot cannot be split."), percent(share))


def thin_payload(seen: Seen) -> Iterator[ScanFinding]:
    told = seen.scan.summary.get("overhead")
    if not told or not told["held"] or seen.scan.summary.get("sampled", 0) < THIN_SAMPLES:
        return
    share = told["payload"] / told["held"]
    if share >= THIN_PAYLOAD:
        return
    sentence = _("Of the memory of strings only %(share)s is names and values, the rest is overhead") % {
        "share": percent(share)
    }
    yield ScanFinding(State.NOTICE, sentence, _("Pack small values together into hashes."), percent(share))


def large_collections(seen: Seen) -> Iterator[ScanFinding]:
    rows = seen.scan.top_keys.filter(elements__gte=MANY_ELEMENTS).exclude(type="string")
    count = rows.count()
    if not count:
        return
    sentence = ngettext(
        "%(count)s collection has %(limit)s elements or more",
        "%(count)s collections have %(limit)s elements or more",
        count,
    ) % {"count": grouped(count), "limit": grouped(MANY_ELEMENTS)}
    step = _("Commands that read them whole block the server: read them in parts, with HSCAN, SSCAN or ZSCAN.")
    yield ScanFinding(State.WARNING, sentence, step, str(grouped(count)))


def grown(seen: Seen) -> Iterator[ScanFinding]:
    """The family that grew most since the scan before."""
    if seen.earlier is None:
        return
    before = dict(seen.earlier.prefixes.values_list("digest", "size"))
    rows = list(seen.scan.prefixes.filter(depth__range=(1, 3), is_other=False))
    row = max(rows, key=lambda row: (row.size - before.get(row.digest, 0), row.depth), default=None)
    growth = row.size - before.get(row.digest, 0) if row else 0
    if row is None or growth < max(GROWN_BYTES, GROWN_SHARE * before.get(row.digest, 0)):
        return
    sentence = _("%(prefix)s grew by %(size)s since the scan of %(time)s") % {
        "prefix": seen.prefix(row),
        "size": bytes_size(growth),
        "time": exact_time(seen.earlier.at),
    }
    step = _("Compare the two scans to see which keys are new.")
    yield ScanFinding(State.NOTICE, sentence, step, f"+{bytes_size(growth)}")


def repeated(seen: Seen) -> Iterator[ScanFinding]:
    repeats = seen.scan.summary.get("repeats", 0)
    if not seen.scan.keys or repeats < REPEATS * seen.scan.keys:
        return
    sentence = _("About %(share)s of the keys came more than once, because the server resized its table meanwhile") % {
        "share": percent(repeats / seen.scan.keys)
    }
    yield ScanFinding(State.NOTICE, sentence, _("The largest keys count once; sums may be that much too high."), "")


FINDINGS: tuple[Callable[[Seen], Iterator[ScanFinding]], ...] = (
    incomplete,
    no_memory_command,
    heavy_prefix,
    giants,
    uneven_shards,
    heavy_slot,
    large_collections,
    lasting,
    grown,
    big_values,
    thin_payload,
    repeated,
)
