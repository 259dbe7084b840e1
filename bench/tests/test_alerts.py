"""The bench of rules: both sides judge the same thresholds on the same numbers, and the road is timed right."""

import json
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from alerts import evaluate
from alerts.models import Alert
from bench import alert_peer, alert_road, judged
from bench.judged import THRESHOLDS, Judged
from bench.month import moment
from bench.receivers import PAGERDUTY_PATH, Received, receivers
from collectors import samples
from collectors.metrics.hot import HOT_INDEX, HOT_NAMES
from conftest import needed_program

NODES = 12


@pytest.fixture
def fleet(db: None) -> Judged:
    return judged.seed(NODES)


def test_every_threshold_is_judged_on_every_node_and_none_is_crossed(fleet: Judged) -> None:
    outcome = evaluate.evaluate(fleet.caches, fleet.newest)

    assert outcome.instances == len(THRESHOLDS) * NODES
    assert len(outcome.matched) == len(THRESHOLDS)
    assert not Alert.objects.exists()


def test_batches_leave_no_cache_out(fleet: Judged) -> None:
    assert fleet.batches(6) == [[one] for one in fleet.caches]
    assert fleet.batches(NODES) == [fleet.caches]


def test_a_go_is_measured(fleet: Judged) -> None:
    go = judged.judge(fleet.batches(6), fleet.newest, psutil.Process())

    assert go.instances == len(THRESHOLDS) * NODES
    assert go.own_seconds > 0


def test_nothing_judged_is_no_figure(fleet: Judged) -> None:
    with pytest.raises(RuntimeError):
        judged.judge([[]], fleet.newest, psutil.Process())


def test_hours_before_change_no_verdict(fleet: Judged) -> None:
    fleet.remember(1)

    assert evaluate.evaluate(fleet.caches, fleet.newest).instances == len(THRESHOLDS) * NODES


def test_the_peer_scrapes_the_same_numbers(fleet: Judged) -> None:
    with alert_peer.served(fleet) as place, urllib.request.urlopen(f"http://{place}", timeout=20) as answer:
        lines = answer.read().decode().splitlines()

    assert len(lines) == len(THRESHOLDS) * NODES
    used = next(line for line in lines if line.startswith("redis_memory_used_bytes"))
    assert float(used.split()[1]) == fleet.value(fleet.nodes[0], "used_memory")


def test_prometheus_reads_a_rule_for_each_instance(fleet: Judged, tmp_path: Path) -> None:
    rules = alert_peer.rules_for_each(fleet)
    (tmp_path / "rules.json").write_text(json.dumps({"groups": [{"name": "g", "rules": rules}]}))

    done = subprocess.run(
        [needed_program("promtool"), "check", "rules", "rules.json"], cwd=tmp_path, capture_output=True, check=False
    )

    assert done.returncode == 0, done.stdout
    assert len(rules) == len(THRESHOLDS) * NODES
    assert len({rule["expr"] for rule in rules}) == len(rules)


def test_one_rule_a_threshold_is_enough_for_all_nodes() -> None:
    assert len(alert_peer.rules_for_all()) == len(THRESHOLDS)


def test_receivers_keep_what_they_get_with_its_time() -> None:
    before = time.time()
    with receivers() as heard:
        for path in (PAGERDUTY_PATH, "/services/drill"):
            send(f"{heard.url}{path}", {"event_action": "trigger"})

    assert [one.is_page for one in heard.since(before)] == [True, False]
    assert heard.pages(time.time() + 1) == []


def send(url: str, body: Any) -> None:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310 - our own
    urllib.request.urlopen(request, timeout=20).read()  # noqa: S310 - our own


def test_a_page_is_timed_from_the_answer_that_crossed(fleet: Judged) -> None:
    node, tick = fleet.nodes[0], fleet.newest + 15
    values: list[int | float | bool | None] = [None] * len(HOT_NAMES)
    values[HOT_INDEX["keys"]], values[HOT_INDEX["read_after_ms"]] = alert_road.JUMP + 1, 250
    samples.write([samples.NodeReading(node.pk, tick, values)])
    told = {"timestamp": moment(tick).isoformat(), "source": node.cache.name, "severity": "critical"}

    page = Received(tick + 1.0, PAGERDUTY_PATH, {"event_action": "trigger", "payload": told})

    assert alert_road._delays([page]) == [pytest.approx(0.75)]
