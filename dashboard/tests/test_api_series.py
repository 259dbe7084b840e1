import gzip
import json

import pytest
from django.test import Client

from accounts.models import Role
from accounts.tests.cast import bearer_of
from collectors import samples
from collectors.tests.cast import NOON, cache_with_nodes, noon, reading
from dashboard.api import series as series_api
from dashboard.tests.api import ROOT, call

pytestmark = pytest.mark.django_db


def game_with_samples(nodes: int = 2) -> None:
    cache = cache_with_nodes(shards=nodes)
    samples.write([reading(node, 15 * n, used_memory=100 + n) for node in cache.nodes.all() for n in range(20)])


def test_it_answers_in_columns() -> None:
    game_with_samples()

    answer = call(
        Role.VIEWER, "get", f"/caches/game/series?metric=used_memory&from={NOON}&to={NOON + 60}&step=15"
    ).json()

    only = answer["series"][0]
    assert (only["metric"], only["unit"], only["start"], only["step"]) == ("used_memory", "bytes", NOON, 15)
    assert {line["label"]: line["mean"] for line in only["lines"]}["sum"] == [200, 202, 204, 206]


def test_it_takes_several_metrics_and_iso_times() -> None:
    game_with_samples()
    span = f"from={noon().isoformat().replace('+00:00', 'Z')}&to={noon(60).strftime('%Y-%m-%dT%H:%M:%S')}"

    answer = call(Role.VIEWER, "get", f"/caches/game/series?metric=used_memory,keys&metric=cpu_ratio&{span}").json()

    assert [one["metric"] for one in answer["series"]] == ["used_memory", "keys", "cpu_ratio"]


def test_it_draws_a_line_a_node() -> None:
    game_with_samples(3)

    path = f"/caches/game/series?metric=used_memory&by=node&from={NOON}&to={NOON + 60}"
    lines = call(Role.VIEWER, "get", path).json()["series"][0]["lines"]

    assert [line["shard"] for line in lines] == [1, 2, 3]


def test_it_names_metrics_that_look_alike() -> None:
    cache_with_nodes()

    answer = call(Role.VIEWER, "get", "/caches/game/series?metric=used_memry")

    assert (answer.status_code, answer.json()["field"]) == (400, "metric")
    assert "used_memory" in answer.json()["error"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "metric=",
        "metric=,",
        "metric=" + "x" * 501,
        "metric=" + ",".join(f"m{n}" for n in range(21)),
        "metric=used_memory&step=0",
        "metric=used_memory&step=x",
        "metric=used_memory&step=" + "9" * 30,
        "metric=used_memory&by=shard",
        "metric=used_memory&limit=0",
        "metric=used_memory&from=yesterday",
        "metric=used_memory&from=nan",
        "metric=used_memory&from=1e400",
        "metric=used_memory&from=-1",
        "metric=used_memory&to=99999999999999",
        "metric=used_memory&to=9999-12-31T23:59:59Z",
        "metric=used_memory&to=0001-01-01T00:00:00%2B14:00",
        "metric=used_memory&from=2026-05-02&to=2026-05-01",
        "metric=used_memory&from=2020-01-01&to=2026-01-01&step=3600",
        "metric=used_memory&from=%00",
        "metric=used%00memory",
    ],
)
def test_it_refuses_what_cannot_be_drawn(query: str) -> None:
    cache_with_nodes()

    answer = call(Role.VIEWER, "get", f"/caches/game/series?{query}")

    assert answer.status_code == 400
    assert answer.json()["error"]


def test_it_refuses_an_answer_too_large_to_be_of_use(monkeypatch: pytest.MonkeyPatch) -> None:
    cache_with_nodes(shards=3)
    monkeypatch.setattr(series_api, "POINT_CEILING", 500)

    answer = call(Role.VIEWER, "get", "/caches/game/series?metric=used_memory&by=node")

    assert (answer.status_code, "more than 500" in answer.json()["error"]) == (400, True)


def test_it_compresses_for_those_who_can_read_it() -> None:
    game_with_samples()
    path = f"{ROOT}/caches/game/series?metric=used_memory&by=node&from={NOON}&to={NOON + 3600}"

    answer = Client().get(path, headers={**bearer_of(), "Accept-Encoding": "gzip, br"})

    assert answer["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer["Vary"]
    assert json.loads(gzip.decompress(answer.content))["cache"] == "game"


def test_it_needs_the_same_queries_for_many_nodes(django_assert_max_num_queries: pytest.FixtureRequest) -> None:
    cache_with_nodes(shards=30)
    headers = bearer_of()

    with django_assert_max_num_queries(7):  # type: ignore[operator]
        Client().get(f"{ROOT}/caches/game/series?metric=used_memory&by=node", headers=headers)
