"""`stats slabs` and `stats items`: memory by class of chunk, rolled up. About 600 bytes a class, some 60 of them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.conf import settings

from collectors.memcached.lines import AFTER, BEFORE
from collectors.protocol import lines_of
from collectors.source import Command, Readings, Reply, Source
from fleet.engines import Engine

SLABS: Command = ("stats", "slabs")
ITEMS: Command = ("stats", "items")
# Classes are numbered from 1; Memcached has 63 of them at most.
LAST_CLASS = 255
DIGITS = 18
TOGETHER = ("active_slabs", "total_malloced")
# Of each class, or of all together.
Numbers = Mapping[bytes, int]


class MemcachedSlabs(Source):
    """Sums over the classes, and the class that is worst off: it may evict while others have memory to spare."""

    name = "memcached_slabs"
    engines = (Engine.MEMCACHED,)

    def every(self) -> int:
        return int(settings.DETAIL_INTERVAL_SECONDS)

    def commands(self) -> tuple[Command, ...]:
        return SLABS, ITEMS

    def parse(self, replies: Sequence[Reply]) -> Readings:
        slabs, items = by_class(lines_of(replies[0])), by_class(lines_of(replies[1]))
        return Readings(detail=of_slabs(slabs) | of_items(items, slabs) | requested(items, slabs))


def by_class(lines: Sequence[bytes]) -> dict[int, dict[bytes, int]]:
    """Return the numbers of each class; those of all classes together stand under 0. What is no number is left out."""
    found: dict[int, dict[bytes, int]] = defaultdict(dict)
    for line in lines:
        name, _, text = line.removeprefix(BEFORE).removeprefix(b"items:").partition(AFTER)
        number, colon, field = name.partition(b":")
        place = number if colon else b"0"
        if place.isdigit() and len(place) < 4 and int(place) <= LAST_CLASS and text.isdigit() and len(text) <= DIGITS:
            found[int(place)][field if colon else name] = int(text)
    return dict(found)


def of_slabs(classes: Mapping[int, Numbers]) -> dict[str, float]:
    """Return the sums over all classes of chunks."""
    together = classes.get(0, {})
    found = {
        name: float(together[name.encode()]) for name in ("active_slabs", "total_malloced") if name.encode() in together
    }
    own = [numbers for number, numbers in classes.items() if number]
    if own:
        found["slabs_used_bytes"] = float(sum(_bytes(one, b"used_chunks") for one in own))
        found["slabs_free_bytes"] = float(sum(_bytes(one, b"free_chunks") for one in own))
    return found


def requested(items: Mapping[int, Numbers], slabs: Mapping[int, Numbers]) -> dict[str, float]:
    """Return the bytes that items need: newer servers tell them with the items, older ones with the slabs."""
    for classes in (items, slabs):
        known = [
            numbers[b"mem_requested"] for number, numbers in classes.items() if number and b"mem_requested" in numbers
        ]
        if known:
            return {"slabs_mem_requested": float(sum(known))}
    return {}


def _bytes(numbers: Numbers, chunks: bytes) -> int:
    return numbers.get(chunks, 0) * numbers.get(b"chunk_size", 0)


def of_items(items: Mapping[int, Numbers], slabs: Mapping[int, Numbers]) -> dict[str, float]:
    """Return sums over all classes of items, their ages, and the class that evicts most."""
    classes = {number: numbers for number, numbers in items.items() if number}
    if not classes:
        return {}
    found = {
        "items_outofmemory": float(sum(one.get(b"outofmemory", 0) for one in classes.values())),
        "items_tailrepairs": float(sum(one.get(b"tailrepairs", 0) for one in classes.values())),
    }
    if ages := [one[b"age"] for one in classes.values() if one.get(b"number") and b"age" in one]:
        found |= {"items_age": float(max(ages)), "items_age_worst_slab": float(min(ages))}
    if times := [one[b"evicted_time"] for one in classes.values() if one.get(b"evicted") and b"evicted_time" in one]:
        found["items_evicted_time"] = float(min(times))
    worst = max(classes, key=lambda number: classes[number].get(b"evicted", 0))
    found["worst_slab_evicted"] = float(classes[worst].get(b"evicted", 0))
    if found["worst_slab_evicted"] and (size := slabs.get(worst, {}).get(b"chunk_size")):
        found["worst_slab_chunk_size"] = float(size)
    return found
