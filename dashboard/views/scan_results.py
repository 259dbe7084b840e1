"""What a scan found: the result page, one key's page, and two scans compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import operator_required, signed_in
from collectors.failures import ReadError
from collectors.keyscan import measuring, sources
from collectors.keyscan.models import Scan, ScanKey
from collectors.keyscan.reasons import ScanRefusedError
from collectors.keyscan.summary import skew
from dashboard.scans import compare, findings, found, live, spread, steering, treemap, trends
from dashboard.scans.naming import Naming

HISTORY = 50


@dataclass(frozen=True, slots=True)
class ResultQuery:
    """What the URL asks of a result page. Unknown values fall back to the defaults."""

    shard: int = 0
    type: str = ""
    sort: str = "size"
    prefix: str = ""

    @classmethod
    def of(cls, given: QueryDict, scan: Scan) -> ResultQuery:
        shard, kind = given.get("shard", ""), given.get("type", "")
        types = {row["type"] for row in scan.summary.get("types", [])}
        return cls(
            int(shard) if shard.isascii() and shard.isdigit() and len(shard) < 8 else 0,
            kind if kind in types else "",
            "elements" if given.get("sort") == "elements" else "size",
            given.get("prefix", ""),
        )

    def url(self, **changes: str) -> str:
        parts = {"shard": str(self.shard or ""), "type": self.type, "sort": self.sort, "prefix": self.prefix} | changes
        return "?" + urlencode(
            {name: text for name, text in parts.items() if text and (name, text) != ("sort", "size")}
        )


def result_page(request: HttpRequest, scan: Scan) -> HttpResponse:
    naming, query = Naming.for_reader(request), ResultQuery.of(request.GET, scan)
    earlier = sources.earlier_of(scan)
    page = Paginator(found.top_keys(scan, query.shard, query.type, query.sort), found.KEYS_A_PAGE).get_page(
        request.GET.get("page")
    )
    context: dict[str, Any] = {"scan": scan, "cache": scan.cache, "query": query, "earlier": earlier, "page": page}
    context |= {"keys": found.key_rows(scan, page.object_list, naming), "shards": shards_of(scan)}
    context |= {"findings": findings.of(findings.Seen(scan, earlier, naming)), "summary": scan.summary}
    context |= {"seen_ratio": found.seen_ratio(scan), "ending": ending_words(scan)}
    context["histograms"] = histograms(scan)
    context |= {"encodings": spread.encodings(scan), "slots": spread.slots(scan, naming)}
    context["complete_from"] = found.complete_from(scan, query.shard, query.type) if query.sort == "size" else None
    context |= prefixes(scan, query, earlier, naming)
    return render(request, "dashboard/scan_result.html", context)


def prefixes(scan: Scan, query: ResultQuery, earlier: Scan | None, naming: Naming) -> dict[str, Any]:
    place = found.place_of(scan, query.prefix)
    if place is None:
        return {}
    lines = found.below(scan, place, earlier, naming)
    over_time = trends.trends(scan, [place.digest, *(line.row.digest for line in lines)]) if earlier else {}
    for line in lines:
        line.trend = over_time.get(line.row.digest)
    return {
        "place": place,
        "place_name": naming.prefix(bytes(place.prefix), place.is_other),
        "trend": over_time.get(place.digest),
        "place_path": found.path_to(place, naming),
        "lines": lines,
        "tiles": treemap.tiles(lines),
        "heaviest": found.heaviest(scan, earlier, naming, 20) if place.parent is None else [],
    }


def shards_of(scan: Scan) -> dict[str, Any]:
    rows = list(scan.shards.all())
    whole = sum(shard.bytes for shard in rows) or 1
    lines = [{"shard": shard, "share": shard.bytes / whole, "words": live.shard_words(shard)} for shard in rows]
    return {"lines": lines, "skew": skew([shard.bytes for shard in rows])}


def histograms(scan: Scan) -> list[dict[str, Any]]:
    told = scan.summary
    titles = (
        ("sizes", _("Sizes of values"), "bytes"),
        ("name_lengths", _("Lengths of names"), "length"),
        ("ttl_seconds", _("Times to live"), "time"),
        ("idle_seconds", _("Idle times"), "time"),
    )
    counted = [(name, title, unit, told.get(name, [])) for name, title, unit in titles]
    return [
        {
            "name": name,
            "title": title,
            "unit": unit,
            "bars": bars,
            "is_sampled": name != "sizes" and not told["is_full"],
        }
        for name, title, unit, counts in (*counted, *elements(told))
        if (bars := found.bars(counts))
    ]


def elements(told: dict[str, Any]) -> list[tuple[str, str, str, Any]]:
    """Return the histogram of the number of elements of each type of collections."""
    kinds = sorted(kind for kind in told.get("elements", {}) if kind != "string")
    return [
        (f"elements-{number}", _("Elements: %(type)s") % {"type": kind}, "length", told["elements"][kind])
        for number, kind in enumerate(kinds)
    ]


def ending_words(scan: Scan) -> str:
    last = scan.changes.last()
    return live.change_words(last) if last else ""


@require_safe
def scan_key(request: HttpRequest, pk: int, key_pk: int) -> HttpResponse:
    key = get_object_or_404(ScanKey.objects.select_related("scan__cache"), pk=key_pk, scan=pk)
    naming = Naming.for_reader(request)
    (row,) = found.key_rows(key.scan, [key], naming)
    history = ScanKey.objects.filter(digest=key.digest, scan__cache=key.scan.cache_id, db=key.db).select_related("scan")
    context: dict[str, Any] = {"scan": key.scan, "cache": key.scan.cache, "row": row, "key": key}
    context["history"] = history.order_by("-scan__created_at", "-size")[:HISTORY]
    context["checked"] = request.session.pop(f"scan-key-{key.pk}", None)
    context["measured"] = request.session.pop(f"scan-key-whole-{key.pk}", None)
    if signed_in(request).is_operator:
        context["cost"] = measuring.cost_of(key.scan.cache, key)
    return render(request, "dashboard/scan_key.html", context)


@operator_required
@require_POST
def check_key(request: HttpRequest, pk: int, key_pk: int) -> HttpResponse:
    """Read a key again now, and show it beside what the scan saw."""
    key = get_object_or_404(ScanKey.objects.select_related("scan__cache"), pk=key_pk, scan=pk)
    try:
        seen = steering.check_key(signed_in(request), key)
    except (ReadError, ScanRefusedError) as failure:
        messages.error(request, failure.sentence())
        return redirect("scan-key", pk, key_pk)
    if seen is None:
        messages.info(request, _("The key is gone by now."))
    else:
        told = {name: getattr(seen, name) for name in ("size", "type", "ttl_ms", "idle", "encoding", "elements")}
        told["ttl_seconds"] = seen.ttl_ms / 1000 if seen.ttl_ms is not None and seen.ttl_ms >= 0 else None
        request.session[f"scan-key-{key.pk}"] = told
    return redirect("scan-key", pk, key_pk)


@operator_required
@require_POST
def measure_key(request: HttpRequest, pk: int, key_pk: int) -> HttpResponse:
    """Look at every element of a giant, once and on purpose."""
    key = get_object_or_404(ScanKey.objects.select_related("scan__cache"), pk=key_pk, scan=pk)
    try:
        seen = steering.measure_key(signed_in(request), key)
    except ReadError as failure:
        messages.error(request, failure.sentence())
    except ScanRefusedError as refused:
        messages.warning(request, str(refused))
    else:
        if seen is None:
            messages.info(request, _("The key is gone by now."))
        else:
            told = {"size": seen.detail.size, "elements": seen.detail.elements}
            request.session[f"scan-key-whole-{key.pk}"] = {**told, "address": seen.address, "seconds": seen.seconds}
    return redirect("scan-key", pk, key_pk)


@require_safe
def compare_scans(request: HttpRequest, pk: int) -> HttpResponse:
    after = get_object_or_404(Scan.objects.select_related("cache"), pk=pk)
    others = list(after.before()[:HISTORY])
    chosen = request.GET.get("with", "")
    before = next((scan for scan in others if str(scan.pk) == chosen), others[0] if others else None)
    context: dict[str, Any] = {"scan": after, "cache": after.cache, "others": others, "before": before}
    if before:
        naming = Naming.for_reader(request)
        context["comparison"] = compare.compare(before, after, naming)
        context["mixed"] = sources.mixed_shards(before, after)
        place = found.place_of(after, request.GET.get("prefix", ""))
        if place:
            context |= {"place": place, "place_name": naming.prefix(bytes(place.prefix), place.is_other)}
            context["trend"] = trends.trends(after, [place.digest]).get(place.digest)
    return render(request, "dashboard/scan_compare.html", context)
