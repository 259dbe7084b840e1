"""What holds for every page about caches: unknown is not zero, server text is text, addresses cannot break it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of, person
from collectors import tallies
from collectors.event import Event, Kind
from collectors.models import CommandSupport, LatencyEvent, NodeFact, NodeStatus, SlowEntry
from collectors.tallies import COMMAND, ERROR, NodeTallies, Tally
from collectors.tests.cast import cache_with_nodes
from dashboard.tests.test_fleet import sampled
from fleet.models import Cache

pytestmark = pytest.mark.django_db

TABS = ("", "commands/", "latency/", "clients/", "balance/", "internals/", "readiness/", "slowlog/", "events/")
OF_A_CACHE = [f"/caches/game/{tab}" for tab in TABS]
PAGES = ["/", "/?view=tiles", "/health/", "/health/?cache=game", "/events/", "/readiness/", *OF_A_CACHE]
# Where all figures are those of servers: the load that we put on them may well be none.
OF_SERVERS = [path for path in PAGES if "health" not in path]
LIVING = ["/", "/health/", "/caches/game/", "/caches/game/commands/"]
# They show no text of a server or a person.
WORDLESS = ("clients/", "readiness/")
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
# Texts that are no figures.
OURS = re.compile(r"<(select|option|input|textarea|script|template|svg)\b.*?</\1>", re.DOTALL)
ZERO = re.compile(r"(?<![\d.,\u202f:/-])0(?:\.0+)?[\s\u00a0](?:B|KiB|MiB|µs|ms|keys)\b|(?<![\d.])0(?:\.0+)?(?:%|/s)")
NONSENSE = ["x", "-1", "0", "²", "9" * 30, "%00", "<b>", "x" * 5_000, "%ff", "a&a", "1e400", "../../etc/passwd"]
PARAMETERS = ("span", "from", "to", "node", "nodes", "sort", "by", "kind", "log", "command", "prefix", "page", "silent")


def text_of(html: str) -> str:
    """Return the words between the top bar and the end."""
    main = html.split("<main", 1)[1].split("</main>")[0]
    return " ".join(strip_tags(OURS.sub(" ", main).replace("<", " <")).split())


def read(path: str, role: str = Role.VIEWER) -> str:
    answer = client_of(role).get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def silent() -> Cache:
    """Return a cache whose primary stopped answering and whose replica was never heard of."""
    cache = cache_with_nodes(1, 1)
    sampled(cache, used_memory=2**20, connected_clients=5)
    node = cache.nodes.order_by("pk")[0]
    NodeStatus.objects.create(
        node=node, failing_since=timezone.now() - timedelta(hours=1), failed_step="connect", failed_cause="refused"
    )
    return cache


def hostile() -> Cache:
    """Return a cache of which every text that a server or a person gives is hostile."""
    cache = cache_with_nodes(1, 1)
    sampled(cache, used_memory=1, maxmemory=10)
    Cache.objects.update(labels={"team": HOSTILE})
    node, other = cache.nodes.order_by("pk")
    now = timezone.now()
    NodeStatus.objects.create(
        node=other, failing_since=now, failed_step="info", failed_cause="error_reply", failed_words=HOSTILE
    )
    for name in ("maxmemory_policy", "valkey_version", "mem_allocator", "master_host", "master_replid"):
        NodeFact.objects.create(node=node, name=name, value=HOSTILE, since=now)
    for command in ("SLOWLOG GET", "CONFIG GET", "LATENCY LATEST", "CLUSTER SLOT-STATS", "LATENCY HISTOGRAM"):
        CommandSupport.objects.create(
            node=node, command=command, state=CommandSupport.State.REFUSED, reason=HOSTILE, checked_at=now
        )
    SlowEntry.objects.create(
        node=node,
        entry_id=1,
        started_at=now,
        log="slow",
        amount=9,
        command=HOSTILE[:40],
        arguments=1,
        key_prefix=HOSTILE,
    )
    LatencyEvent.objects.create(node=node, event=HOSTILE[:40], at=now, milliseconds=9)
    ends = now.replace(second=0, microsecond=0)
    tallies.write([NodeTallies(node.pk, ends, 60, kind, {HOSTILE[:60]: Tally(9)}) for kind in (COMMAND, ERROR)])
    Event.objects.create(cache=cache, kind=Kind.OTHER, source="api", title=HOSTILE, author=HOSTILE[:60], at=now)
    return cache


@pytest.mark.parametrize("path", OF_SERVERS)
def test_a_cache_that_was_never_polled_has_no_zeros(path: str) -> None:
    Cache.objects.create(name="game", address="redis://127.0.0.1:1")

    assert ZERO.findall(text_of(read(path))) == []


@pytest.mark.parametrize("path", OF_SERVERS)
def test_a_node_that_reports_nothing_is_not_zero(path: str) -> None:
    sampled(cache_with_nodes(1, 1))

    assert ZERO.findall(text_of(read(path))) == []


@pytest.mark.parametrize("path", OF_SERVERS)
def test_a_silent_node_is_not_zero(path: str) -> None:
    silent()

    assert ZERO.findall(text_of(read(path))) == []


@pytest.mark.parametrize("path", ["/caches/game/", "/caches/game/internals/"])
def test_a_reported_zero_is_shown(path: str) -> None:
    sampled(cache_with_nodes(), used_memory=0, connected_clients=0, mem_clients_normal=0, keys=0)

    assert re.search(r"\b0\b", text_of(read(path)))


@pytest.mark.parametrize("path", PAGES)
def test_what_servers_and_people_say_is_text(path: str) -> None:
    hostile()

    html = read(path, Role.OPERATOR)

    assert "<script>alert" not in html
    assert "<img src=x" not in html


@pytest.mark.parametrize("path", ["/", *[path for path in OF_A_CACHE if not path.endswith(WORDLESS)]])
def test_it_still_shows_that_text(path: str) -> None:
    hostile()

    assert "&lt;script&gt;" in read(path)


@pytest.mark.parametrize("path", ["/", "/health/", "/events/", "/audit/", *OF_A_CACHE])
def test_an_address_that_makes_no_sense_falls_back(path: str) -> None:
    sampled(cache_with_nodes())
    client = client_of(Role.ADMIN)

    queries = {value: "&".join(f"{name}={value}" for name in PARAMETERS) for value in NONSENSE}
    statuses = {value: client.get(f"{path}?{query}").status_code for value, query in queries.items()}

    # PostgreSQL cannot keep a NUL: such an address is refused before any page sees it.
    assert statuses.pop("%00") == 400
    assert {value: status for value, status in statuses.items() if status != 200} == {}


@pytest.mark.parametrize("name", ["nothing", "GAME", "game%20", "..", "x" * 5_000, "%F0%9F%92%A9", "%3Cb%3E"])
def test_a_cache_that_is_not_there_is_a_page_that_says_so(name: str) -> None:
    cache_with_nodes()
    client = client_of()

    answers = [client.get(f"/caches/{name}/{tab}") for tab in TABS]

    assert {answer.status_code for answer in answers} == {404}
    assert not any("<b>" in answer.content.decode() for answer in answers)


@pytest.mark.parametrize("path", PAGES)
def test_a_head_is_answered_without_a_body(path: str) -> None:
    cache_with_nodes()

    answer = client_of().head(path)

    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("path", PAGES)
def test_it_is_japanese_for_japanese_readers(path: str) -> None:
    silent()
    client = client_of()
    client.cookies["django_language"] = "ja"

    html = client.get(path).content.decode()

    assert '<html lang="ja"' in html
    assert not {"not reported", "waiting for", "Last sample"} & {*re.findall(r">([^<]+)<", html)}


@pytest.mark.parametrize("path", PAGES)
def test_no_proxy_may_give_it_to_somebody_else(path: str) -> None:
    cache_with_nodes()

    answer = client_of().get(path)

    assert "Cookie" in answer["Vary"]
    assert "public" not in answer.get("Cache-Control", "")


@pytest.mark.parametrize("path", LIVING)
def test_a_refresh_is_a_part_that_no_cache_takes_for_the_page(path: str) -> None:
    cache_with_nodes()

    part = client_of().get(path, headers={"HX-Request": "true"})

    assert "<html" not in part.content.decode()
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize("path", LIVING)
def test_going_back_in_history_brings_the_whole_page(path: str) -> None:
    cache_with_nodes()

    page = client_of().get(path, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})

    assert "<html" in page.content.decode()


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/metrics/fleet"])
def test_what_machines_ask_is_never_kept(path: str) -> None:
    assert "no-store" in client_of().get(path)["Cache-Control"]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "Pacific/Kiritimati"])
def test_moments_stand_in_the_viewers_zone_with_its_name(zone: str) -> None:
    cache = cache_with_nodes()
    at = timezone.now() - timedelta(hours=1)
    Event.objects.create(cache=cache, kind=Kind.OTHER, source="api", title="Release", at=at)
    client = client_of()
    client.cookies["tz"] = zone

    html = client.get("/events/").content.decode()

    with timezone.override(zone):
        assert f"{timezone.localtime(at):%H:%M:%S}" in html
    assert f'data-time-zone="{zone}"' in html


def test_a_paused_cache_says_so_on_its_page_and_in_the_fleet() -> None:
    sampled(cache_with_nodes(), used_memory=1)
    Cache.objects.update(is_paused=True)

    assert all("aused" in text_of(read(path)) for path in ("/", "/caches/game/", "/caches/game/commands/"))


@pytest.mark.parametrize("page", ["0", "-1", "99", "x", "last", ""])
def test_a_list_of_events_has_a_page_for_every_number(page: str) -> None:
    for number in range(60):
        Event.objects.create(kind=Kind.OTHER, source="api", title=f"Note {number:02}", at=timezone.now())

    shown = len({*re.findall(r"Note \d\d", read(f"/events/?page={page}"))})

    assert shown == (10 if page in {"0", "-1", "99"} else 50)


def test_events_are_neither_lost_nor_doubled_between_pages() -> None:
    at = timezone.now() - timedelta(minutes=5)
    for number in range(60):
        Event.objects.create(kind=Kind.OTHER, source="api", title=f"Note {number:02}", at=at)

    pages = [re.findall(r">\s*(Note \d\d)\s*<", read(f"/events/?page={page}")) for page in (1, 2)]

    assert sorted({*pages[0]} | {*pages[1]}) == [f"Note {number:02}" for number in range(60)]
    assert {*pages[0]} & {*pages[1]} == set()


@pytest.mark.parametrize("path", PAGES)
def test_looking_changes_nothing(path: str, django_assert_max_num_queries: Any) -> None:
    silent()
    client = client_of()
    before = Cache.objects.values("name", "address", "revision", "is_paused", "topology").get()

    with django_assert_max_num_queries(40):
        client.get(path)

    assert Cache.objects.values("name", "address", "revision", "is_paused", "topology").get() == before
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("path", OF_A_CACHE)
def test_only_operators_are_offered_what_only_they_may_do(path: str) -> None:
    sampled(cache_with_nodes())

    forms = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]+)"', read(path))

    assert {action for action in forms if not action.startswith(("/logout/", "/i18n/", "/account/"))} == set()


def test_a_language_that_does_not_exist_is_english() -> None:
    client = Client(headers={"Accept-Language": "xx-klingon, \0"})
    client.force_login(person())

    assert '<html lang="en"' in client.get("/").content.decode()
