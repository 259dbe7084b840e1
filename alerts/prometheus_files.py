"""Rules for Prometheus as files: the rules by area, what is left out and why, and tests for promtool."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from alerts.prometheus import Exported, exported
from alerts.prometheus_series import InexpressibleError
from alerts.prometheus_tests import promtool_test
from alerts.spec import Spec

RULES_FILE, TESTS_FILE = "shardwatch.rules.yml", "shardwatch.tests.yml"
# promtool judges all rules in every test: seldom is much faster, and as sure.
JUDGED_EVERY = "1m"
# What holds for every rule there.
DIFFERENCES = (
    "Rules of Shardwatch for Prometheus 2.42 or later, over the series of /metrics/fleet.",
    "Prometheus takes missing samples for recovery; exceptions for single caches are not in here.",
)


@dataclass(slots=True)
class Export:
    """The rules that Prometheus can judge, and why it cannot judge the others."""

    done: list[Exported] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, specs: Iterable[Spec]) -> "Export":
        made = cls()
        for spec in specs:
            try:
                made.done.append(exported(spec))
            except InexpressibleError as error:
                made.refused[spec.key] = str(error)
        return made

    def rules_text(self) -> str:
        """Return the file of rules; comments on top say what is not in it, or differs."""
        by_area: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for one in self.done:
            by_area[one.spec.area or "other"] += one.rules
        groups = [{"name": f"shardwatch-{area}", "rules": rules} for area, rules in by_area.items()]
        return "".join(f"# {line}\n" for line in self._remarks()) + _dumped({"groups": groups})

    def _remarks(self) -> Iterable[str]:
        yield from DIFFERENCES
        yield from (f"{one.spec.key}: {'; '.join(one.notes)}." for one in self.done if one.notes)
        yield from (f"Not here: {key}: {reason}" for key, reason in self.refused.items())

    def tests_text(self) -> str:
        """Return the tests; a rule for which we find no series that make it fire has none."""
        tests = [test for one in self.done if (test := promtool_test(one))]
        head = {"rule_files": [RULES_FILE], "evaluation_interval": JUDGED_EVERY, "tests": tests}
        return _dumped(head)


class _Plain(yaml.SafeDumper):
    """Writes what occurs twice in full: references are hard to read."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _dumped(content: Mapping[str, Any]) -> str:
    return yaml.dump(content, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=1_000)
