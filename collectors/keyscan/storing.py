"""bin/manage memkeys --store: a scan from the command line whose result is kept for the pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import COMMAND_LINE, AuditEntry
from collectors.connections import Access
from collectors.keyscan import choosing, command, concluding, results
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.brake import GENTLE
from collectors.keyscan.identity import REPLICA
from collectors.keyscan.markers import begin
from collectors.keyscan.models import Scan, ScanShard, ScanState
from collectors.keyscan.names import shown
from collectors.keyscan.node import NodeScan
from collectors.keyscan.noting import note_progress
from collectors.keyscan.options import ScanOptions
from collectors.keyscan.scan import Scan as Engine
from collectors.keyscan.teller import Output
from collectors.targets import Way
from fleet.addresses import Address, AddressError, parse_addresses
from fleet.models import Cache, Node


def scan_and_store(options: Mapping[str, Any], progress: Output) -> Engine:
    """Scan a registered cache and store what was found. Raise UsageError, ScanRefusedError or ReadError."""
    cache = registered(options["url"])
    seeds, access = way_to(cache, options)
    choosing.refuse_scanned(cache.nodes.present())
    began = timezone.now()
    engine = command.made(seeds, access, options, progress)
    keep(cache, engine, options, began)
    return engine


def registered(text: str) -> Cache:
    """Return the cache of this name, or the one that a server of this address belongs to. Raise UsageError."""
    cache = Cache.objects.filter(name=text.replace("\0", "")).first()
    if cache:
        return cache
    try:
        seeds = parse_addresses(text)[0]
    except AddressError as error:
        raise command.UsageError(str(error)) from error
    places = Q()
    for seed in seeds:
        places |= Q(host=seed.host, port=seed.port)
    node = Node.objects.present().filter(places).select_related("cache").order_by("pk").first()
    if node is None:
        raise command.UsageError(f"{seeds[0].text} belongs to no registered cache: add it first, or leave --store out.")
    return node.cache


def way_to(cache: Cache, options: Mapping[str, Any]) -> tuple[Sequence[Address], Access]:
    """Return where a registered cache is and how to sign in; a password that is given counts before its own."""
    if options["url"] == cache.name:
        seeds: Sequence[Address] = cache.seeds()
        own = None
    else:
        seeds, own = command.way_of(options)
    way = Way.of(cache, seeds[0].tls)
    if own and (own.password or own.ca_bundle):
        return seeds, own
    if way.broken:
        raise way.broken
    return seeds, way.access


@transaction.atomic
def keep(cache: Cache, engine: Engine, options: Mapping[str, Any], began: datetime) -> Scan:
    """Store a scan that has ended as if a worker had made it. Workers see it only when all of it is there."""
    asked = asked_of(options)
    scan = Scan.objects.create(
        cache=cache,
        author=COMMAND_LINE,
        options=asked.to_json(),
        brake=GENTLE.name if options["interval"] else options["brake"],
        state=ScanState.RUNNING,
        created_at=began,
        started_at=began,
        worker=COMMAND_LINE,
        attempts=1,
    )
    pairs = list(zip(shards_of(scan, engine), engine.nodes, strict=True))
    ScanShard.objects.bulk_create(shard for shard, _node in pairs)
    begin(scan)
    found = [replace(one, aggregate=copy_of(one.aggregate)) for one in concluding.found_in(pairs)]
    ending = concluding.ending_of(engine, is_cancelled=engine.job.control.is_stopped)
    results.store(scan, found, ending, concluding.extra_of(engine))
    AuditEntry.record(None, "scan.store", cache.name, scan=scan.pk)
    return scan


def asked_of(options: Mapping[str, Any]) -> ScanOptions:
    return ScanOptions(
        match=shown(options["match"].encode("utf-8", "surrogateescape")),
        type=options["kind"],
        top=options["top"],
        fields=tuple(options["fields"] or ()),
        samples=ScanOptions().samples if options["samples"] is None else options["samples"],
        may_use_primary=not options["replica"],
    )


def shards_of(scan: Scan, engine: Engine) -> Iterator[ScanShard]:
    """Yield a row for each node that was walked, with the number of its shard where the node is known."""
    known = {(node.host, node.port): node for node in scan.cache.nodes.present().select_related("shard")}
    for number, (node, seen) in enumerate(zip(engine.nodes, engine.progress(), strict=True), 1):
        row = known.get((node.target.host, node.target.port))
        shard = ScanShard(
            scan=scan,
            number=row.shard.number if row and row.shard else number,
            node=row,
            address=node.target.label,
            is_replica=node.target.is_replica or is_replica(node),
            is_active=False,
        )
        shard.busy_seconds = node.gate.busy_seconds
        note_progress(shard, node, seen, [])
        yield shard


def is_replica(node: NodeScan) -> bool:
    return node.abilities is not None and node.abilities.identity.role == REPLICA


def copy_of(aggregate: Aggregate) -> Aggregate:
    """Return the same sums again: storing merges them, and they are still to be printed."""
    return Aggregate.from_state(aggregate.state())
