"""What the processes of PHP share: one question at a time, a full APCu, none, and a reload of php-fpm."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alerts.tests.peers import says
from clients.tests.cast import ScriptedShardwatch, Wishes, answers
from clients.tests.fpm import Fpm
from clients.tests.scripts import BOOTSTRAP, RunPhp
from conftest import needed_program

OFF = answers(can_use=False, percent=0, revision=2)

FORKS = """
    $clock = new Clock();
    $children = [];
    for ($number = 0; $number < 8; $number++) {
        if (($children[] = pcntl_fork()) === 0) {
            show(switches('closed', $clock(...))->canUse('user-cache'));
            exit(0);
        }
    }
    foreach ($children as $child) { pcntl_waitpid($child, $status); }
"""


@pytest.mark.parametrize("setting", ["apc.enabled=1", "apc.enabled=0"], ids=["apcu", "files"])
def test_one_process_asks_and_the_others_wait_for_it(
    run_php: RunPhp, shardwatch: ScriptedShardwatch, setting: str
) -> None:
    shown = run_php(FORKS, setting)

    assert shown == [True] * 8
    assert len(shardwatch.polls) == 1


def test_the_others_go_on_with_the_last_value_while_one_asks(run_php: RunPhp, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(answers(), OFF)

    shown = run_php(
        """
        $clock = new Clock();
        [$one, $other] = [switches(clock: $clock(...)), switches(clock: $clock(...))];
        $one->canUse('user-cache');
        $other->canUse('user-cache');
        $clock->now += 6.1;
        $place = options()->place;
        $memory = new Shardwatch\\ApcuMemory(new Shardwatch\\FileMemory(getenv('KEPT'), $place), $place);
        show($memory->takeTurn($clock->now)); show($memory->takeTurn($clock->now)); show($other->canUse('user-cache'));
        $clock->now += 1.1;
        show($other->canUse('user-cache'));
        """
    )

    assert shown == [True, False, True, False]


def test_another_process_reads_what_one_has_learned(run_php: RunPhp, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(OFF)

    shown = run_php(
        """
        $clock = new Clock();
        switches(clock: $clock(...))->canUse('user-cache');
        show(switches(clock: $clock(...))->canUse('user-cache'));
        """
    )

    assert shown == [False]
    assert len(shardwatch.polls) == 1


def test_a_full_apcu_loses_nothing_and_asks_no_more_often(run_php: RunPhp, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(OFF)

    shown = run_php(
        """
        $clock = new Clock();
        switches(clock: $clock(...))->canUse('user-cache');
        for ($turn = 0; $turn < 40; $turn++) {
            for ($number = 0; $number < 30; $number++) { apcu_store("junk$turn.$number", str_repeat('x', 100_000)); }
            $answers[] = switches(clock: $clock(...))->canUse('user-cache');
        }
        show(array_unique($answers)); show(apcu_cache_info()['expunges'] > 5);
        """,
        "apc.shm_size=2M",
    )

    assert shown == [[False], True]
    assert len(shardwatch.polls) == 1


def test_a_value_that_apcu_cannot_take_keeps_its_tag_back(run_php: RunPhp, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(answers(endpoint={"host": "x" * 600_000, "port": 1}))

    code = "$switches = switches(); show($switches->canUse('user-cache')); show($switches->lastError());"

    shown = run_php(code, "apc.shm_size=1M", "apc.entries_hint=65536")

    assert shown == [True, "APCu has no room"]


def test_requests_without_apcu_share_the_time_to_ask_again(run_php: RunPhp, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(says(500))

    for _ in range(3):
        code = "show(switches('closed', (new Clock())(...))->canUse('user-cache'));"
        assert run_php(code, "apc.enabled=0") == [False]

    assert len(shardwatch.polls) == 1


def test_applications_on_one_host_do_not_read_each_other(run_php: RunPhp, shardwatch: ScriptedShardwatch) -> None:
    shown = run_php(
        """
        $names = [['u', 'i', 'd'], ['v', 'i', 'd'], ['u', 'j', 'd'], ['u', 'i', 'e']];
        foreach ($names as [$url, $instance, $directory]) {
            $places[] = (new Shardwatch\\Options($url, 'k', ['a' => 'open'], $directory, $instance))->place;
        }
        show(count(array_unique($places)));
        """
    )

    assert shown == [4]


@pytest.mark.parametrize("caches", ["'Upper' => 'open'", "'a/b' => 'open'", "'a' => 'maybe'", "\"a\\n\" => 'open'"])
def test_odd_options_are_refused_at_once(run_php: RunPhp, caches: str) -> None:
    made = f"new Shardwatch\\Options('u', 'k', [{caches}], 'd');"

    shown = run_php(f"try {{ {made} }} catch (InvalidArgumentException) {{ show('refused'); }}")

    assert shown == ["refused"]


@pytest.fixture
def fpm(php: str, wishes: Wishes, short_path: Path) -> Iterator[Fpm]:
    script = short_path / "page.php"
    page = "show([switches(clock: (new Clock())(...))->canUse('user-cache'), getmypid()]);"
    script.write_text(f"<?php require '{BOOTSTRAP}'; {page}")
    environment = {"SHARDWATCH": wishes.url, "KEPT": str(wishes.directory)}
    server = Fpm.start(needed_program("php-fpm"), short_path, script, environment)
    yield server
    server.stop()


def test_all_workers_of_php_fpm_share_one_question(fpm: Fpm, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(OFF)

    answered = [fpm.get() for _ in range(20)]

    assert {can_use for can_use, _ in answered} == {False}
    assert len(shardwatch.polls) == 1


def test_php_fpm_reports_its_workers(fpm: Fpm, shardwatch: ScriptedShardwatch) -> None:
    fpm.get()

    assert [report["workers"] for report in shardwatch.reports] == [2]


def test_a_reload_of_php_fpm_during_an_outage_changes_nothing(fpm: Fpm, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(OFF)
    _, before = fpm.get()
    shardwatch.close()

    fpm.reload(before)

    can_use, after = fpm.get()
    assert can_use is False
    assert after != before
