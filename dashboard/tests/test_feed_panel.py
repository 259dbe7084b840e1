"""What the page of a project says of Cloud Monitoring."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors.cloud.feed import CloudFeed
from dashboard import feed_panel
from dashboard.feed_panel import FeedPanel
from dashboard.templatetags.units import grouped
from dashboard.tests.project_cast import project

pytestmark = pytest.mark.django_db
TYPE = "redis.googleapis.com/stats/memory/usage"


def panel(**fields: Any) -> FeedPanel:
    owner = project()
    CloudFeed.objects.create(project_id=owner.project_id, **fields)
    found = feed_panel.of(owner)
    assert found
    return found


def test_a_project_that_was_never_read_has_no_panel() -> None:
    assert feed_panel.of(project()) is None


def test_a_feed_waits_for_its_first_answer() -> None:
    assert panel().state == "waiting"


def test_a_feed_that_answers_works() -> None:
    assert panel(answered_at=timezone.now()).state == "ok"


def test_a_feed_that_fails_says_why() -> None:
    found = panel(answered_at=timezone.now(), cause="permission", words="monitoring.timeSeries.list")

    assert found.state == "failed"
    assert "monitoring.timeSeries.list" in found.sentences[0]


def test_types_that_failed_by_themselves_are_named() -> None:
    found = panel(answered_at=timezone.now(), troubles={TYPE: "one cell did not answer"})

    assert (found.state, found.sentences) == ("partial", [f"{TYPE}: one cell did not answer"])


def test_types_that_failed_in_passing_have_a_sentence() -> None:
    found = panel(answered_at=timezone.now(), troubles={TYPE: "slow"})

    assert found.sentences == [f"{TYPE}: The service did not answer in time. It is tried again."]


def test_types_that_vanished_and_new_ones_are_told() -> None:
    found = panel(answered_at=timezone.now(), vanished=[TYPE], unlisted=[f"new/{number}" for number in range(7)])

    assert found.sentences == [
        f"1 metric type vanished: {TYPE}",
        "7 metric types are new and not read yet: new/0, new/1, new/2, new/3, new/4, …",
    ]


def test_the_cost_is_shown_as_an_estimate() -> None:
    found = panel(answered_at=timezone.now(), round_series=1_000)

    months = grouped(43_200_000)
    assert found.price == f"about {months} series a month at this pace, by Google's list price 21.10 USD"


def test_there_is_no_price_before_the_first_round() -> None:
    assert panel().price == ""


def test_the_page_of_a_project_shows_it() -> None:
    owner = project()
    now = timezone.now()
    CloudFeed.objects.create(project_id=owner.project_id, answered_at=now, newest_at=now, month_series=1_234)

    html = client_of(Role.VIEWER).get(f"/projects/{owner.project_id}/").content.decode()

    assert 'id="feed-title">Cloud Monitoring' in html
    assert f"{grouped(1_234)} series came back this month" in html


def test_a_scoping_project_is_named() -> None:
    owner = project(metrics_project_id="observe-prod")
    CloudFeed.objects.create(project_id="observe-prod")

    html = client_of(Role.VIEWER).get(f"/projects/{owner.project_id}/").content.decode()

    assert "observe-prod" in html
