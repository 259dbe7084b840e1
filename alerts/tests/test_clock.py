"""The state machine of one condition: the table row by row, and Prometheus itself as the judge."""

import random
import subprocess
from pathlib import Path

import pytest

from alerts.clock import AT_REST, Clock, Phase, step
from conftest import needed_program

SERIES, TICKS, MINUTE = 120, 20, 60


def run(conditions: str, hold: int = 0, keep: int = 0, every: int = MINUTE) -> list[Phase]:
    """Return the phases after each tick of a row of `1` (true), `0` (false) and `_` (not to be judged)."""
    clock, phases = AT_REST, []
    for index, condition in enumerate(conditions):
        clock = step(clock, {"1": True, "0": False, "_": None}[condition], index * every, hold, keep)
        phases.append(clock.phase)
    return phases


def initials(phases: list[Phase]) -> str:
    return "".join(phase[0] for phase in phases)


def test_nothing_begins_where_it_may_not_and_what_waits_waits_anew() -> None:
    waiting, firing = Clock(active_at=0), Clock(active_at=0, fired_at=0)

    after = [step(one, True, 60, hold=60, keep=0, may_begin=False) for one in (AT_REST, waiting, firing)]

    assert after == [AT_REST, AT_REST, firing]


@pytest.mark.parametrize("is_true", [False, None])
def test_what_fires_goes_on_where_nothing_may_begin(is_true: bool | None) -> None:
    firing = Clock(active_at=0, fired_at=0)

    assert step(firing, is_true, 60, 0, 60, may_begin=False) == step(firing, is_true, 60, 0, 60)


@pytest.mark.parametrize(
    ("conditions", "hold", "keep", "expected"),
    [
        ("01", 0, 0, "if"),
        ("0111", 120, 0, "ippf"),
        ("0110", 120, 0, "ippi"),
        ("010101", 120, 0, "ipipip"),
        ("10", 0, 0, "fi"),
        ("1000", 0, 120, "frri"),
        ("100100", 0, 120, "frrfrr"),
        ("10000", 0, 180, "frrri"),
        ("1101110", 60, 0, "pfipffi"),
        # A `for` shorter than the interval fires at the second tick, not between two.
        ("11", 30, 0, "pf"),
        ("1", 1, 0, "p"),
        # What cannot be judged keeps what was known.
        ("1__1", 180, 0, "pppf"),
        ("1_____", 0, 60, "ffffff"),
        ("10_0", 0, 120, "frri"),
        ("___", 0, 0, "iii"),
        ("_1", 0, 0, "if"),
    ],
)
def test_it_goes_by_the_table(conditions: str, hold: int, keep: int, expected: str) -> None:
    assert initials(run(conditions, hold, keep)) == expected


def test_a_raised_for_sends_a_firing_alert_back_to_pending() -> None:
    firing = step(AT_REST, True, 0, 0, 0)

    waiting = step(firing, True, 60, 300, 0)

    assert (waiting.phase, waiting.active_at) == (Phase.PENDING, 0)
    assert step(waiting, True, 300, 300, 0).fired_at == 300


def test_a_new_episode_waits_its_full_time_again() -> None:
    assert initials(run("11011", hold=60)) == "pfipf"


def test_it_remembers_when_it_fired_first() -> None:
    clock = step(step(AT_REST, True, 0, 0, 0), True, 60, 0, 0)

    assert clock == Clock(active_at=0, fired_at=0)


def test_recovery_that_breaks_off_forgets_its_start() -> None:
    clock = AT_REST
    for tick, is_true in enumerate((True, False, True)):
        clock = step(clock, is_true, tick * MINUTE, 0, 600)

    assert clock == Clock(active_at=0, fired_at=0)


@pytest.mark.parametrize("is_true", [True, False])
def test_the_same_tick_twice_changes_nothing_twice(is_true: bool) -> None:
    clock = step(step(AT_REST, True, 0, 60, 120), True, 60, 60, 120)

    once = step(clock, is_true, 120, 60, 120)

    assert step(once, is_true, 120, 60, 120) == once


def seeded_series() -> list[str]:
    """Return rows of ticks whose runs meet holds of minutes in some and not in others."""
    dice = random.Random(20)
    shares = [dice.choice((0.3, 0.6, 0.9)) for _ in range(SERIES)]
    return ["".join("1" if dice.random() < share else "0" for _ in range(TICKS)) for share in shares]


def oracle_test(folder: Path, rows: list[str], hold: int, keep: int) -> Path:
    """Write a rule for Prometheus and a test for promtool in which our phases are what it must find."""
    rule = f"{{alert: A, expr: 'm > 0.5', for: {hold}s, keep_firing_for: {keep}s}}"
    (folder / "rules.yml").write_text(f"groups: [{{name: g, rules: [{rule}]}}]\n")
    series = "\n".join(f"  - {{series: 'm{{i=\"{i}\"}}', values: '{' '.join(row)}'}}" for i, row in enumerate(rows))
    judged = [run(row, hold, keep) for row in rows]
    checks = "\n".join(_check(tick, [phases[tick] for phases in judged]) for tick in range(TICKS))
    test = folder / "test.yml"
    test.write_text(
        f"rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n{series}\n"
        f"  promql_expr_test:\n{checks}\n"
    )
    return test


def _check(tick: int, phases: list[Phase]) -> str:
    shown = {Phase.PENDING: "pending", Phase.FIRING: "firing", Phase.RECOVERING: "firing"}
    samples = "".join(
        f'\n    - {{labels: \'ALERTS{{alertname="A",alertstate="{shown[phase]}",i="{i}"}}\', value: 1}}'
        for i, phase in enumerate(phases)
        if phase in shown
    )
    return f"  - expr: ALERTS\n    eval_time: {tick}m\n    exp_samples: {samples or '[]'}"


@pytest.mark.parametrize("keep", [0, 60, 150])
@pytest.mark.parametrize("hold", [0, 60, 90, 180])
def test_prometheus_agrees(hold: int, keep: int, tmp_path: Path) -> None:
    test = oracle_test(tmp_path, seeded_series(), hold, keep)

    judged = subprocess.run(
        [needed_program("promtool"), "test", "rules", str(test)], capture_output=True, text=True, check=False
    )

    assert judged.returncode == 0, judged.stdout[:2000] + judged.stderr[:2000]
