"""Missing data of Cloud Monitoring in the past, as rules that are tried would have met it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts import past_silence, trial
from alerts.past_silence import either, gaps, is_silent
from alerts.rule_changes import as_yaml
from alerts.spec_form import read_spec
from alerts.trial import Trial
from collectors.cloud import rollups
from collectors.cloud.feed import CloudFeed
from collectors.cloud.models import CloudInstance, CloudProject
from collectors.past_windows import Grid
from collectors.tests.cloud_cast import PROJECT, instance, minutes

pytestmark = pytest.mark.django_db
SILENT: dict[str, Any] = {
    "rule": "silent",
    "when": {"metric": "service_uptime_seconds", "is": "<", "critical": 0},
    "judged": "cache",
    "for": "10m",
    "no_data": "alert",
}
GRID = Grid(0, 300, 6)


@pytest.fixture
def now(settings: Settings) -> datetime:
    """A whole hour that has just passed, before which rollups are made."""
    settings.RETENTION_RAW_DAYS = settings.RETENTION_5M_DAYS = 36_500
    return timezone.now().replace(minute=0, second=0, microsecond=0)


def seen(name: str, now: datetime, silence: tuple[int, int] | None = None, project: str = PROJECT) -> CloudInstance:
    """Return an instance told of in the last four hours, but for minutes before now from and to."""
    CloudFeed.objects.get_or_create(project_id=project, defaults={"answered_at": now})
    owner = instance(CloudProject.objects.get_or_create(project_id=project)[0], short_id=name, uid=name)
    told: list[float | None] = [100.0] * 240
    if silence:
        told[240 - silence[0] : 240 - silence[1]] = [None] * (silence[0] - silence[1])
    for start in range(0, 240, 60):
        part = told[start : start + 60]
        if any(part):
            keep(owner, now - timedelta(minutes=240 - start), part)
    return owner


def keep(owner: CloudInstance, start: datetime, told: list[float | None]) -> None:
    """Store what is told; of a minute without anything there is no row."""
    run: list[float | None] = []
    for index, value in enumerate([*told, None]):
        if value is not None:
            run.append(value)
        elif run:
            minutes(owner, end=start + timedelta(minutes=index), uptime_seconds=run)
            run = []


def tried(now: datetime, **changes: Any) -> Trial:
    return trial.run(read_spec(SILENT | changes), now, timedelta(hours=4))


def fired(found: Trial) -> list[tuple[str, int]]:
    """Return which caches would have fired, and how many minutes before the end."""
    return [
        (episode.alert.cache_name, round((found.end - (episode.fired_at or found.end)) / timedelta(minutes=1)))
        for episode in found.fired
    ]


def test_a_silence_that_others_were_told_through_would_have_fired(now: datetime) -> None:
    seen("sessions", now, silence=(120, 60))
    seen("baskets", now)

    found = tried(now)

    assert [name for name, _minutes in fired(found)] == ["sessions-redis"]
    assert 100 <= fired(found)[0][1] <= 110
    assert found.fired[0].ended_at


def test_it_is_known_from_rollups_as_well(now: datetime) -> None:
    seen("sessions", now, silence=(120, 60))
    seen("baskets", now)
    before = fired(tried(now))

    rollups.roll_up(timezone.now() + timedelta(hours=1))

    assert fired(tried(now)) == before


def test_a_silence_of_all_is_evidence_of_nothing(now: datetime) -> None:
    seen("sessions", now, silence=(120, 60))
    seen("baskets", now, silence=(120, 60))

    assert fired(tried(now)) == []


def test_a_cache_that_is_alone_in_its_project_stays_unknown(now: datetime) -> None:
    seen("sessions", now, silence=(120, 60))
    seen("baskets", now, project="shop-prod-2")

    found = tried(now)

    assert fired(found) == []
    assert found.unknown_share


def test_a_node_is_silent_where_others_of_its_cache_are_told_of(now: datetime) -> None:
    owner = seen("sessions", now)
    for start, count in ((240, 180), (20, 20)):
        told = [100.0] * count
        minutes(owner, node="node-1", end=now - timedelta(minutes=start - count), uptime_seconds=told)

    found = tried(now, judged="node", **{"for": "1s"})

    assert [episode.alert.node_address for episode in found.fired] == ["node-1"]


def test_a_witness_need_not_be_looked_at_by_the_rule(now: datetime) -> None:
    seen("sessions", now, silence=(120, 60))
    seen("baskets", now)

    assert len(fired(tried(now, where={"cache": "sessions-redis"}))) == 1


def test_points_that_are_only_hidden_are_no_silence(now: datetime) -> None:
    seen("sessions", now, silence=(70, 62))
    seen("baskets", now)

    assert fired(tried(now, **{"for": "1s"})) == []


@pytest.mark.parametrize("no_data", ["keep", "ok"])
def test_a_rule_that_makes_nothing_of_silence_does_not_fire(now: datetime, no_data: str) -> None:
    seen("sessions", now, silence=(120, 60))
    seen("baskets", now)

    assert fired(tried(now, no_data=no_data)) == []


@pytest.mark.parametrize(("no_data", "judges"), [("keep", False), ("ok", True), ("alert", True)])
def test_a_trial_says_whether_silence_matters(now: datetime, no_data: str, judges: bool) -> None:
    assert tried(now, no_data=no_data).judges_silence is judges


def test_rules_on_nodes_ask_for_no_silence_of_the_service(now: datetime) -> None:
    when = {"metric": "memory_used_ratio", "critical": 0.9}

    assert not tried(now, when=when).judges_silence


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([True] * 6, [0] * 6),
        ([False, True, False, False, False, True], [None, 0, 300, 600, 900, 0]),
        ([], [None] * 6),
    ],
    ids=str,
)
def test_gaps_are_counted_from_what_was_told_last(told: list[bool], expected: list[int | None]) -> None:
    assert gaps(told, GRID) == expected


def test_either_takes_what_any_of_them_told() -> None:
    none = [False] * 6

    assert either([[True, *none[1:]], [], [*none[1:], True]], GRID) == [True, False, False, False, False, True]
    assert either([], GRID) == none


@pytest.mark.parametrize(
    ("own", "of_cache", "answers", "expected"),
    [
        (600, 600, True, True),
        (300, 300, True, False),
        (600, 600, False, False),
        (None, 0, True, False),
        (900, 0, True, True),
        (1_800, 0, True, False),
        (1_800, 1_800, True, True),
    ],
    ids=[
        "longer than points are hidden",
        "hidden",
        "the service does not answer",
        "never told of",
        "one node of several",
        "a node that left",
        "the whole cache",
    ],
)
def test_silence_is_what_evaluation_calls_so(
    own: int | None, of_cache: int | None, answers: bool, expected: bool
) -> None:
    assert is_silent(own, of_cache, answers) is expected


def test_many_caches_of_a_project_have_a_few_witnesses(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def known_places(ids: list[int], _grid: Grid) -> dict[int, list[bool]]:
        asked.extend(ids)
        return {}

    monkeypatch.setattr(past_silence, "known_places", known_places)
    for number in range(9):
        seen(f"cache-{number}", now)

    tried(now, where={"cache": "cache-8-redis"})

    assert len(set(asked)) == past_silence.WITNESSES + 1


@pytest.mark.parametrize(("no_data", "says"), [("alert", True), ("keep", False)])
def test_the_page_of_a_trial_says_where_missing_data_is_known(now: datetime, no_data: str, says: bool) -> None:
    seen("sessions", now)

    answer = client_of(Role.OPERATOR).post("/rules/new/try/", {"yaml": as_yaml(SILENT | {"no_data": no_data})})

    assert ("Missing data is known only where" in answer.content.decode()) is says
