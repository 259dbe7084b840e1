"""Reports in memory: many become few, and none that matters is lost."""

from dataclasses import replace

from switches.instance import HEARTBEAT
from switches.reports import Report, Reports, columns

STEP = HEARTBEAT.total_seconds()


def report(instance: str = "pod-1", **changes: object) -> Report:
    usual = Report(1, instance, "10.0.0.1", "8.2", 25, 3, 1, 0.5, "", is_behind=False)
    return replace(usual, **changes)  # type: ignore[arg-type]


def test_the_newest_of_an_instance_counts() -> None:
    reports = Reports()

    reports.add([report(age_seconds=1.0), report(age_seconds=2.0), report("pod-2")])

    assert [(one.instance, one.age_seconds) for one in reports.take(0.0)] == [("pod-1", 2.0), ("pod-2", 0.5)]


def test_a_worker_that_lags_makes_its_instance_lag() -> None:
    reports = Reports()

    reports.add([report(revision=2, is_behind=True), report()])

    assert [one.revision for one in reports.take(0.0)] == [2]


def test_the_same_again_is_written_once_in_a_while() -> None:
    reports, written = Reports(), []

    for second in range(21):
        reports.add([report(age_seconds=float(second))])
        written.append(len(reports.take(float(second))))

    assert [second for second, number in enumerate(written) if number] == [0, 10, 20]


def test_news_is_written_at_once() -> None:
    reports = Reports()
    told = [report(), report(revision=4), report(error="no route"), report(address="::1"), report(version="8.3")]

    for second, one in enumerate(told):
        reports.add([one])
        assert len(reports.take(float(second))) == 1


def test_another_text_of_an_error_is_no_news() -> None:
    reports = Reports()
    reports.add([report(error="timeout after 300 ms")])
    reports.take(0.0)

    reports.add([report(error="timeout after 301 ms")])

    assert reports.take(1.0) == []


def test_what_could_not_be_written_is_written_later() -> None:
    reports = Reports()
    reports.add([report(), report("pod-2")])

    reports.give_back(reports.take(0.0))
    reports.add([report(revision=5)])

    assert [(one.instance, one.revision) for one in reports.take(0.1)] == [("pod-1", 5), ("pod-2", 3)]


def test_they_come_in_one_order() -> None:
    reports = Reports()

    reports.add([report("b", switch_id=2), report("z"), report("a")])

    assert [one.place for one in reports.take(0.0)] == [(1, "a"), (1, "z"), (2, "b")]


def test_columns_hold_one_list_a_field() -> None:
    found = columns([report(), report("pod-2")])

    assert (len(found), found[1], found[9]) == (10, ["pod-1", "pod-2"], [False, False])


def test_a_thousand_pods_are_a_hundred_rows_a_second() -> None:
    reports, rows = Reports(), 0

    for second in range(10, 40):
        # Each pod says the same every five seconds, through all of its workers.
        reports.add([report(f"pod-{number}") for number in range(1_000) if number % 5 == second % 5] * 3)
        rows += len(reports.take(float(second)))

    assert rows <= 1_000 * 30 / STEP + 1_000
