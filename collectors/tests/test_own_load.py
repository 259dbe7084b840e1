"""What we cost the watched servers."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from collectors import own_load
from collectors.capabilities import name_of
from collectors.memcached.sources import make_memcached_sources
from collectors.own_load import MEMCACHED_PRICES, PRICES, OwnLoad, charges
from collectors.source import Standing
from collectors.sources import make_sources
from fleet.engines import Engine

CLUSTER = Standing(Engine.VALKEY, (7, 2, 4), in_cluster=True, reports_limits=True, valkey_version=(9, 1))
ALONE = Standing(Engine.REDIS, (6, 2), in_cluster=False, reports_limits=True)


def names(standing: Standing, *refused: str) -> set[str]:
    return {charge.name for charge in charges(standing, 15, refused)}


def test_every_command_has_a_price() -> None:
    sent = {name_of(command) for source in make_sources("", tls=False) for command in source.commands()}

    assert sent == PRICES.keys()


def test_the_page_of_prices_says_what_is_reckoned_with() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "load.md").read_text()
    rows = re.findall(r"^\| `(.+?)` \|.*?\| (\d+) \| (\d+|-) \| ([\d,]+) \|$", text, re.MULTILINE)

    told = {name: (float(valkey), redis, int(size.replace(",", ""))) for name, valkey, redis, size in rows}
    assert told == {
        name: (price.usec["valkey"], f"{price.usec['redis']}" if "redis" in price.usec else "-", price.reply_bytes)
        for name, price in PRICES.items()
    }


def test_every_command_of_memcached_has_a_price() -> None:
    sent = {name_of(command) for source in make_memcached_sources() for command in source.commands()}

    assert sent == MEMCACHED_PRICES.keys()


def test_the_page_of_memcached_says_what_is_reckoned_with() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "memcached.md").read_text()
    rows = re.findall(r"^\| `(stats.*?)` \|.*?\| (\d+) \| ([\d,]+) \|$", text, re.MULTILINE)

    told = {name: (float(usec), int(size.replace(",", ""))) for name, usec, size in rows}
    assert told == {name: (price.usec["memcached"], price.reply_bytes) for name, price in MEMCACHED_PRICES.items()}


def test_a_memcached_is_charged_for_what_it_is_asked() -> None:
    charged = charges(Standing(Engine.MEMCACHED), 15, {"stats conns"})

    assert [charge.name for charge in charged] == ["stats", "stats settings", "stats slabs", "stats items"]
    assert OwnLoad(charged).usec_per_minute < 200


def test_it_reckons_with_what_a_node_is_asked() -> None:
    assert {"INFO", "LATENCY HISTOGRAM", "CLUSTER INFO", "CLUSTER SHARDS"} <= names(CLUSTER)
    assert "COMMANDLOG GET 128 slow" not in names(CLUSTER)
    assert not {"CLUSTER INFO", "LATENCY HISTOGRAM", "CLUSTER SLOTS"} & names(ALONE)


def test_it_leaves_out_what_is_refused() -> None:
    assert "LATENCY HISTOGRAM" not in names(CLUSTER, "LATENCY HISTOGRAM")
    assert "CLUSTER SLOTS" in names(CLUSTER, "CLUSTER SHARDS")
    assert "INFO" in names(CLUSTER, "INFO")


def test_a_command_of_several_sources_counts_once_at_its_shortest_interval() -> None:
    (info,) = [charge for charge in charges(CLUSTER, 15) if charge.name == "INFO"]

    assert info.every == 15
    assert info.usec_per_minute == 4 * PRICES["INFO"].usec["valkey"]


def test_it_adds_up_to_little() -> None:
    load = OwnLoad(charges(CLUSTER, 15))

    assert load.time_share == pytest.approx(sum(charge.usec * 60 / charge.every for charge in load.charges) / 60e6)
    assert 0 < load.time_share < 0.0001
    assert load.bytes_per_minute < 150_000


def test_an_unknown_engine_costs_as_the_dearer_one() -> None:
    assert own_load.price_of(("INFO",), "") == (70, 6_600)
