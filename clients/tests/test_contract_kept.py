"""What clients keep and what they report: the tag, the files, one report with each answer."""

from pathlib import Path

import pytest

from alerts.tests.peers import Exchange, says
from clients.tests.cast import KEY, NEXT, START, ScriptedShardwatch, answers, row
from clients.tests.conftest import Starts

OFF = answers(can_use=False, percent=0, revision=2)
NOWHERE = Path("/dev/null/nowhere")


def not_modified(exchange: Exchange) -> None:
    exchange.reply(
        304 if "if-none-match" in exchange.headers else 200, {"switches": [row()], "epoch": 1}, {"ETag": '"1"'}
    )


def test_it_asks_with_its_tag_and_takes_not_modified_for_a_yes(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    shardwatch.then(not_modified)

    assert client.can_use(START)
    assert client.can_use(START + NEXT)

    assert shardwatch.polls[1].headers["if-none-match"] == '"1"'
    assert client.age(START + NEXT) == 0


def test_its_tag_outlives_a_restart_together_with_the_value(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(not_modified)
    first = start()
    first.can_use(START)
    first.stop()

    assert start().can_use(START + NEXT)

    assert shardwatch.polls[1].headers["if-none-match"] == '"1"'


def test_its_tag_stays_when_the_file_cannot_be_written(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start(directory=NOWHERE)
    shardwatch.then(OFF)

    assert not client.can_use(START)
    assert not client.can_use(START + NEXT)

    assert "if-none-match" not in shardwatch.polls[1].headers
    assert "cannot be written" in shardwatch.reports[-1]["error"]


def test_its_tag_stays_when_a_value_was_refused(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    client = start()
    shardwatch.then(answers(revision=7, etag='"7"'), answers(revision=6, etag='"6"'), OFF)

    for turn in range(3):
        client.can_use(START + NEXT * turn)

    assert "if-none-match" not in shardwatch.polls[2].headers


@pytest.mark.parametrize("damage", [b"", b"{}", b"0\n{}", b"\xff\xfe\n\n"], ids=["empty", "old", "sum", "bytes"])
def test_a_damaged_file_counts_as_absent(
    start: Starts, shardwatch: ScriptedShardwatch, tmp_path: Path, damage: bytes
) -> None:
    shardwatch.then(OFF)
    first = start(caches={KEY: "open"})
    first.can_use(START)
    first.stop()
    shardwatch.close()

    for path in (tmp_path / "kept").iterdir():
        path.write_bytes(damage)

    assert start(caches={KEY: "open"}).can_use(START + NEXT)


def test_a_file_that_says_yes_by_mistake_counts_as_absent(
    start: Starts, shardwatch: ScriptedShardwatch, tmp_path: Path
) -> None:
    shardwatch.then(OFF)
    first = start(caches={KEY: "closed"})
    first.can_use(START)
    first.stop()
    shardwatch.close()

    for path in (tmp_path / "kept").iterdir():
        path.write_bytes(path.read_bytes().replace(b"false", b"true"))

    assert not start(caches={KEY: "closed"}).can_use(START + NEXT)


def test_it_leaves_no_other_files_behind(start: Starts, shardwatch: ScriptedShardwatch, tmp_path: Path) -> None:
    client = start()
    shardwatch.then(*[answers(revision=number) for number in range(1, 6)])

    for turn in range(5):
        client.can_use(START + NEXT * turn)

    names = {path.name.split(".")[0] for path in (tmp_path / "kept").iterdir()}
    assert names <= {"switches", "pulse", "turn"}
    assert len(list((tmp_path / "kept").iterdir())) == len(names)


def test_it_reports_what_it_applied(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    shardwatch.then(answers(revision=7, epoch=2))

    start().can_use(START)

    [report] = shardwatch.reports
    assert (report["key"], report["instance"], report["address"]) == (KEY, "web1", "10.0.0.5")
    assert (report["revision"], report["epoch"], report["age_seconds"], report["error"]) == (7, 2, 0, "")


@pytest.mark.parametrize(("workers", "told"), [(4, 4), (0, "nothing")])
def test_it_reports_how_many_processes_it_is_where_that_is_known(
    start: Starts, shardwatch: ScriptedShardwatch, workers: int, told: object
) -> None:
    start(workers=workers).can_use(START)

    assert shardwatch.reports[0].get("workers", "nothing") == told


def test_it_reports_loopback_as_no_address(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    start(address="").can_use(START)

    assert shardwatch.reports[0]["address"] == ""


def test_it_reports_with_every_answer_and_tells_of_trouble_before(
    start: Starts, shardwatch: ScriptedShardwatch
) -> None:
    client = start()
    shardwatch.then(answers(), says(500), answers())

    for turn in range(3):
        client.can_use(START + NEXT * turn)

    assert [report["error"] for report in shardwatch.reports] == ["", "answered 500"]


def test_it_reports_how_old_a_stale_answer_is(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    stale = says(200, {"switches": [row()], "epoch": 1}, X_Shardwatch_Stale="40")
    shardwatch.then(stale)

    start().can_use(START)

    assert shardwatch.reports[0]["age_seconds"] == 40


def test_it_reports_a_switch_that_shardwatch_does_not_know(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    start(caches={KEY: "open", "typo": "open"}).can_use(START)

    assert [report["revision"] for report in shardwatch.reports] == [1, 0]
    assert "typo" in shardwatch.reports[1]["error"]


def test_a_refused_report_changes_nothing(start: Starts, shardwatch: ScriptedShardwatch) -> None:
    def refuses_reports(exchange: Exchange) -> None:
        (says(500) if exchange.line.startswith("POST") else OFF)(exchange)

    shardwatch.service.script = refuses_reports

    assert not start().can_use(START)
