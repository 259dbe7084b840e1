"""Every page of a cache whose server refuses what it may: each says why it has less, and nothing becomes zero."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors import client_lists, hot_keys
from collectors.models import CommandSupport, HotKeyReading, LatencyEvent, NodeFact, SlotReading, SlowEntry
from collectors.tests import peers
from collectors.tests.certificates import Authority
from collectors.tests.conftest import Poller, status_of
from collectors.tests.conftest import cache_at as cache_at
from collectors.tests.conftest import poller as poller
from dashboard.tests.api import call
from fleet.models import Cache
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db
CacheAt = Callable[..., Cache]
BUSY = (
    *("--maxmemory-policy", "allkeys-lfu", "--slowlog-log-slower-than", "0", "--latency-monitor-threshold", "1"),
    *("--lfu-log-factor", "0", "--enable-debug-command", "yes"),
)
PAGES = ("", "commands/", "latency/", "clients/", "slowlog/", "balance/", "internals/", "events/")
WITHHELD = ("CONFIG", "CLIENT", "SLOWLOG", "LATENCY", "OBJECT")
# What is shown on which page when the server refuses it.
TOLD_ON = {
    "CONFIG GET": ("", "latency/"),
    "SLOWLOG GET": ("", "slowlog/"),
    "LATENCY HISTOGRAM": ("", "commands/"),
    "LATENCY LATEST": ("", "latency/"),
    "CLIENT LIST": ("", "clients/"),
    "OBJECT FREQ": ("", "balance/"),
}


@pytest.fixture(autouse=True)
def at_every_poll(settings: Settings) -> None:
    for name in ("COMMANDS", "LATENCY", "SLOWLOG", "DETAIL", "SLOTS"):
        setattr(settings, f"{name}_INTERVAL_SECONDS", settings.POLL_INTERVAL_SECONDS)


def denied_by_acl(server: Valkey) -> None:
    names = [name.lower() for name in (*WITHHELD, "COMMANDLOG")]
    rules = [f"-{name}" for name in names if name != "commandlog" or "valkey" in str(server.ask("INFO", "server"))]
    server.ask("ACL", "SETUSER", "default", *rules)


def renamed() -> list[str]:
    return [word for name in WITHHELD for word in ("--rename-command", name, "")]


def use(server: Valkey) -> None:
    for number in range(50):
        server.ask("SET", f"k{number}", "x")
        server.ask("GET", "k0")
    server.ask("DEBUG", "SLEEP", "0.02")


def watched(server: Valkey, poller: Poller, cache_at: CacheAt, address: str = "", **given: Any) -> Cache:
    """Poll a server near to now, look at its clients and keys; return its cache."""
    poller.tick += 1_740
    cache = cache_at(address or server.url, name="game", **given)
    poller.poll(cache)
    use(server)
    for _ in range(2):
        poller.poll(cache)
    client_lists.read(cache.pk)
    hot_keys.look(cache.pk)
    return cache


def pages() -> dict[str, str]:
    browser = client_of(Role.VIEWER)
    answers = {page: browser.get(f"/caches/game/{page}") for page in PAGES}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {page: answer.content.decode() for page, answer in answers.items()}


def api(path: str) -> Any:
    return call(Role.VIEWER, "get", f"/caches/game/{path}").json()


@pytest.fixture(params=["valkey, denied", "redis, denied", "valkey, renamed", "redis, renamed"])
def refusing(request: pytest.FixtureRequest) -> Valkey:
    kind, way = request.param.split(", ")
    options = renamed() if way == "renamed" else ()
    server: Valkey = request.getfixturevalue(f"{kind}_server")(*BUSY, *options)
    if way == "denied":
        denied_by_acl(server)
    return server


def test_every_page_says_what_is_refused(refusing: Valkey, poller: Poller, cache_at: CacheAt) -> None:
    cache = watched(refusing, poller, cache_at)

    found = pages()

    refused = dict(CommandSupport.objects.filter(state="refused").values_list("command", "reason"))
    assert refused.keys() >= TOLD_ON.keys()
    for command, told_on in TOLD_ON.items():
        assert all(command in found[page] for page in told_on), command
    assert "cannot be read" in found["clients/"]
    assert "No client list can be read" in found["clients/"]
    assert "The servers refuse LATENCY" in found["latency/"]
    assert not any(claim in html for claim in ("Nothing was recorded", "Nothing was logged") for html in found.values())
    assert re.search("NOPERM|unknown command", found["balance/"])
    assert status_of(cache).failures == 0


def test_nothing_that_is_refused_becomes_zero(refusing: Valkey, poller: Poller, cache_at: CacheAt) -> None:
    watched(refusing, poller, cache_at)

    (latency,) = api("latency")["nodes"]
    (clients,) = api("clients")["nodes"]
    commands = {row["name"]: row for row in api("commands?role=all")["commands"]}

    assert latency["threshold_milliseconds"] is None
    assert latency["answers"] == 3
    assert (clients["connections"], clients["own"], clients["bytes_read"]) == (None, None, None)
    assert (commands["get"]["p99_usec"], commands["get"]["latency"]) == (None, "mean")
    assert commands["get"]["usec_per_call"] > 0
    assert api("balance")["hot_keys"] == []
    assert api("balance")["looks"][0]["failure"]
    assert not LatencyEvent.objects.exists()
    assert api("internals")["nodes"][0]["memory"]["used_memory"] > 0
    assert HotKeyReading.objects.get().rows == []


@pytest.mark.parametrize("kind", ["valkey", "redis"])
def test_where_all_is_allowed_every_page_has_its_figures(
    kind: str, poller: Poller, cache_at: CacheAt, request: pytest.FixtureRequest
) -> None:
    server: Valkey = request.getfixturevalue(f"{kind}_server")(*BUSY)
    watched(server, poller, cache_at)

    found = pages()

    assert_complete(found)
    # What outside of clusters nobody has.
    assert not SlotReading.objects.exists()
    assert "Only clusters divide their keys into slots" in found["balance/"]


def test_the_same_goes_over_tls(
    poller: Poller, cache_at: CacheAt, redis_server: Callable[..., Valkey], tmp_path: Any
) -> None:
    authority, port = Authority(), peers.closed_port()
    certificate, key = authority.issue("localhost").files(tmp_path, "server")
    (tmp_path / "ca.crt").write_text(authority.pem)
    files = ("--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", str(tmp_path / "ca.crt"))
    server = redis_server(*BUSY, *files, "--tls-port", str(port), "--tls-auth-clients", "no")

    watched(server, poller, cache_at, f"rediss://localhost:{port}", ca_bundle=authority.pem)

    assert_complete(pages())


def assert_complete(found: dict[str, str]) -> None:
    assert not CommandSupport.objects.filter(state="refused").exclude(command__startswith="CLUSTER").exists()
    assert NodeFact.objects.get(name="latency_monitor_threshold").value == "1"
    assert LatencyEvent.objects.filter(event="command", milliseconds__gte=19).exists()
    assert SlowEntry.objects.filter(command__in=("SET", "GET")).exists()
    assert "from 1 ms on" in found["latency/"]
    assert "<code>command</code>" in found["latency/"]
    assert "<code>k0</code>" in found["balance/"]
    assert "Who holds the connections" in found["clients/"]
    assert not any("Commands that the servers refuse" in html for html in found.values())
