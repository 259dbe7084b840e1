"""bin/manage memkeys: what it takes, and the scan that it makes.

Nothing here needs Django's apps or a database: their start would take longer than most scans.
"""

import asyncio
import json
import os
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from collectors.connections import Access, tls_context
from collectors.failures import ReadError
from collectors.keyscan import brake, fields, targets
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.control import Control
from collectors.keyscan.exact import SAMPLES
from collectors.keyscan.job import Job
from collectors.keyscan.options import DEPTH
from collectors.keyscan.report import Report
from collectors.keyscan.scan import Scan
from collectors.keyscan.shapes import Separators
from collectors.keyscan.teller import Output, Teller
from collectors.keyscan.walk import Plan
from collectors.keyscan.wire import Pages
from fleet.addresses import Address, AddressError, Credentials, parse_addresses

DONE, INCOMPLETE, USAGE = 0, 1, 2
FIELD_NAMES = ",".join(fields.NAMES)
MOST_TOP = 10_000
MOST_SECONDS = 3_600
SHOWN_DEPTH = 2
HELP = "Measure all keys of a server or a cluster and show the largest, and the memory of each prefix."
EPILOG = (
    "The password may stand in the URL, or in REDISCLI_AUTH where others must not see it."
    " Exit status: 0 done, 1 incomplete, 2 wrong usage."
)


class UsageError(ValueError):
    """What was asked for cannot be done; the text says why."""


