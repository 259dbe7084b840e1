"""A cache is never called better than the worst alert that fires on it; where it is, words say why."""

from dataclasses import replace

import pytest
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts.alert import Alert
from alerts.reason import Reason
from alerts.tests.judged import EVERY, Fleet, fleet, rule
from dashboard import alarms, findings, overview
from dashboard.alarms import Alarm
from dashboard.findings import State
from dashboard.findings.alarms import firing as told
from dashboard.findings.alarms import recovering
from dashboard.overview import Row
from dashboard.tests.api import call
from dashboard.tests.cast import LONG_AGO, failing, member, summary, watched
from dashboard.watched import Watched

FULL = Alarm("Memory near its limit", is_critical=True, is_recovering=False, count=2)
BUSY = Alarm("Main thread busy", is_critical=False, is_recovering=False, count=1)


def alarmed(*found: Alarm) -> Watched:
    return replace(watched(member(1), latest=summary(nodes=1, answering=1, primaries=1, replicas=0)), alarms=found)


def health(seen: Watched) -> str:
    return Row(seen.cache, seen.latest, findings.of(seen)).health


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((), "ok"),
        ((BUSY,), "warning"),
        ((FULL,), "critical"),
        ((BUSY, FULL), "critical"),
        ((replace(FULL, is_recovering=True),), "ok"),
        ((replace(FULL, is_recovering=True), BUSY), "warning"),
    ],
)
def test_health_is_as_bad_as_the_worst_alert_that_fires(found: tuple[Alarm, ...], expected: str) -> None:
    assert health(alarmed(*found)) == expected


def test_it_names_the_worst_and_leads_to_the_list() -> None:
    found = told(alarmed(BUSY, FULL, replace(FULL, title="Node down", count=1)))

    assert found
    assert found.sentence == "game-cache: 3 critical alerts fire: Memory near its limit, Node down"
    assert (found.state, found.reason, found.figure) == (State.CRITICAL, "3 alerts fire", "3")
    assert found.url == "/alerts/?q=game-cache"


def test_it_speaks_of_one_alert_as_one() -> None:
    found = told(alarmed(BUSY))

    assert found
    assert (found.sentence, found.reason) == ("game-cache: 1 alert fires: Main thread busy", "1 alert fires")


def test_what_recovers_is_a_notice_in_words() -> None:
    found = recovering(alarmed(replace(FULL, is_recovering=True)))

    assert found
    assert found.state == State.NOTICE
    assert "2 alerts are recovering" in found.sentence


def test_where_nothing_fires_nothing_is_said() -> None:
    assert (told(alarmed()), recovering(alarmed(FULL))) == (None, None)


def test_a_finding_that_is_as_bad_needs_no_alert_beside_it() -> None:
    silent = replace(watched(failing(member(1), LONG_AGO), latest=summary(answering=0)), alarms=(FULL,))

    assert not any("alert" in one.sentence for one in findings.of(silent))
    assert health(silent) == "unreachable"


@pytest.fixture
def fires(db: None) -> Fleet:
    """A cache that looks well but for an alert on it."""
    rule("memory", critical=0.3, warning=0.2)
    made = fleet()
    # Figures of four minutes ago would be a finding of their own.
    made.tick = int(timezone.now().timestamp()) // EVERY * EVERY - EVERY
    made.poll(0.5)
    return made


def names_of(fleet: Fleet) -> list[str]:
    return [alarm.title for alarm in alarms.of_caches([fleet.cache.pk]).get(fleet.cache.pk, [])]


def test_alerts_of_a_rule_are_counted_together(fires: Fleet) -> None:
    found = alarms.of_caches([fires.cache.pk])[fires.cache.pk]

    assert found == [Alarm("Memory", is_critical=True, is_recovering=False, count=1)]


def test_other_caches_are_left_alone(fires: Fleet) -> None:
    assert alarms.of_caches([fires.cache.pk + 1]) == {}


@pytest.mark.parametrize("state", [Alert.State.PENDING, Alert.State.RESOLVED])
def test_what_does_not_fire_does_not_count(fires: Fleet, state: str) -> None:
    Alert.objects.update(state=state)

    assert names_of(fires) == []


def test_a_cache_that_is_switched_off_alarms_nobody(fires: Fleet) -> None:
    Alert.objects.update(reason=Reason.SWITCHED_OFF)

    assert names_of(fires) == []


def test_the_alert_of_a_deleted_rule_has_its_key(fires: Fleet) -> None:
    Alert.objects.update(rule=None)

    assert names_of(fires) == ["memory"]


def test_every_place_says_the_same(fires: Fleet) -> None:
    (row,) = overview.read(timezone.now())
    page = client_of(Role.VIEWER).get("/caches/game/").content.decode()
    (answer,) = call(Role.VIEWER, "get", "/fleet").json()["caches"]
    (found,) = call(Role.VIEWER, "get", "/findings").json()["findings"]

    assert (row.health, row.reason) == ("critical", "1 alert fires")
    assert "game: 1 critical alert fires: Memory" in page
    assert (answer["health"], answer["reason"]) == ("critical", "1 alert fires")
    assert (found["state"], found["sentence"]) == ("critical", "game: 1 critical alert fires: Memory")


def test_the_alert_leads_from_the_fleet_page_to_the_list(fires: Fleet) -> None:
    assert 'href="/alerts/?q=game"' in client_of(Role.VIEWER).get("/").content.decode()
