"""Scans of keys: starting and steering them, how far they are, and what they found."""

from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Status

from accounts.access import signed_in
from accounts.api_auth import callers
from accounts.models import Role
from collectors.keyscan import sources
from collectors.keyscan.models import Scan
from dashboard.api.answers import compressed_json, problems
from dashboard.api.caches import cache_named
from dashboard.api.scan_schemas import (
    BrakeGiven,
    CompareAnswer,
    ExportQuery,
    KeyFilter,
    KeyPage,
    PrefixFilter,
    PrefixPage,
    PreviewAnswer,
    ScanAnswer,
    ScanDetail,
    ScanFilter,
    ScanGiven,
    ScanPage,
)
from dashboard.scans import compare, export, findings, found, live, steering
from dashboard.scans.naming import Naming
from dashboard.scans.preview import preview

router = Router(tags=["scans"], auth=callers())
operators = callers(Role.OPERATOR)


def scan_of(pk: int) -> Scan:
    return get_object_or_404(Scan.objects.select_related("cache"), pk=pk)


@router.get(
    "", response={200: ScanPage, **problems(404)}, operation_id="list_scans", summary="List scans, newest first"
)
def list_scans(request: HttpRequest, filters: Query[ScanFilter]) -> dict[str, Any]:
    scans = Scan.objects.select_related("cache")
    scans = scans.filter(cache=cache_named(filters.cache)) if filters.cache else scans
    if filters.state:
        scans = scans.under_way() if filters.state == "open" else scans.filter(state=filters.state)
    rows = [scan_json(scan) for scan in scans[filters.cut]]
    return {**filters.told(scans.count()), "scans": rows}


@router.post(
    "",
    response={201: ScanAnswer, **problems(404, 409, 413, 415)},
    auth=operators,
    operation_id="start_scan",
    summary="Start a scan",
)
def start_scan(request: HttpRequest, body: ScanGiven) -> Status[dict[str, Any]]:
    """A worker takes it up within seconds. 409 where a node has none that is fit, or is being scanned."""
    scan = steering.start(signed_in(request), cache_named(body.cache), body.asked(), body.brake)
    return Status(201, scan_json(scan))


@router.post(
    "/preview",
    response={200: PreviewAnswer, **problems(404, 409, 413, 415)},
    operation_id="preview_scan",
    summary="Tell what a scan would take",
)
def preview_scan(request: HttpRequest, body: ScanGiven) -> dict[str, Any]:
    seen = preview(cache_named(body.cache), body.asked(), body.brake)
    return {
        "keys": seen.keys,
        "seconds": seen.seconds,
        "load": seen.load,
        "notes": [note for note in (seen.fields_note, seen.samples_note, seen.budget_note) if note],
        "budget_seconds": seen.budget,
        "nodes": [
            {
                "shard": row.choice.number,
                "node": row.choice.node.address,
                "is_replica": row.choice.is_replica,
                "keys": row.choice.keys,
                "lag_bytes": row.choice.lag_bytes,
                "seconds": row.seconds,
                "used_today_seconds": row.used_today,
            }
            for row in seen.rows
        ],
    }


@router.get(
    "/{int:pk}",
    response={200: ScanDetail, **problems(404)},
    operation_id="read_scan",
    summary="Read how far a scan is, or what it says",
)
def read_scan(request: HttpRequest, pk: int) -> HttpResponse:
    return compressed_json(request, detail_json(request, scan_of(pk)))


@router.post(
    "/{int:pk}/brake",
    response={200: ScanAnswer, **problems(404, 409, 413, 415)},
    auth=operators,
    operation_id="brake_scan",
    summary="Set the speed of a scan that runs",
)
def brake_scan(request: HttpRequest, pk: int, body: BrakeGiven) -> dict[str, Any]:
    scan = scan_of(pk)
    steering.set_brake(signed_in(request), scan, body.brake)
    return scan_json(scan)


def steered(request: HttpRequest, pk: int, what: str) -> dict[str, Any]:
    scan = scan_of(pk)
    steering.act(signed_in(request), scan, what)
    return scan_json(scan)


@router.post(
    "/{int:pk}/pause", response={200: ScanAnswer, **problems(404, 409)}, auth=operators, operation_id="pause_scan"
)
def pause_scan(request: HttpRequest, pk: int) -> dict[str, Any]:
    return steered(request, pk, "pause")


@router.post(
    "/{int:pk}/resume", response={200: ScanAnswer, **problems(404, 409)}, auth=operators, operation_id="resume_scan"
)
def resume_scan(request: HttpRequest, pk: int) -> dict[str, Any]:
    return steered(request, pk, "resume")


@router.post(
    "/{int:pk}/cancel", response={200: ScanAnswer, **problems(404, 409)}, auth=operators, operation_id="cancel_scan"
)
def cancel_scan(request: HttpRequest, pk: int) -> dict[str, Any]:
    """What was found so far is kept."""
    return steered(request, pk, "cancel")


