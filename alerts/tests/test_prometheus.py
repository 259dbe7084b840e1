"""Rules as Prometheus' own: promtool reads them, and finds on the same series what we find."""

import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from alerts import pack
from alerts.given_series import expanded
from alerts.prometheus import exported, untemplated
from alerts.prometheus_files import RULES_FILE, TESTS_FILE, Export
from alerts.prometheus_series import COUNTERS, DERIVED, EXPORTED, InexpressibleError
from alerts.prometheus_tests import compressed, promtool_test
from alerts.spec import Spec
from alerts.spec_form import read_spec
from collectors.metrics.lookup import DERIVED_BY_NAME
from conftest import needed_program


def spec(when: Any, key: str = "mine", **fields: Any) -> Spec:
    return read_spec({"rule": key, "when": when, **{name.rstrip("_"): value for name, value in fields.items()}})


def over(metric: str, warning: float = 10, **term: Any) -> dict[str, Any]:
    return {"metric": metric, "warning": warning, **term}


def expressions(*given: Any, **fields: Any) -> list[str]:
    return [rule["expr"] for rule in exported(spec(*given, **fields)).rules]


def promtool(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([needed_program("promtool"), *words], cwd=folder, capture_output=True, text=True, check=False)


def judged_by_promtool(folder: Path, specs: list[Spec]) -> Export:
    """Write rules and tests, and let promtool read the ones and run the others."""
    export = Export.of(specs)
    (folder / RULES_FILE).write_text(export.rules_text())
    (folder / TESTS_FILE).write_text(export.tests_text())
    for words in (("check", "rules", RULES_FILE), ("test", "rules", TESTS_FILE)):
        done = promtool(folder, *words)
        assert done.returncode == 0, done.stdout[:3000] + done.stderr[:3000]
    return export


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (over("used_memory"), "redis_memory_used_bytes{} > 10"),
        (over("used_memory", read="avg", over="5m"), "avg_over_time(redis_memory_used_bytes{}[300s]) > 10"),
        (over("latest_fork_usec"), "redis_latest_fork_seconds{} / 1e-06 > 10"),
        (over("keys"), "sum without (db) (redis_db_keys{}) > 10"),
        (over("down", 0), "1 - redis_up{} > 0"),
        (over("evicted_keys", read="rate", over="5m"), "rate(redis_evicted_keys_total{}[300s]) > 10"),
        (over("evicted_keys", read="increase", over="1m"), "increase(redis_evicted_keys_total{}[60s]) > 10"),
        (over("commands_per_second"), "rate(redis_commands_processed_total{}[1m]) > 10"),
        (
            over("commands_per_second", read="avg", over="5m"),
            "rate(redis_commands_processed_total{}[300s]) > 10",
        ),
        (
            over("commands_per_second", read="max", over="5m"),
            "max_over_time((rate(redis_commands_processed_total{}[1m]))[300s:15s]) > 10",
        ),
        (over("memory_used_ratio", 0.9), "(redis_memory_used_bytes{}) / (redis_memory_max_bytes{} > 0) > 0.9"),
        (
            over("blocked_clients", 0.5, read="share", over="5m", level=3),
            "avg_over_time((redis_blocked_clients{} > bool 3)[300s:15s]) > 0.5",
        ),
        (
            {"metric": "connected_slaves", "is": "<=", "warning": 1, "role": "primary"},
            'redis_connected_slaves{role="primary"} <= 1',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_writes_a_condition_in_promql(term: dict[str, Any], expected: str) -> None:
    assert expressions(term) == [expected]


@pytest.mark.parametrize(
    ("where", "selector"),
    [
        ({"cache": "game-live"}, 'cache="game-live"'),
        ({"cache": "game-*"}, 'cache=~"game\\\\-.*"'),
        ({"node": "10.0.?.1:6379"}, 'instance=~"10\\\\.0\\\\..\\\\.1:6379"'),
        ({"role": "replica", "shard": 2}, 'role="replica", shard="2"'),
        ({"cache": 'a"b'}, 'cache="a\\"b"'),
    ],
)
def test_places_become_labels(where: dict[str, Any], selector: str) -> None:
    assert expressions(over("used_memory"), where=where) == [f"redis_memory_used_bytes{{{selector}}} > 10"]


@pytest.mark.parametrize(
    ("judged", "across", "expected"),
    [
        ("cache", "min", "min by (cache) (redis_blocked_clients{}) > 10"),
        ("shard", "sum", "sum by (cache, shard) (redis_blocked_clients{}) > 10"),
        (
            "spread",
            "max",
            (
                "(max by (cache) (redis_blocked_clients{}) - min by (cache) (redis_blocked_clients{})"
                " and count by (cache) (redis_blocked_clients{}) > 1) > 10"
            ),
        ),
    ],
)
def test_nodes_are_brought_together(judged: str, across: str, expected: str) -> None:
    assert expressions(over("blocked_clients", across=across), judged=judged) == [expected]


def test_a_rule_with_two_levels_becomes_two() -> None:
    rules = exported(spec({"metric": "used_memory", "warning": 1, "critical": 2}, labels={"team": "game"})).rules

    assert [(rule["expr"][-1], rule["labels"]) for rule in rules] == [
        ("1", {"team": "game", "severity": "warning"}),
        ("2", {"team": "game", "severity": "critical"}),
    ]


def test_a_level_that_cannot_be_reached_is_left_out() -> None:
    terms = [{"metric": "used_memory", "warning": 1, "critical": 2}, over("blocked_clients", 5)]

    assert len(expressions({"all": terms})) == 1
    assert len(expressions({"any": terms})) == 2


def test_times_and_texts_come_along() -> None:
    (rule,) = exported(
        spec(over("used_memory"), for_="5m", keep_firing="1m", title="T", why="W", check="C", runbook="https://r")
    ).rules

    assert (rule["for"], rule["keep_firing_for"]) == ("300s", "60s")
    assert rule["annotations"] == {"summary": "T", "description": "W\nC", "runbook_url": "https://r"}


def test_a_text_is_no_template() -> None:
    assert untemplated("a {{ .Value }}") == 'a {{"{{"}} .Value }}'


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"when": over("used_memory"), "where": {"labels": {"env": "live"}}}, "labels of caches"),
        ({"when": over("memory_used_ratio", read="forecast", over="1h", level=1)}, "forecast"),
        ({"when": over("hit_ratio", read="deviation", over="10m")}, "week ago"),
        ({"when": over("errors.OOM")}, "counts by name"),
        ({"when": over("round_trip_seconds")}, "no series of round_trip_seconds"),
        ({"when": over("used_memory", read="rate", over="5m")}, "Only counters"),
        ({"when": over("used_memory", role="primary"), "where": {"role": "replica"}}, "both roles"),
        ({"when": over("used_memory"), "labels": {"no label": "x"}}, "“no label”"),
        ({"when": over("used_memory"), "gates": ["slabs"]}, "classes of chunks"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_it_cannot_say_has_a_reason(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InexpressibleError, match=words):
        exported(spec(**given))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"when": over("used_memory"), "calm": {"restart": "5m"}}, "calm"),
        ({"when": over("used_memory"), "no_data": "alert"}, "no_data"),
        ({"when": over("down", 0)}, "redis_up"),
        ({"when": over("evicted_keys", read="increase", over="1m")}, "extrapolates"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_differs_there_is_noted(given: dict[str, Any], words: str) -> None:
    (note,) = exported(spec(**given)).notes

    assert words in note


def test_every_derived_metric_is_known() -> None:
    assert set(DERIVED) == set(DERIVED_BY_NAME)
    assert COUNTERS <= set(EXPORTED)


def test_promtool_finds_what_we_find_on_the_default_pack(tmp_path: Path) -> None:
    export = judged_by_promtool(tmp_path, pack.specs())

    tests = yaml.safe_load((tmp_path / TESTS_FILE).read_text())["tests"]
    assert {test["name"] for test in tests} == {one.spec.key for one in export.done}
    assert len(export.done) >= 15
    assert len(export.done) + len(export.refused) == len(pack.PACK)


def test_promtool_finds_what_we_find_on_every_kind_of_rule(tmp_path: Path) -> None:
    metrics = [*DERIVED, "evicted_keys", "latest_fork_usec", "keys", "used_cpu_sys"]
    bounds = {name: 0.4 if "ratio" in name else 10.0 for name in metrics}
    specs = [spec(over(name, bounds[name]), key=f"last-{index}") for index, name in enumerate(metrics)]
    specs += [
        spec(over("blocked_clients", read=read, over="2m", **more), key=f"read-{read}")
        for read, more in (("avg", {}), ("min", {}), ("max", {}), ("share", {"level": 3, "warning": 0.5}))
    ]
    specs += [
        spec(over("used_memory"), key="globs", where={"cache": "game-*", "node": "10.0.?.1:6379", "shard": 2}),
        spec({"all": [over("used_memory"), over("blocked_clients", 3)]}, key="both", for_="1m"),
        spec({"any": [over("used_memory"), over("blocked_clients", 3)]}, key="either", keep_firing="1m"),
        spec(over("used_memory", across="sum"), key="cache-sum", judged="cache", labels={"team": "{{ game }}"}),
        spec(over("used_memory", across="min"), key="shard-min", judged="shard", title='100% {{full}} "now"'),
        spec(over("used_memory"), key="spread", judged="spread"),
        spec({"metric": "keys", "is": "<", "warning": 5}, key="under"),
    ]

    export = judged_by_promtool(tmp_path, specs)

    tests = yaml.safe_load((tmp_path / TESTS_FILE).read_text())["tests"]
    assert not export.refused
    assert {test["name"] for test in tests} >= {spec.key for spec in specs} - {"globs"}


def test_promtool_reads_every_metric_that_is_exported(tmp_path: Path) -> None:
    export = Export.of([spec(over(name), key=f"rule-{index}") for index, name in enumerate([*EXPORTED, *DERIVED])])

    (tmp_path / RULES_FILE).write_text(export.rules_text())

    assert not export.refused
    assert promtool(tmp_path, "check", "rules", RULES_FILE).returncode == 0


def test_promtool_would_notice_another_bound(tmp_path: Path) -> None:
    export = judged_by_promtool(tmp_path, [spec(over("used_memory"))])

    rules = export.rules_text().replace("> 10", "> 1000")
    (tmp_path / RULES_FILE).write_text(rules)

    assert promtool(tmp_path, "test", "rules", TESTS_FILE).returncode != 0


def test_a_rule_that_nothing_of_ours_fires_has_no_test() -> None:
    odd = spec({"all": [over("used_memory"), {"metric": "used_memory", "is": "<", "warning": 5}]})

    assert promtool_test(exported(odd)) is None


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [0.0, 2.5, 5.0, 5.0, 5.0], [3.0], [0.0] * 3 + [9.0] * 2])
def test_a_series_is_written_in_runs(values: list[float]) -> None:
    text = compressed(values)

    assert expanded(text) == pytest.approx(values)
    assert len(text.split()) <= 3


@pytest.mark.django_db
def test_the_command_writes_both_files_and_names_what_is_left_out(tmp_path: Path) -> None:
    pack.install()
    out = StringIO()

    call_command("rules", "export", "--prometheus", str(tmp_path / "new"), stdout=out)

    assert (tmp_path / "new" / RULES_FILE).read_text().startswith("# Rules of Shardwatch for Prometheus")
    assert yaml.safe_load((tmp_path / "new" / TESTS_FILE).read_text())["rule_files"] == [RULES_FILE]
    assert "  errors-oom: /metrics/fleet has no counts by name." in out.getvalue()
