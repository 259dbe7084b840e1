"""Findings about Google Cloud projects: on the fleet page, over the API, and in the navigation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts.models import Incident
from collectors.cloud.models import CloudInstance, CloudProject, Decision
from collectors.tests.cast import cache_with_nodes
from dashboard.findings import Finding, State
from dashboard.findings.projects import of_projects
from dashboard.templatetags.alerts import to_do
from dashboard.tests.api import call
from dashboard.tests.project_cast import answered, instance, project
from dashboard.tests.test_every_page import text_of

pytestmark = pytest.mark.django_db
DENIED = "redis.instances.list"


def failing(cause: str = "permission", words: str = DENIED, minutes: float = 5, **told: Any) -> dict[str, Any]:
    """Return what is kept of an API that has failed for some minutes and answered an hour ago."""
    began = (timezone.now() - timedelta(minutes=minutes)).isoformat()
    before = (timezone.now() - timedelta(hours=1)).isoformat()
    return answered(cause, words, **{"failing_since": began, "ok_at": before} | told)


def said() -> list[Finding]:
    return of_projects(timezone.now())


def page(path: str = "/", role: str = Role.OPERATOR) -> str:
    return text_of(client_of(role).get(path).content.decode())


def test_a_project_that_answers_is_no_finding() -> None:
    project()

    assert said() == []


def test_a_listing_that_is_denied_is_told_with_project_api_time_and_what_to_do() -> None:
    denied = failing()
    project(state={"redis": denied, "valkey": answered()})

    (found,) = said()

    assert found.sentence.startswith("Project shop-prod: Memorystore for Redis not listed since ")
    assert denied["ok_at"][:10] in found.sentence
    assert f"lacks a permission: {DENIED}" in found.sentence
    assert "prints the commands that grant it" in found.sentence
    assert (found.state, found.figure, found.url) == (State.WARNING, "5 min", "/projects/shop-prod/")


def test_products_with_one_cause_are_one_finding() -> None:
    states = {"redis": failing(), "redis-cluster": failing(words="redis.clusters.list"), "valkey": failing("slow", "")}
    project(state=states)

    both, slow = sorted(said(), key=lambda finding: "in time" in finding.sentence)

    assert "Memorystore for Redis, Memorystore for Redis Cluster not listed" in both.sentence
    assert "redis.instances.list, redis.clusters.list" in both.sentence
    assert "Memorystore for Valkey" in slow.sentence


def test_what_never_answered_says_so() -> None:
    project(state={"redis": failing(ok_at=None)})

    assert "Memorystore for Redis could never be listed" in said()[0].sentence


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, {"minutes": 1}),
        ({"is_paused": True}, {}),
        ({"products": ["valkey"]}, {}),
    ],
    ids=["a look that failed by itself", "paused", "not asked for"],
)
def test_what_is_no_lasting_failure_is_no_finding(fields: dict[str, Any], told: dict[str, Any]) -> None:
    project(state={"redis": failing(**told)}, **fields)

    assert said() == []


def test_a_failure_ends_with_the_next_answer() -> None:
    project(state={"redis": failing()})
    assert said()

    CloudProject.objects.update(state={"redis": answered()})

    assert said() == []


@pytest.mark.parametrize(("count", "words"), [(1, "1 instance in project shop-prod waits"), (3, "3 instances in")])
def test_what_waits_for_approval_is_told_with_its_number(count: int, words: str) -> None:
    found = project()
    for number in range(count):
        instance(found, f"carts-{number}")

    (finding,) = said()

    assert finding.sentence.startswith(words)
    assert (finding.state, finding.figure, finding.project) == (State.NOTICE, str(count), "shop-prod")


@pytest.mark.parametrize(
    "change",
    [{"decision": Decision.IGNORED}, {"decision": Decision.APPROVED}, {"gone_at": timezone.now()}],
    ids=["ignored", "approved", "gone"],
)
def test_what_is_decided_on_waits_no_more(change: dict[str, Any]) -> None:
    instance(project())

    CloudInstance.objects.update(**change)

    assert said() == []


def test_products_that_were_unticked_ask_for_no_decision() -> None:
    instance(project(products=["valkey"]))

    assert said() == []


def test_it_asks_once_whatever_the_number_of_projects(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for number in range(5):
        instance(project(f"shop-prod-{number}", state={"redis": failing()}))

    with django_assert_num_queries(1):
        assert len(said()) == 10


# Where they are told


def test_the_fleet_page_tells_of_projects_and_leads_to_them() -> None:
    cache_with_nodes()
    instance(project(state={"redis": failing()}))

    html = client_of().get("/").content.decode()

    assert html.count('href="/projects/shop-prod/"') == 2
    assert text_of(html).index("not listed since") < text_of(html).index("waits for your approval")
    assert "Nothing needs attention" not in html


def test_without_caches_it_tells_what_waits_to_become_one() -> None:
    instance(project())

    assert "waits for your approval" in page()
    assert "No caches yet" in page()


def test_a_filter_of_caches_leaves_projects_out() -> None:
    cache_with_nodes()
    instance(project())

    assert "waits for your approval" not in page("/?q=game")


def test_a_refresh_brings_news_of_projects() -> None:
    cache_with_nodes()
    waits = instance(project())
    client = client_of()
    asked = client.get("/", headers={"HX-Request": "true"}).context["refresh_url"]
    assert client.get(f"/{asked}", headers={"HX-Request": "true"}).status_code == 204

    CloudInstance.objects.filter(pk=waits.pk).update(decision=Decision.IGNORED)

    assert client.get(f"/{asked}", headers={"HX-Request": "true"}).status_code == 200


def test_the_api_lists_them_by_project() -> None:
    instance(project(state={"redis": failing()}))

    serious = call(Role.VIEWER, "get", "/findings").json()["findings"]
    notices = call(Role.VIEWER, "get", "/findings?state=notice").json()["findings"]

    assert [(one["cache"], one["project"], one["state"]) for one in serious] == [("", "shop-prod", "warning")]
    assert [one["reason"] for one in notices] == ["waits for approval"]
    assert serious[0]["url"] == "http://testserver/projects/shop-prod/"


@pytest.mark.parametrize(("role", "is_told"), [(Role.OPERATOR, True), (Role.VIEWER, False)])
def test_the_navigation_counts_what_waits_for_those_who_decide(role: str, is_told: bool) -> None:
    found = project()
    instance(found, "carts")
    instance(found, "stock")

    html = client_of(role).get("/health/").content.decode()

    assert ('nav-note">2<span class="visually-hidden"> instances wait for approval' in html) is is_told


def test_the_navigation_counts_incidents_and_instances_at_once(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    instance(project())
    for subject in ("one", "two"):
        Incident.objects.create(subject=subject, title=subject, opened_at=timezone.now())

    with django_assert_num_queries(1):
        assert to_do() == {"incidents": 2, "instances": 1}
