"""bin/manage memkeys URL: the largest keys of any server, without a database."""

import asyncio
import json
import os
import signal
import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from collectors.connections import Access, tls_context
from collectors.failures import ReadError
from collectors.keyscan import brake, fields, targets
from collectors.keyscan.aggregate import Aggregate
from collectors.keyscan.control import Control
from collectors.keyscan.job import Job
from collectors.keyscan.report import Report
from collectors.keyscan.scan import Scan
from collectors.keyscan.shapes import Separators
from collectors.keyscan.teller import Teller
from collectors.keyscan.walk import SAMPLES, Plan
from collectors.keyscan.wire import Pages
from fleet.addresses import Address, AddressError, Credentials, parse_addresses

INCOMPLETE, USAGE = 1, 2
FIELD_NAMES = ",".join(fields.NAMES)
MOST_TOP = 10_000
MOST_SECONDS = 3_600
EPILOG = (
    "The password may stand in the URL, or in REDISCLI_AUTH where others must not see it."
    " Exit status: 0 done, 1 incomplete, 2 wrong usage."
)


class Command(BaseCommand):
    # Neither settings nor tables are needed to look at a server.
    requires_system_checks = ()
    help = "Measure all keys of a server or a cluster and show the largest, and the memory of each prefix."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.epilog = EPILOG
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
        parser.add_argument("--depth", type=whole, default=2, metavar="N", help="levels of prefixes, 0 for none")
        parser.add_argument("--replica", action="store_true", help="read a replica of each shard of a cluster")
        parser.add_argument("--json", action="store_true", help="print one JSON object, progress to standard error")
        parser.add_argument("--ca-bundle", type=Path, metavar="FILE", help="certificates to trust, with rediss://")
        parser.add_argument("--no-host-check", action="store_true", help="accept a certificate of another host name")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            seeds, credentials = parse_addresses(options["url"])
        except AddressError as error:
            raise CommandError(str(error), returncode=USAGE) from error
        if not 1 <= options["top"] <= MOST_TOP:
            raise CommandError(f"--top takes 1 to {MOST_TOP}.", returncode=USAGE)
        try:
            report = self.scan(seeds, access_of(seeds, credentials, options), options)
        except ReadError as failure:
            raise CommandError(failure.sentence(), returncode=INCOMPLETE) from failure
        self.stdout.write(json.dumps(report.as_json()) if options["json"] else report.text())
        if not report.is_complete:
            sys.exit(INCOMPLETE)

    def scan(self, seeds: Sequence[Address], access: Access, options: dict[str, Any]) -> Report:
        found = asyncio.run(targets.find(seeds, access, options["replica"]))
        control = Control(brake.interval(options["interval"]) if options["interval"] else options["brake"])
        job = job_of(access, control, options)
        if any(target.slots for target in found):
            # Any node knows the way, also when the one that was named is gone.
            known = [*seeds, *(Address(target.host, target.port, access.tls) for target in found)]
            survey = partial(look_around, known, access, options["replica"])
            job.survey, job.relocate = survey, lambda target: targets.serving(target, survey())
        teller = Teller(self.stderr if options["json"] else self.stdout)
        scan = Scan(job, found, teller.observe)
        job.notice = lambda details: teller.notice(scan.ratio, details)
        before = signal.signal(signal.SIGINT, lambda _number, _frame: control.stop())
        try:
            scan.run()
        finally:
            signal.signal(signal.SIGINT, before)
        return Report(scan, options["top"])


def look_around(known: Sequence[Address], access: Access, use_replicas: bool) -> list[targets.Target]:
    return asyncio.run(targets.find(known, access, use_replicas))


def access_of(seeds: Sequence[Address], given: Credentials, options: dict[str, Any]) -> Access:
    """Return how to sign in. Raise CommandError where the certificates cannot be read."""
    password = given.password or os.environ.get("REDISCLI_AUTH", "")
    try:
        bundle = options["ca_bundle"].read_text() if options["ca_bundle"] else ""
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{options['ca_bundle']} cannot be read: {error}", returncode=USAGE) from error
    check = not options["no_host_check"]
    return Access(seeds[0].tls, given.username, password, ca_bundle=bundle, check_hostname=check)


def job_of(access: Access, control: Control, options: dict[str, Any]) -> Job:
    samples = SAMPLES if options["samples"] is None else options["samples"]
    match = options["match"].encode("utf-8", "surrogateescape")
    plan = Plan(
        Pages(match, options["kind"]),
        samples,
        is_single=options["samples"] is not None,
        all_fields=bool(options["fields"]),
        is_filtered=bool(match or options["kind"]),
    )
    # What is learnt of one node's names holds for all.
    separators = Separators()

    def aggregate(_target: targets.Target, _db: int) -> Aggregate:
        made = Aggregate(options["top"], options["depth"], separators=separators)
        made.is_full = plan.all_fields
        return made

    context = tls_context(access) if access.tls else None
    return Job(access, context, plan, control, aggregate, frozenset(options["fields"] or fields.NAMES))


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
