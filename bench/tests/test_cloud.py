"""The prepared answers of the bench of Cloud Monitoring, and what makes its figures count."""

import pytest
from google.cloud.monitoring_v3.types import ListTimeSeriesResponse

from bench.cloud import Scale, Spent, _describe
from bench.cloud_server import DELAY_SECONDS, TEMPLATE, Answers, collected, project_id
from bench.report import Report
from collectors.cloud import monitoring
from collectors.cloud.storing import moment

START, END = 1_790_000_040, 1_790_000_040 + 660
METRIC = collected(1)[0]


def answered(project: str) -> list[object]:
    question = monitoring.request(METRIC, project, moment(START), moment(END))
    raw = type(question).pb(question).SerializeToString()
    answer = Answers(1, 3).answer(raw, None)
    return list(ListTimeSeriesResponse.pb().FromString(answer).time_series)


def test_there_is_a_series_a_cache_of_the_project_that_is_asked() -> None:
    found = answered(project_id(7))

    assert [series.resource.labels["resource_container"] for series in found] == ["bench-project-07"] * 3  # type: ignore[attr-defined]


def test_points_come_newest_first_and_hidden_ones_not_at_all() -> None:
    ends = [point.interval.end_time.seconds for point in answered(TEMPLATE)[0].points]  # type: ignore[attr-defined]

    assert ends[0] == END - DELAY_SECONDS
    assert ends == sorted(ends, reverse=True)
    assert min(ends) > START


def test_all_names_of_projects_are_of_one_length() -> None:
    assert {len(project_id(number)) for number in range(50)} == {len(TEMPLATE)}


@pytest.mark.django_db
def test_a_round_that_stored_nothing_has_no_figures() -> None:
    with pytest.raises(RuntimeError, match="were told"):
        _describe(Report("cloud"), Scale(1, 1, 1, 1), Spent(1, 1, 1, 1))
