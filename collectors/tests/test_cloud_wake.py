"""How soon figures are read: of what is new, and after the service was away. Against the emulator, at the real time."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from collectors import tasks
from collectors.cloud import collecting, discovery
from collectors.cloud.feed import CloudFeed
from collectors.cloud.models import Approve, CloudProject
from collectors.cloud.products import Product
from collectors.tests.cloud_cast import ID, NOON, PROJECT, REGION, USED, Stage, instance, stage, stored
from collectors.tests.discovery_cast import Estate
from config.celery import CHORES
from fleet.models import Cache, Reach
from launcher.waiting import until

__all__ = ("stage",)
pytestmark = pytest.mark.django_db
LOOKS = ("collectors.tasks.discover_cloud", "collectors.tasks.read_cloud_monitoring")


@pytest.fixture
def present(stage: Stage, settings: Settings) -> Stage:
    """A stage at the present time, which discovery reads from the clock; its project is not added yet."""
    settings.CLOUD_RETRY_SECONDS = 0.05
    stage.now = timezone.now().replace(second=0, microsecond=0)
    return stage


def found(stage: Stage, short_id: str = ID) -> None:
    """Have an instance with a figure in the emulated project."""
    name = f"projects/{PROJECT}/locations/{REGION}/instances/{short_id}"
    Estate(stage.emulator).add(Product.REDIS, name=name)
    stage.add(USED, [100], short_id=short_id)


def added(stage: Stage, **fields: Any) -> CloudProject:
    return stage.project(products=["redis"], **{"approve": Approve.ALL, "reach": Reach.SERVICE} | fields)


def look(project: CloudProject) -> bool:
    """Look into the project; return whether its service answered."""
    assert discovery.discover(project.pk, is_asked=True)
    return bool(CloudProject.objects.get(pk=project.pk).state["redis"]["ok"])


def read_due() -> int:
    """Read the feeds that are due at this moment; return how many those are."""
    due = collecting.due(timezone.now())
    for feed_id in due:
        collecting.read(feed_id, timezone.now())
    return len(due)


@pytest.mark.parametrize(
    ("second", "due"), [(0, 60), (1, 60), (59.9, 60), (60, 120)], ids=["on time", "late", "very late", "next"]
)
def test_figures_are_due_once_a_minute_as_soon_as_it_has_begun(second: float, due: float) -> None:
    assert collecting.next_turn(NOON + timedelta(seconds=second)) == NOON + timedelta(seconds=due)


def test_a_feed_is_not_read_twice_in_a_minute(stage: Stage) -> None:
    instance(stage.project())
    stage.read()

    def is_due(seconds: float) -> bool:
        return bool(collecting.due(NOON + timedelta(seconds=seconds)))

    assert [is_due(0), is_due(15), is_due(59), is_due(60)] == [False, False, False, True]


def test_an_interval_of_minutes_is_kept(stage: Stage, settings: Settings) -> None:
    settings.CLOUD_INTERVAL_SECONDS = 300
    instance(stage.project())

    assert stage.read().due_at == NOON + timedelta(minutes=5)


# From a new project to its first chart


def longest_wait() -> float:
    """Return for how long something that is due at once waits for the next look, by the table of beat."""
    seconds = {task: period for task, period, _queue in CHORES}
    return max(seconds[task] for task in LOOKS)


def test_from_a_project_to_its_first_chart_it_takes_less_than_a_minute(settings: Settings) -> None:
    # The look that finds the project, its listing, and the figures that are read right after it.
    slowest = longest_wait() + 2 * settings.CLOUD_CALL_TIMEOUT_SECONDS

    assert slowest < 60


def test_a_new_project_is_looked_into_at_the_next_look(present: Stage) -> None:
    project = added(present)

    assert discovery.due() == [project.pk]


def test_what_a_new_project_has_is_read_right_after_it_was_found(present: Stage) -> None:
    found(present)
    project = added(present)
    # Beat looked for figures between the two: there is nothing to be read yet, not before the next minute.
    read_due()

    look(project)

    assert read_due() == 1
    assert stored("service_used_memory") == [100]
    assert Cache.objects.get().reach == Reach.SERVICE


def test_a_new_instance_is_read_right_after_it_was_found(present: Stage) -> None:
    found(present)
    project = added(present)
    look(project)
    read_due()
    found(present, "baskets")

    look(project)

    assert read_due() == 1
    assert stored("service_used_memory") == [100, 100]


def test_what_waits_for_approval_has_its_chart_when_it_is_approved(present: Stage) -> None:
    found(present)
    look(added(present, approve=Approve.ASK))
    read_due()

    assert not Cache.objects.exists()
    assert stored("service_used_memory") == [100]


def test_a_look_that_finds_nothing_new_reads_nothing(present: Stage) -> None:
    found(present)
    project = added(present)
    look(project)
    read_due()

    look(project)

    assert read_due() == 0


def test_a_look_sends_for_what_it_made_due(present: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int]] = []
    monkeypatch.setattr(tasks.read_cloud_feed, "apply_async", lambda ids, **_named: sent.append(ids))
    found(present)

    tasks.discover_project(added(present).pk)

    assert sent == [(CloudFeed.objects.get().pk,)]


def test_what_is_found_while_figures_are_read_is_not_forgotten(present: Stage) -> None:
    found(present)
    project = added(present)
    (feed_id,) = collecting.due(timezone.now())
    reading = CloudFeed.claim(feed_id, timezone.now())
    assert reading

    reading.due_at = collecting.next_turn(timezone.now())
    look(project)
    reading.release(timezone.now())

    assert CloudFeed.objects.get().due_at <= timezone.now()


# After the service was away


def failing(minutes: float, **fields: Any) -> datetime:
    """Have the feed be left alone for so long after failures; return until when."""
    until_then = timezone.now() + timedelta(minutes=minutes)
    CloudFeed.objects.update(failures=9, due_at=until_then, **{"cause": "unreachable"} | fields)
    return until_then


def test_plugged_in_again_it_is_read_with_the_first_listing_that_succeeds(present: Stage) -> None:
    found(present)
    project = added(present)
    look(project)
    read_due()
    present.emulator.stop()
    CloudFeed.objects.update(due_at=timezone.now())
    read_due()
    assert not look(project)
    failing(15, cause=CloudFeed.objects.get().cause)
    assert read_due() == 0

    present.emulator.start()
    assert until(lambda: look(project), 20)

    assert read_due() == 1
    assert (CloudFeed.objects.get().cause, CloudFeed.objects.get().failures) == ("", 0)


def test_a_listing_that_fails_too_wakes_nobody(present: Stage) -> None:
    project = added(present)
    collecting.due(timezone.now())
    later = failing(15)
    present.emulator.faults.deny("CloudRedis/ListInstances")

    look(project)

    assert CloudFeed.objects.get().due_at == later


def test_a_quota_that_is_used_up_is_left_alone_whatever_is_listed(present: Stage) -> None:
    found(present)
    project = added(present)
    collecting.due(timezone.now())
    later = failing(15, cause="quota")

    look(project)

    assert CloudFeed.objects.get().due_at == later


def test_a_scoping_project_is_woken_for_those_that_it_answers_for(present: Stage) -> None:
    project = added(present, metrics_project_id="observe-prod")
    collecting.due(timezone.now())
    failing(15)

    look(project)

    assert CloudFeed.objects.get().due_at <= timezone.now()
