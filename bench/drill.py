"""`bin/drill NAME|all`: faults at their real lengths on the whole product with its demo fleet.

`bin/drill outbox` needs only a database: it is told by the pager's own book.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench import drills, paging, product
from bench.drills import REAL, SHORT, Drill, Lengths, Outcome
from bench.receivers import receivers

OUTBOX = "outbox"
DRILLS = drills.DRILLS | paging.DRILLS
STATUSES = "Exit status: 0 what must hold held in every drill, 1 it did not in one, 2 the product did not start."


def main() -> int:
    parser = argparse.ArgumentParser(prog="bin/drill", description=__doc__, epilog=STATUSES)
    parser.add_argument("name", choices=[*DRILLS, "all", OUTBOX])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes there, too")
    parser.add_argument("--short", action="store_true", help="short periods and faults, as the tests have them")
    chosen = parser.parse_args()
    if chosen.name == OUTBOX:
        # It sets up Django as no other process may meet it.
        rest = [word for word in sys.argv[1:] if word != OUTBOX]
        os.execv(sys.executable, [sys.executable, "-P", "-m", "bench.outbox", *rest])  # noqa: S606
    lengths = SHORT if chosen.short else REAL
    try:
        outcomes = run(list(DRILLS) if chosen.name == "all" else [chosen.name], lengths)
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if chosen.json:
        rows = [asdict(outcome) for outcome in outcomes]
        chosen.json.write_text(json.dumps({"short": chosen.short, "drills": rows}, indent=2) + "\n")
    return int(not all(outcome.held for outcome in outcomes))


def run(names: Sequence[str], lengths: Lengths) -> list[Outcome]:
    """Start the product once and run the drills one after the other, saying how each goes."""
    outcomes = []
    with receivers() as heard, product.started({**lengths.settings, **heard.settings()}) as running:
        for name in names:
            outcomes.append(drills.run(name, DRILLS[name], Drill(running, lengths, heard)))
            sys.stdout.write(sentence(outcomes[-1]) + "\n")
            sys.stdout.flush()
    return outcomes


def sentence(outcome: Outcome) -> str:
    verdict = "held" if outcome.held else f"DID NOT HOLD: {outcome.reason}"
    facts = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in outcome.facts.items())
    return f"{outcome.name}: {verdict} ({outcome.seconds:.0f} s; {facts})"


if __name__ == "__main__":
    sys.exit(main())