@router.get(
    "/{int:pk}/keys",
    response={200: KeyPage, **problems(404)},
    operation_id="list_scan_keys",
    summary="List the largest keys",
)
def list_keys(request: HttpRequest, pk: int, filters: Query[KeyFilter]) -> HttpResponse:
    scan, naming = scan_of(pk), Naming.for_reader(request)
    keys = list(found.top_keys(scan, filters.shard, filters.type, filters.sort))[filters.cut]
    rows = [export.key_json(key, naming) for key in keys]
    end = found.complete_from(scan, filters.shard, filters.type) if filters.sort == "size" else None
    answer = {"page": filters.page, "page_size": filters.page_size, "complete_from": end, "keys": rows}
    return compressed_json(request, answer)


@router.get(
    "/{int:pk}/prefixes",
    response={200: PrefixPage, **problems(404)},
    operation_id="list_scan_prefixes",
    summary="List the prefixes below one, with what is other",
)
def list_prefixes(request: HttpRequest, pk: int, filters: Query[PrefixFilter]) -> HttpResponse:
    scan, naming = scan_of(pk), Naming.for_reader(request)
    place = found.place_of(scan, filters.parent)
    rows = scan.prefixes.filter(parent=place.digest).order_by("-size", "digest") if place else ()
    answer = {
        "whole": export.prefix_json(place, naming) if place else None,
        "prefixes": [export.prefix_json(row, naming) for row in rows],
    }
    return compressed_json(request, answer)


@router.get(
    "/{int:pk}/compare",
    response={200: CompareAnswer, **problems(404)},
    operation_id="compare_scans",
    summary="Compare a scan with an earlier one of the same cache",
)
def compare_with(request: HttpRequest, pk: int, before: int) -> HttpResponse:
    after = scan_of(pk)
    earlier = get_object_or_404(Scan.objects.select_related("cache"), pk=before, cache=after.cache_id)
    seen = compare.compare(earlier, after, Naming.for_reader(request))
    answer = {
        "before": scan_json(earlier),
        "after": scan_json(after),
        "bytes_per_day": seen.bytes_per_day,
        "mixed_shards": sources.mixed_shards(earlier, after),
        "prefixes": [changed_json(change) for change in seen.prefixes],
        "keys": [changed_json(change) for change in seen.keys],
    }
    return compressed_json(request, answer)


@router.get(
    "/{int:pk}/export",
    response={200: dict[str, Any], **problems(404)},
    operation_id="export_scan",
    summary="Save what a scan found as CSV, JSON or NDJSON",
)
def export_scan(request: HttpRequest, pk: int, query: Query[ExportQuery]) -> StreamingHttpResponse:
    scan, naming = scan_of(pk), Naming.for_reader(request)
    if query.format == "json":
        content = export.as_json(detail_json(request, scan), scan, naming)
    else:
        write = export.as_csv if query.format == "csv" else export.as_ndjson
        content = write(export.rows(scan, query.part, naming))
    response = StreamingHttpResponse(content, content_type=export.TYPES[query.format])
    name = f"scan-{scan.pk}" + ("" if query.format == "json" else f"-{query.part}")
    response["Content-Disposition"] = f'attachment; filename="{name}.{query.format}"'
    return response


def scan_json(scan: Scan) -> dict[str, Any]:
    names = ("author", "brake", "state", "options", "created_at", "started_at", "finished_at", "keys", "bytes")
    named = {name: getattr(scan, name) for name in names}
    return {"id": scan.pk, "url": scan.get_absolute_url(), "cache": scan.cache.name, **named}


def detail_json(request: HttpRequest, scan: Scan) -> dict[str, Any]:
    naming = Naming.for_reader(request)
    seen = live.live(scan, timezone.now(), naming)
    told = findings.of(findings.Seen(scan, sources.earlier_of(scan), naming)) if scan.has_results else []
    return {
        **scan_json(scan),
        "ratio": seen.ratio,
        "seconds_left": seen.seconds_left,
        "keys_per_second": seen.keys_per_second,
        "shards": [shard_json(line, naming) for line in seen.lines],
        "changes": [
            {"at": c.at, "state": c.state, "cause": c.cause, "words": live.change_words(c), "author": c.author}
            for c in scan.changes.all()
        ],
        "summary": scan.summary,
        "findings": [{"state": f.state, "sentence": f.sentence, "step": f.step, "figure": f.figure} for f in told],
    }


def shard_json(line: live.ShardLine, naming: Naming) -> dict[str, Any]:
    shard = line.shard
    names = ("is_replica", "state", "keys", "total", "bytes", "ratio", "busy_seconds", "reconnects", "restarts")
    named = {name: getattr(shard, name) for name in names}
    biggest = [[kind, naming.text(name), size] for kind, name, size in shard.progress.get("biggest", [])]
    progress = {**shard.progress, "biggest": biggest} if shard.progress else {}
    return {"shard": shard.number, "node": shard.address, "words": line.words, **named, "progress": progress}


def changed_json(change: compare.Change) -> dict[str, Any]:
    names = ("name", "before", "after", "delta")
    return {**{name: getattr(change, name) for name in names}, "change": change.word}