class Lines:
    """A stream that is given lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()


def main(words: Sequence[str]) -> int:
    """Return the exit status of `memkeys` without --store."""
    parser = ArgumentParser(prog="bin/manage memkeys", description=HELP, epilog=EPILOG)
    add_arguments(parser)
    options = vars(parser.parse_args(words))
    output, errors = Lines(sys.stdout), Lines(sys.stderr)
    try:
        seeds, access = way_of(options)
        scan = made(seeds, access, options, errors if options["json"] else output)
    except UsageError as error:
        errors.write(f"Error: {error}")
        return USAGE
    except ReadError as failure:
        errors.write(f"Error: {failure.sentence()}")
        return INCOMPLETE
    return tell(scan, options, output)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("url", help="redis:// or rediss:// address, of a cluster any node's")
    parser.add_argument("--brake", choices=[*brake.BRAKES], default=brake.GENTLE.name)
    parser.add_argument("-i", dest="interval", type=seconds, metavar="SECONDS", help="sleep per 100 SCANs")
    parser.add_argument("--top", type=whole, default=100, metavar="N", help=f"keys to list, up to {MOST_TOP}")
    parser.add_argument("--match", default="", metavar="PATTERN", help="only keys like this, as SCAN's MATCH")
    parser.add_argument("--type", default="", dest="kind", help="only keys of this type, as SCAN's TYPE")
    parser.add_argument(
        "--samples", type=whole, metavar="N", help="elements looked at, in one pass; 0 for all; default: two passes"
    )
    parser.add_argument("--fields", type=field_names, metavar="F,…", help=f"read for every key: {FIELD_NAMES}")
    parser.add_argument(
        "--depth", type=whole, metavar="N", help=f"levels of prefixes: 2, {DEPTH} with --store, 0 for none"
    )
    parser.add_argument("--replica", action="store_true", help="read a replica of each shard or server that has one")
    parser.add_argument("--json", action="store_true", help="print one JSON object, progress to standard error")
    parser.add_argument(
        "--store", action="store_true", help="keep the result for the pages; URL is a registered cache's, or its name"
    )
    parser.add_argument("--ca-bundle", type=Path, metavar="FILE", help="certificates to trust, with rediss://")
    parser.add_argument("--no-host-check", action="store_true", help="accept a certificate of another host name")


def way_of(options: Mapping[str, Any]) -> tuple[list[Address], Access]:
    """Return the servers named and how to sign in there. Raise UsageError where that cannot be read."""
    try:
        seeds, credentials = parse_addresses(options["url"])
    except AddressError as error:
        raise UsageError(str(error)) from error
    return seeds, access_of(seeds, credentials, options)


def access_of(seeds: Sequence[Address], given: Credentials, options: Mapping[str, Any]) -> Access:
    """Return how to sign in. Raise UsageError where the certificates cannot be read."""
    password = given.password or os.environ.get("REDISCLI_AUTH", "")
    try:
        bundle = options["ca_bundle"].read_text() if options["ca_bundle"] else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{options['ca_bundle']} cannot be read: {error}") from error
    check = not options["no_host_check"]
    return Access(seeds[0].tls, given.username, password, ca_bundle=bundle, check_hostname=check)


def made(seeds: Sequence[Address], access: Access, options: Mapping[str, Any], progress: Output) -> Scan:
    """Return a scan that has run to its end. Raise UsageError or ReadError where it cannot begin."""
    if not 1 <= options["top"] <= MOST_TOP:
        raise UsageError(f"--top takes 1 to {MOST_TOP}.")
    found = look_around(seeds, access, options["replica"])
    for target in found:
        if options["replica"] and not target.is_replica:
            progress.write(f"{target.label} has no replica in good order: it is read itself.")
    control = Control(brake.interval(options["interval"]) if options["interval"] else options["brake"])
    job = job_of(access, control, options)
    if any(target.slots for target in found):
        # Any node knows the way, also when the one that was named is gone.
        known = [*seeds, *(Address(target.host, target.port, access.tls) for target in found)]
        survey = partial(look_around, known, access, options["replica"])
        job.survey, job.relocate = survey, lambda target: targets.serving(target, survey())
    teller = Teller(progress)
    scan = Scan(job, found, teller.observe)
    job.notice = lambda details: teller.notice(scan.ratio, details)
    before = signal.signal(signal.SIGINT, lambda _number, _frame: control.stop())
    try:
        scan.run()
    finally:
        signal.signal(signal.SIGINT, before)
    return scan


def look_around(known: Sequence[Address], access: Access, use_replicas: bool) -> list[targets.Target]:
    return asyncio.run(targets.find(known, access, use_replicas))


def job_of(access: Access, control: Control, options: Mapping[str, Any]) -> Job:
    samples = SAMPLES if options["samples"] is None else options["samples"]
    match = options["match"].encode("utf-8", "surrogateescape")
    plan = Plan(
        Pages(match, options["kind"]),
        samples,
        is_single=options["samples"] is not None,
        # The terminal shows no estimates: of the sample the type is enough, to tell of the largest of each type.
        sampled=frozenset(fields.NAMES if options["store"] else ("type",)),
        all_fields=bool(options["fields"]),
        is_filtered=bool(match or options["kind"]),
    )
    # What is learnt of one node's names holds for all.
    separators = Separators()
    usual = DEPTH if options["store"] else SHOWN_DEPTH
    depth = usual if options["depth"] is None else options["depth"]

    def aggregate(_target: targets.Target, _db: int) -> Aggregate:
        made = Aggregate(options["top"], depth, separators=separators)
        made.is_full = plan.all_fields
        return made

    context = tls_context(access) if access.tls else None
    return Job(access, context, plan, control, aggregate, frozenset(options["fields"] or fields.NAMES))


def tell(scan: Scan, options: Mapping[str, Any], output: Output) -> int:
    """Print what a scan found; return the exit status. What its nodes found is one sum afterwards."""
    report = Report(scan, options["top"])
    output.write(json.dumps(report.as_json()) if options["json"] else report.text())
    return DONE if report.is_complete else INCOMPLETE


def seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= MOST_SECONDS:
        raise ArgumentTypeError(f"takes more than 0 and up to {MOST_SECONDS} seconds")
    return value


def whole(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError("takes a whole number")
    return int(text)


def field_names(text: str) -> list[str]:
    """Return the fields named. Raise ArgumentTypeError for one that is none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in fields.NAMES:
            raise ArgumentTypeError(f"{name} is none of {', '.join(fields.NAMES)}")
    return names
