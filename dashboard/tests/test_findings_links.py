"""Where findings lead: to the page that shows who or what is behind them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from dashboard.findings import Finding, advice, load, memory, reach
from dashboard.tests.cast import member, summary, watched
from dashboard.watched import Watched

GIB = 2**30
NODE = member(
    1,
    connections_received_per_second=90.0,
    connected_clients=100,
    connections_used_ratio=0.9,
    maxclients=110,
    blocked_clients=90,
    mem_fragmentation_ratio=2.0,
    used_memory_rss=2 * GIB,
    used_memory=GIB,
    used_memory_overhead=GIB,
    client_recent_max_output_buffer=GIB,
    latest_fork_usec=3_000_000,
    rdb_last_bgsave_ok=False,
    memory_used_ratio=0.75,
    main_thread_cpu_ratio=0.7,
    commands_per_second=9_000.0,
    network_output_bytes_per_second=float(GIB),
    cluster_known_nodes=3,
)
REST = member(
    2,
    connections_used_ratio=0.1,
    memory_used_ratio=0.1,
    main_thread_cpu_ratio=0.1,
    commands_per_second=90.0,
    network_output_bytes_per_second=9.0,
    cluster_known_nodes=2,
)
LAGGING = member(1, "replica", replication_lag_seconds=60.0)
ILL = summary(links_down=1, rejected_connections_per_second=3.0, cluster_state_ok=False, slots_ok=16_000)
LINKS: list[tuple[Callable[[Watched], Finding | None], str]] = [
    (advice.connection_churn, "clients/"),
    (advice.blocked_clients, "clients/"),
    (advice.output_buffers, "clients/"),
    (load.connections_full, "clients/"),
    (load.connections_rejected, "clients/"),
    (advice.hot_shard, "balance/"),
    (advice.uneven_traffic, "balance/"),
    (load.cpu_uneven, "balance/"),
    (memory.memory_uneven, "balance/"),
    (advice.fragmentation, "internals/#memory-internals"),
    (advice.overhead, "internals/#memory-internals"),
    (advice.slow_fork, "internals/#persistence"),
    (reach.save_failed, "internals/#persistence"),
    (advice.nodes_disagree, "internals/#cluster"),
    (reach.slots_uncovered, "internals/#cluster"),
    (reach.replica_link_down, "internals/#replication"),
    (reach.replica_lag, "internals/#replication"),
]


@pytest.mark.parametrize(("check", "page"), LINKS, ids=[check.__name__ for check, _page in LINKS])
def test_it_leads_to_what_is_behind_it(check: Callable[[Watched], Finding | None], page: str) -> None:
    found = check(watched(NODE, REST, LAGGING, latest=ILL))

    assert found is not None
    assert found.url == f"/caches/game-cache/{page}"


@pytest.mark.parametrize("part", ["memory-internals", "persistence", "cluster", "replication"])
def test_the_part_of_the_page_is_there(part: str) -> None:
    folder = Path(settings.BASE_DIR) / "templates" / "dashboard"

    assert any(f'id="{part}"' in template.read_text() for template in folder.glob("*.html"))
