"""Rules on figures of whole caches: what key scans found, and how far switches let applications in."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role
from accounts.tests.cast import client_of
from alerts import cache_figures, incident_chart, prometheus, trial
from alerts.alert import Alert
from alerts.cache_figures import FIGURES
from alerts.measures import measure
from alerts.models import Delivery, Incident
from alerts.prometheus_series import InexpressibleError
from alerts.route import Route
from alerts.spec_form import SpecError, read_spec, written
from alerts.tests.cast import channel
from alerts.tests.judged import EVERY, Fleet, fleet, rule, states
from collectors.keyscan.models import Scan, ScanMetric
from switches import changing, standing
from switches.models import Switch
from switches.tests.cast import WHY, operator, switch

pytestmark = pytest.mark.django_db
HOUR = 3_600


@pytest.fixture
def watched() -> Fleet:
    """A cache with two shards that is polled up to now."""
    made = fleet(shards=2, replicas=1)
    made.tick = int(timezone.now().timestamp()) // EVERY * EVERY - 3 * EVERY
    return made


def scanned(watched: Fleet, age: int = 60, **figures: float) -> None:
    """Let a scan have found these figures so many seconds ago."""
    scan = Scan.objects.create(cache=watched.cache)
    at = timezone.now() - timedelta(seconds=age)
    for name, value in figures.items():
        ScanMetric.objects.create(cache=watched.cache, scan=scan, name=name, at=at, value=value)


def on_cache(metric: str, key: str = "whole", **given: Any) -> None:
    rule(key, **{"metric": metric, "judged": "cache"} | given)


def poll(watched: Fleet) -> list[str]:
    watched.poll(*[0.5] * 4)
    return states()


def test_a_rule_judges_what_a_key_scan_found(watched: Fleet) -> None:
    on_cache("scan_largest_key_bytes", warning=1_000_000, critical=None)
    scanned(watched, scan_largest_key_bytes=5_000_000)

    assert poll(watched) == ["firing"]
    alert = Alert.objects.get()
    assert (alert.target, alert.value, alert.bound) == (f"c{watched.cache.pk}", 5_000_000, 1_000_000)

    ScanMetric.objects.update(value=1_000)
    assert poll(watched) == ["resolved"]


def test_a_scan_that_is_too_old_is_one(watched: Fleet) -> None:
    on_cache("scan_age_seconds", warning=HOUR, critical=None)
    scanned(watched, age=2 * HOUR, scan_keys=5)

    assert poll(watched) == ["firing"]


def test_a_cache_without_a_scan_is_not_judged(watched: Fleet) -> None:
    on_cache("scan_age_seconds", warning=HOUR, critical=None)

    assert poll(watched) == []
    assert watched.judge().matched == set()


def test_it_stands_beside_conditions_on_nodes(watched: Fleet) -> None:
    scanned(watched, scan_keys_without_ttl_ratio=0.9)
    when = {
        "all": [
            {"metric": "memory_used_ratio", "is": ">", "warning": 0.8},
            {"metric": "scan_keys_without_ttl_ratio", "is": ">", "value": 0.5},
        ]
    }
    on_cache("memory_used_ratio", when=when)

    watched.poll(0.85, 0.5, 0.5, 0.5)

    assert states() == ["firing"]


def test_a_rule_judges_how_far_a_switch_lets_applications_in(watched: Fleet) -> None:
    on_cache("switch_admitted_ratio", sign="<", warning=1, critical=0.5)
    made = switch(cache_now=watched.cache)
    assert poll(watched) == []

    changing.turn_off(made, operator(), WHY)

    assert poll(watched) == ["firing"]
    assert (Alert.objects.get().severity, Alert.objects.get().reason) == ("critical", "threshold")


def test_a_rule_on_switches_is_told_although_the_cache_is_off(watched: Fleet) -> None:
    Route.objects.create(name="root").channels.add(channel())
    on_cache("switch_off_seconds", warning=HOUR, critical=None)
    rule("memory")
    changing.turn_off(switch(cache_now=watched.cache), operator(), WHY)
    Switch.objects.update(stepped_at=timezone.now() - timedelta(hours=2))

    watched.poll(0.95, 0.5, 0.5, 0.5)

    told = Delivery.objects.get()
    assert "Whole" in told.payload["title"]
    assert set(Alert.objects.values_list("rule_key", "reason")) == {("whole", "threshold"), ("memory", "switched_off")}


@pytest.mark.parametrize(
    ("percents", "expected"),
    [((100,), (1.0, 0)), ((0,), (0.0, HOUR)), ((0, 25), (0.25, 0)), ((0, 0), (0.0, HOUR))],
    ids=["on", "off", "one lets some in", "all off"],
)
def test_a_cache_is_as_open_as_the_most_open_of_its_switches(
    watched: Fleet, percents: tuple[int, ...], expected: tuple[float, float]
) -> None:
    now = timezone.now()
    for number, percent in enumerate(percents):
        made = switch(f"switch-{number}", cache_now=watched.cache)
        since = now - timedelta(hours=1 + number)
        Switch.objects.filter(pk=made.pk).update(percent=percent, stepped_at=since)

    found = standing.of_caches([watched.cache.pk], now)[watched.cache.pk]

    assert (found.admitted_ratio, found.off_seconds) == expected


def test_a_cache_without_a_switch_has_no_state(watched: Fleet) -> None:
    assert cache_figures.read([watched.cache.pk], timezone.now()) == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"judged": "node"}, "judge it by cache"),
        ({"judged": "shard"}, "judge it by cache"),
        ({"read": "avg", "over": "5m"}, "newest value"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        on_cache("scan_keys", **{"warning": 1, "critical": None} | changes)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_a_meaning_and_survives_being_written(name: str) -> None:
    spec = read_spec({"rule": "one", "when": {"metric": name, "warning": 0.5}, "judged": "cache"})

    assert str(measure(name).meaning).endswith(".")
    assert read_spec(written(spec)) == spec


def test_the_form_offers_them() -> None:
    seen = client_of(Role.OPERATOR).get("/rules/new/").content.decode()

    assert all(f'<option value="{name}">' in seen for name in FIGURES)


def test_prometheus_has_no_series_of_them() -> None:
    spec = read_spec({"rule": "one", "when": {"metric": "scan_keys", "warning": 1}, "judged": "cache"})

    with pytest.raises(InexpressibleError, match="no series of scan_keys"):
        prometheus.exported(spec)


def test_their_past_is_unknown(watched: Fleet) -> None:
    scanned(watched, scan_keys=5)
    spec = read_spec({"rule": "one", "when": {"metric": "scan_keys", "warning": 1}, "judged": "cache"})

    found = trial.run(spec, timezone.now(), timedelta(hours=1))

    assert (found.fired, found.unknown) == ([], found.points)


def test_an_incident_of_them_has_no_chart(watched: Fleet) -> None:
    Route.objects.create(name="root")
    on_cache("scan_keys", warning=1, critical=None)
    scanned(watched, scan_keys=5)
    poll(watched)

    assert incident_chart.of(Incident.objects.get(), list(Alert.objects.all()), timezone.now()) is None
