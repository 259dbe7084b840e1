"""`python -m bench NAME`: figures of ours beside the peers', measured now on this machine."""

import argparse
import base64
import os
import secrets
import sys
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(48))
os.environ.setdefault("SHARDWATCH_ENCRYPTION_KEYS", base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
os.environ.setdefault("SHARDWATCH_LOG_LEVEL", "WARNING")
django.setup()

# Models can be imported only after Django's setup.
from bench import alerts, cloud, collect, memcached, memkeys, pages, prices, storage, switches  # noqa: E402
from bench.report import Report, write_json  # noqa: E402

BENCHES = {
    "storage": storage.run,
    "pages": pages.run,
    "collect": collect.run,
    "prices": prices.run,
    "alerts": alerts.run,
    "memcached": memcached.run,
    "memkeys": memkeys.run,
    "cloud": cloud.run,
    "switches": switches.run,
}
STATUSES = "Exit status: 0 all measured and every bar holds, 1 a bar is missed, 2 something could not be measured."


def main() -> int:
    parser = argparse.ArgumentParser(prog="bin/bench", description=__doc__, epilog=STATUSES)
    parser.add_argument("name", choices=[*BENCHES, "all"])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    parser.add_argument("--quick", action="store_true", help="small and coarse: to try the bench, not for figures")
    chosen = parser.parse_args()
    reports, failures = _measured(list(BENCHES) if chosen.name == "all" else [chosen.name], chosen.quick)
    if chosen.json:
        write_json(chosen.json, reports, failures)
    if failures:
        return 2
    return int(any(row.holds is False for report in reports for row in report.rows))


def _measured(names: list[str], quick: bool) -> tuple[list[Report], dict[str, str]]:
    reports, failures = [], {}
    for name in names:
        try:
            reports.append(BENCHES[name](quick))
            sys.stdout.write(reports[-1].text() + "\n\n")
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"
            sys.stderr.write(f"bench {name} could not be measured: {failures[name]}\n")
    return reports, failures


if __name__ == "__main__":
    sys.exit(main())
