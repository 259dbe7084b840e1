"""Pages of key scans: starting, watching, results, single keys, comparisons, schedules."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
import redis
from django.test import Client
from django.utils import timezone, translation
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from collectors import tasks
from collectors.keyscan import starting
from collectors.keyscan.details import Detail
from collectors.keyscan.models import Scan, ScanSchedule, ScanShard, ScanState
from collectors.keyscan.reasons import Reason
from conftest import ValkeyFactory
from dashboard.scans.compare import key_changes
from dashboard.scans.naming import Naming, masked
from dashboard.scans.treemap import ASPECT, squarified, tiles
from dashboard.tests.scan_cast import HOSTILE, running, scanned_cache, stored, usual_keys
from fleet.models import Cache
from launcher.valkey import Valkey

pytestmark = pytest.mark.django_db
QUERIES = 40


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr(tasks.run_scan, "apply_async", lambda *_given, **_options: None)
    return scanned_cache()


def page(address: str, role: str = Role.VIEWER) -> str:
    answer = client_of(role).get(address)
    assert answer.status_code == 200
    return plain(answer.content)


def plain(content: bytes) -> str:
    """Return a page with ordinary spaces, as a test writes it."""
    return unescape(content.decode()).replace("\u00a0", " ").replace("\u202f", " ")


def post(address: str, role: str = Role.OPERATOR, **given: Any) -> int:
    return client_of(role).post(address, given).status_code


def test_the_list_says_what_to_do_before_the_first_scan(cache: Cache) -> None:
    html = page("/scans/")

    assert "Nobody has scanned a cache yet" in html
    assert 'href="/caches/game/scans/"' in html


@pytest.mark.parametrize("fields", [{"engine": "memcached"}, {"reach": "service"}], ids=["memcached", "not reached"])
def test_the_list_offers_only_caches_that_can_be_scanned(cache: Cache, fields: dict[str, str]) -> None:
    Cache.objects.create(name="other", address="redis://10.0.0.9", **fields)

    html = page("/scans/")

    assert 'href="/caches/game/scans/"' in html
    assert "/caches/other/" not in html


def test_the_list_shows_scans_of_all_caches(cache: Cache) -> None:
    scan = stored(cache, usual_keys())

    html = page("/scans/")

    assert f'href="/scans/{scan.pk}/"' in html
    assert "done" in html
    assert "all keys" in html


def test_the_cache_page_leads_to_its_keys(cache: Cache) -> None:
    assert 'href="/caches/game/scans/"' in page("/caches/game/")


def test_a_viewer_is_offered_no_form(cache: Cache) -> None:
    html = page("/caches/game/scans/")

    assert "The keys of this cache were not scanned yet" in html
    assert "Start a scan" not in html


def test_it_previews_keys_time_load_and_nodes(cache: Cache) -> None:
    html = page("/caches/game/scans/?preview=1&brake=gentle", Role.OPERATOR)

    assert "About a quarter of one core of each node" in html
    assert "127.0.0.1:7011" in html
    assert "replica" in html
    assert "Start the scan" in html


def test_the_preview_says_what_every_field_costs(cache: Cache) -> None:
    html = page("/caches/game/scans/?preview=1&details=ttl&samples=5", Role.OPERATOR)

    assert "two to three times as much of the servers' time" in html
    assert "off by up to 90%" in html


def test_the_preview_says_why_a_scan_cannot_be_started(cache: Cache) -> None:
    cache.nodes.filter(role="replica").delete()

    html = page("/caches/game/scans/?preview=1", Role.OPERATOR)

    assert "Shard 1 has no replica in good order" in html
    assert "Start the scan<" not in html


@pytest.mark.parametrize(
    "bad", ["top=0", "top=99999999", "type=nonsense", "shards=77", "details=x", "samples=-1", "brake=x"]
)
def test_the_form_says_what_is_wrong(cache: Cache, bad: str) -> None:
    html = page(f"/caches/game/scans/?preview=1&{bad}", Role.OPERATOR)

    assert "errorlist" in html
    assert "Start the scan<" not in html


def test_an_operator_starts_a_scan(cache: Cache) -> None:
    assert post("/caches/game/scans/start/", brake="brisk", match="user:*", top="500", details=["ttl", "type"]) == 302

    scan = Scan.objects.get()
    assert (scan.state, scan.brake, scan.author) == (ScanState.QUEUED, "brisk", scan.author)
    assert (scan.asked.match, scan.asked.top, scan.asked.fields) == ("user:*", 500, ("type", "ttl"))
    entry = AuditEntry.objects.get(action="scan.start")
    assert (entry.target, entry.detail["match"], entry.detail["brake"]) == ("game", "user:*", "brisk")


@pytest.mark.parametrize(
    "address",
    [
        "/caches/game/scans/start/",
        "/caches/game/scans/schedule/",
        "/scans/{}/cancel/",
        "/scans/{}/pause/",
        "/scans/{}/brake/",
    ],
)
def test_a_viewer_starts_and_steers_nothing(cache: Cache, address: str) -> None:
    scan = running(cache)

    assert post(address.format(scan.pk), Role.VIEWER, brake="fast") == 403

    scan.refresh_from_db()
    assert (scan.state, scan.brake) == (ScanState.RUNNING, "gentle")


def test_a_second_scan_is_refused_with_the_reason(cache: Cache) -> None:
    scan = running(cache)
    client = client_of(Role.OPERATOR)

    html = unescape(client.post("/caches/game/scans/start/", {}, follow=True).content.decode())

    assert f"is being scanned already, by scan {scan.pk}" in html
    assert Scan.objects.count() == 1


def test_the_live_page_shows_how_far_it_is(cache: Cache) -> None:
    html = page(f"/scans/{running(cache).pk}/")

    for words in ("50%", "about 12 s left", "40k/s", "25%", "walking", "cart:1", "running", "before: 0.10 ms"):
        assert words in html
    assert "Pause" not in html


def test_an_operator_sees_the_tools_of_a_running_scan(cache: Cache) -> None:
    html = page(f"/scans/{running(cache).pk}/", Role.OPERATOR)

    assert "Pause" in html
    assert 'value="fast"' in html
    assert "Cancel" in html


def test_the_live_page_says_what_holds_a_scan_up(cache: Cache) -> None:
    scan = running(cache, at="held", hold={"cause": "latency", "value": 0.0031, "limit": 0.002})

    assert "held up: p99 of the round trip is 3.1 ms, guard 2.0 ms" in page(f"/scans/{scan.pk}/")


def test_the_live_page_says_that_it_slowed_down(cache: Cache) -> None:
    assert "slowed down to 50% of its speed after a guard" in page(f"/scans/{running(cache, ease=0.5).pk}/")


def test_the_live_page_says_that_nobody_guards(cache: Cache) -> None:
    html = page(f"/scans/{running(cache, is_blind=True).pk}/")

    assert "walking without guards: they get no connection of their own" in html


def test_the_live_page_says_when_there_is_no_news(cache: Cache) -> None:
    scan = running(cache)
    ScanShard.objects.update(progress_at=timezone.now() - timedelta(minutes=1))

    assert "its worker may be gone" in page(f"/scans/{scan.pk}/")


def test_the_live_page_refreshes_only_what_changed(cache: Cache) -> None:
    client, scan = client_of(Role.VIEWER), running(cache)
    headers = {"HX-Request": "true"}

    part = client.get(f"/scans/{scan.pk}/", headers=headers)
    version = part.content.decode().split("?version=")[1].split('"')[0]

    assert b"<html" not in part.content
    assert client.get(f"/scans/{scan.pk}/?version={version}", headers=headers).status_code == 204
    ScanShard.objects.update(keys=600)
    assert client.get(f"/scans/{scan.pk}/?version={version}", headers=headers).status_code == 200


def test_the_live_page_turns_into_the_result_at_the_end(cache: Cache) -> None:
    scan = stored(cache, usual_keys())

    answer = client_of(Role.VIEWER).get(f"/scans/{scan.pk}/", headers={"HX-Request": "true"})

    assert answer["HX-Refresh"] == "true"


@pytest.mark.parametrize(
    ("what", "before", "after"),
    [("pause", "running", "paused"), ("resume", "paused", "running"), ("cancel", "running", "stopping")],
)
def test_an_operator_steers_a_scan(cache: Cache, what: str, before: str, after: str) -> None:
    scan = running(cache, before)

    assert post(f"/scans/{scan.pk}/{what}/") == 302

    scan.refresh_from_db()
    assert scan.state == after
    assert AuditEntry.objects.filter(action=f"scan.{what}").exists()


def test_a_scan_that_paused_by_itself_says_why_on_top(cache: Cache) -> None:
    scan = running(cache)
    starting.pause(scan, cause=Reason.PROMOTED, address="10.0.0.5:6379", shard="1")
    starting.set_brake(scan, "fast", "ada")

    assert "Paused: 10.0.0.5:6379, the replica that was read for shard 1, is a primary by now" in page(
        f"/scans/{scan.pk}/"
    )


def test_a_scan_that_a_person_paused_needs_no_reason(cache: Cache) -> None:
    scan = running(cache)
    starting.pause(scan, "ada")

    assert "Paused: " not in page(f"/scans/{scan.pk}/")


def test_an_operator_sets_the_speed(cache: Cache) -> None:
    scan = running(cache)

    assert post(f"/scans/{scan.pk}/brake/", brake="fast") == 302
    assert post(f"/scans/{scan.pk}/brake/", brake="warp") == 404
    assert post(f"/scans/{scan.pk}/explode/") == 404
    assert client_of(Role.OPERATOR).get(f"/scans/{scan.pk}/export/").status_code == 404

    scan.refresh_from_db()
    assert scan.brake == "fast"
    assert "brake set to fast" in page(f"/scans/{scan.pk}/")


def test_what_is_over_cannot_be_steered(cache: Cache) -> None:
    scan = stored(cache, usual_keys())
    client = client_of(Role.OPERATOR)

    html = client.post(f"/scans/{scan.pk}/cancel/", follow=True).content.decode()

    assert "The scan is done: that is not possible now." in unescape(html)


def test_the_result_names_the_family_that_holds_the_memory(cache: Cache) -> None:
    users = [Detail(b"user_cache:%d" % n, 3_000, "string", -1) for n in range(400)]
    others = [Detail(b"cart:%d" % n, 900, "hash", 60_000) for n in range(500)]

    html = page(f"/scans/{stored(cache, users + others).pk}/")

    assert "user_cache:* holds 73% of the memory: 400 keys of 2.93 KiB on average; none expire" in html
    assert "Give these keys a TTL" in html


def test_the_result_shows_keys_prefixes_types_and_histograms(cache: Cache) -> None:
    html = page(f"/scans/{stored(cache, usual_keys()).pk}/")

    assert "The largest key, feed:all, takes 38.1 MiB: 40% of the memory of 127.0.0.1:7011" in html
    assert "1 collection has 100 000 elements or more" in html
    assert "57% of the keys never expire" in html
    for words in ("feed:all", "skiplist", "cart:*:", "user_cache:", "Sizes of values", "2 KiB – 4 KiB", "treemap"):
        assert words in html
    assert "100% of the 701 that the servers counted" in html


def test_the_result_opens_prefixes(cache: Cache) -> None:
    scan = stored(cache, usual_keys())
    cart = next(row for row in scan.prefixes.all() if bytes(row.prefix) == b"cart:")

    html = page(f"/scans/{scan.pk}/?prefix={cart.digest}")

    assert "cart:*:" in html
    assert "all keys</bdi></a> ›" in html


@pytest.mark.parametrize(
    "query",
    [
        "?prefix=999",
        "?prefix=x",
        "?prefix=99999999999999999999",
        "?shard=99",
        "?shard=x",
        "?type=x",
        "?sort=x",
        "?page=99",
    ],
)
def test_the_result_takes_any_query(cache: Cache, query: str) -> None:
    page(f"/scans/{stored(cache, usual_keys()).pk}/{query}")


def test_the_result_filters_and_sorts_keys(cache: Cache) -> None:
    scan = stored(cache, usual_keys())

    zsets = page(f"/scans/{scan.pk}/?type=zset")
    by_elements = page(f"/scans/{scan.pk}/?sort=elements")

    assert zsets.count("/keys/") == 1
    assert by_elements.index("feed:all") < by_elements.index("cart:")
    assert 'aria-current="true">by elements' in by_elements


def test_the_result_gives_a_link_to_the_view_at_hand(cache: Cache) -> None:
    scan = stored(cache, usual_keys())

    html = page(f"/scans/{scan.pk}/?type=zset&sort=elements")

    assert f'href="/scans/{scan.pk}/?type=zset&sort=elements">Link to this view' in html


def test_the_result_shows_what_changed_since_the_scan_before(cache: Cache) -> None:
    stored(cache, usual_keys(), days=2)
    scan = stored(cache, usual_keys(factor=3))

    html = page(f"/scans/{scan.pk}/")

    assert "user_cache:* grew by 2.29 MiB since the scan of" in html
    assert "+2.29" in html


def test_an_incomplete_scan_says_so(cache: Cache) -> None:
    scan = stored(cache, usual_keys(), state=ScanState.INCOMPLETE)
    Scan.objects.filter(pk=scan.pk).update(summary={**scan.summary, "total": 1_402})

    assert "The scan saw only a part of the keys, about 50%" in page(f"/scans/{scan.pk}/")


def test_a_scan_without_keys_has_a_page(cache: Cache) -> None:
    scan = stored(cache, [])

    assert "No keys were found" in page(f"/scans/{scan.pk}/")
    assert "There is no earlier scan" in page(f"/scans/{scan.pk}/compare/")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_do_no_harm(cache: Cache, name: bytes) -> None:
    scan = stored(cache, [Detail(name, 20_000_000, "string", -1), Detail(name + b":x", 5, "weird<b>module</b>")])

    answers = [
        client_of(Role.VIEWER).get(f"/scans/{scan.pk}/"),
        client_of(Role.VIEWER).get(f"/scans/{scan.pk}/keys/{scan.top_keys.order_by('-size')[0].pk}/"),
    ]

    for answer in answers:
        html = answer.content.decode()
        assert answer.status_code == 200
        for harm in ("<script>alert", "<img src=x", "<b>module", "\x1b", "\x00", "\u202e", "x" * 2_000):
            assert harm not in html


def test_a_key_has_a_page_with_its_history(cache: Cache) -> None:
    first = stored(cache, usual_keys(), days=3)
    scan = stored(cache, usual_keys())
    key = scan.top_keys.order_by("-size")[0]

    html = page(f"/scans/{scan.pk}/keys/{key.pk}/")

    assert f"Scan {first.pk}" in html
    assert "40% of its memory" in html
    assert "Read it again now" not in html
    assert client_of(Role.VIEWER).get(f"/scans/{first.pk}/keys/{key.pk}/").status_code == 404


def test_an_operator_reads_a_key_again(cache: Cache, valkey_cluster: list[Valkey]) -> None:
    client = redis.RedisCluster(host="127.0.0.1", port=valkey_cluster[0].port)
    client.hset("scan-recheck", mapping={f"f{n}": "v" * 30 for n in range(600)})
    owner = client.get_node_from_key("scan-recheck")  # type: ignore[no-untyped-call]
    scan = stored(cache, [Detail(b"scan-recheck", 5_000, "hash", -1), Detail(b"scan-gone", 5)])
    assert owner is not None
    scan.top_keys.update(address=f"127.0.0.1:{owner.port}")
    key, gone = scan.top_keys.order_by("-size")
    browser = client_of(Role.OPERATOR)

    html = unescape(browser.post(f"/scans/{scan.pk}/keys/{key.pk}/check/", follow=True).content.decode())
    client.delete("scan-recheck")
    other = browser.post(f"/scans/{scan.pk}/keys/{key.pk}/check/", follow=True).content.decode()

    assert "600 elements (hash, hashtable)" in html
    assert "Now it takes" in html
    assert "The key is gone by now." in other
    assert AuditEntry.objects.filter(action="scan.check").count() == 2
    assert gone.size == 5


def test_a_node_that_is_away_cannot_be_asked_again(cache: Cache, settings: Settings) -> None:
    settings.POLL_CONNECT_TIMEOUT_SECONDS = 0.2
    scan = stored(cache, usual_keys())
    key = scan.top_keys.order_by("-size")[0]

    html = client_of(Role.OPERATOR).post(f"/scans/{scan.pk}/keys/{key.pk}/check/", follow=True).content.decode()

    assert "Nothing listens on this port" in html


def guarded(cache: Cache) -> tuple[Scan, int]:
    """Return a scan with a giant that keeps its estimate, and the giant."""
    scan = stored(cache, usual_keys())
    key = scan.top_keys.order_by("-size")[0]
    scan.top_keys.filter(pk=key.pk).update(is_exact=False)
    return scan, key.pk


def test_a_giant_shows_what_it_costs_to_measure_it(cache: Cache) -> None:
    scan, key = guarded(cache)

    html = page(f"/scans/{scan.pk}/keys/{key}/", Role.OPERATOR)

    assert "Measure it exactly" in html
    assert "On the replica 127.0.0.1:7011." in html
    assert "looks at 250 000 elements in one command and answers nobody else meanwhile: 3.80 ms to 100 ms" in html


def test_only_operators_measure_giants(cache: Cache) -> None:
    scan, key = guarded(cache)

    assert "Measure it exactly" not in page(f"/scans/{scan.pk}/keys/{key}/")
    assert post(f"/scans/{scan.pk}/keys/{key}/measure/", Role.VIEWER) == 403


def test_what_is_exact_is_not_measured_again(cache: Cache) -> None:
    scan = stored(cache, usual_keys())
    key = scan.top_keys.order_by("-size")[0]

    assert "Measure it exactly" not in page(f"/scans/{scan.pk}/keys/{key.pk}/", Role.OPERATOR)
    html = client_of(Role.OPERATOR).post(f"/scans/{scan.pk}/keys/{key.pk}/measure/", follow=True).content.decode()
    assert "measured whole already" in html


def test_a_giant_whose_node_is_away_cannot_be_measured(cache: Cache, settings: Settings) -> None:
    settings.POLL_CONNECT_TIMEOUT_SECONDS = 0.2
    scan, key = guarded(cache)

    html = client_of(Role.OPERATOR).post(f"/scans/{scan.pk}/keys/{key}/measure/", follow=True).content.decode()

    assert "Nothing listens on this port" in html


def test_an_operator_measures_a_giant(cache: Cache, valkey_server: ValkeyFactory) -> None:
    server = valkey_server()
    client = redis.Redis(port=server.port)
    client.hset("feed:all", mapping={f"f{n}": "v" * 30 for n in range(2_000)})
    scan, key = guarded(cache)
    cache.nodes.filter(role="replica").update(port=server.port)
    browser = client_of(Role.OPERATOR)

    html = plain(browser.post(f"/scans/{scan.pk}/keys/{key}/measure/", follow=True).content)
    client.delete("feed:all")
    other = browser.post(f"/scans/{scan.pk}/keys/{key}/measure/", follow=True).content.decode()

    assert f"Measured whole on 127.0.0.1:{server.port}: it takes" in html
    assert "The key is gone by now." in other
    assert [entry.detail["elements"] for entry in AuditEntry.objects.filter(action="scan.measure")] == [250_000] * 2


@pytest.mark.parametrize("act", ["check", "measure"])
def test_a_paused_cache_is_not_asked_for_a_key(cache: Cache, act: str) -> None:
    key = stored(cache, usual_keys()).top_keys.order_by("-size")[0]
    Cache.objects.update(is_paused=True)

    answer = client_of(Role.OPERATOR).post(f"/scans/{key.scan_id}/keys/{key.pk}/{act}/", follow=True)

    assert "The cache is paused" in answer.content.decode()
    assert not AuditEntry.objects.exists()


def test_two_scans_are_compared(cache: Cache) -> None:
    first = stored(cache, [*usual_keys(), Detail(b"old:1", 900_000, "string")], days=2)
    second = stored(cache, [*usual_keys(factor=2), Detail(b"new:1", 800_000, "string")])

    html = page(f"/scans/{second.pk}/compare/")

    assert f"Scan {second.pk} beside scan {first.pk}" in html
    for words in ("user_cache:*", "grown", "new:*", "gone", "old:1", "a day", "Over all scans"):
        assert words in html


def test_keys_that_only_the_sample_drew_are_neither_new_nor_gone(cache: Cache) -> None:
    large = [Detail(b"large:%d" % n, 9_000 + n, "string") for n in range(3)]
    before = stored(cache, [*large, Detail(b"drawn:1", 50, "hash", elements=4)], days=2, top=3)
    scan = stored(cache, [*large[:2], Detail(b"large:2", 99_000, "string"), Detail(b"drawn:2", 60, "hash")], top=3)

    changes = key_changes(before, scan, Naming())

    assert [(change.name, change.word) for change in changes] == [("large:2", "grown")]


def test_keys_that_a_shorter_ranking_left_out_are_neither_new_nor_gone(cache: Cache) -> None:
    keys = [Detail(b"key:%d" % n, 9_000 - n, "string") for n in range(6)]
    short = stored(cache, keys, days=2, top=2)
    long = stored(cache, [*keys, Detail(b"giant", 99_000, "string")])

    assert [(change.name, change.word) for change in key_changes(short, long, Naming())] == [("giant", "new")]
    assert [(change.name, change.word) for change in key_changes(long, short, Naming())] == [("giant", "gone")]


def test_a_family_that_expires_is_not_told_to_expire(cache: Cache) -> None:
    html = page(f"/scans/{stored(cache, [Detail(b'user:%d' % n, 3_000, 'string', 5_000) for n in range(400)]).pk}/")

    assert "all of them expire" in html
    assert "Give these keys a TTL" not in html


def test_only_scans_of_the_same_question_are_compared(cache: Cache) -> None:
    stored(cache, usual_keys(), days=2, match="user:*")
    scan = stored(cache, usual_keys())

    assert "There is no earlier scan" in page(f"/scans/{scan.pk}/compare/")


def test_an_operator_adds_and_removes_schedules(cache: Cache) -> None:
    given: dict[str, Any] = {"begins": "02:00", "ends": "04:30", "weekdays": ["0", "6"], "brake": "gentle"}

    assert post("/caches/game/scans/schedule/", **given) == 302

    schedule = ScanSchedule.objects.get()
    assert (schedule.weekdays, schedule.zone, schedule.asked.top) == ([0, 6], "UTC", 100)
    shown = page("/caches/game/scans/")
    assert "02:00–04:30 UTC · gentle · " in shown
    assert " · 2 days a week" in shown
    assert post(f"/scans/schedules/{schedule.pk}/remove/") == 302
    assert not ScanSchedule.objects.exists()


@pytest.mark.parametrize("bad", [{"begins": "x"}, {"weekdays": []}, {"ends": "02:00"}, {"weekdays": ["9"]}])
def test_a_schedule_that_makes_no_sense_is_refused(cache: Cache, bad: dict[str, Any]) -> None:
    given: dict[str, Any] = {"begins": "02:00", "ends": "04:30", "weekdays": ["0"], **bad}

    assert post("/caches/game/scans/schedule/", **given) == 400
    assert not ScanSchedule.objects.exists()


@pytest.mark.parametrize(
    ("name", "kept", "hidden"),
    [
        (b"user:12345:profile", "user:~", "12345"),
        (b"user:12345:profile", "user:~", "profile"),
        (b"user_cache", "user_cache", "~"),
        (b"bob@example.com", "~", "bob"),
        (b"session:d41d8cd98f00b204", "session:~", "d41d8"),
        (b"user:*", "user:*", "~"),
        (b"item42", "~", "item"),
    ],
)
def test_ids_in_names_are_hashed(name: bytes, kept: str, hidden: str) -> None:
    text = masked(name)

    assert text.startswith(kept)
    assert hidden not in text


def test_the_same_id_has_the_same_hash_and_others_another() -> None:
    assert masked(b"a:1:x") == masked(b"a:1:x")
    assert masked(b"a:1") != masked(b"a:2")
    assert Naming(is_masked=False).key(b"a:1") == "a:1"


def test_viewers_see_hashes_where_that_is_the_rule(cache: Cache, settings: Settings) -> None:
    settings.MASK_KEY_NAMES = True
    scan = stored(cache, [Detail(b"user:alice@example.com", 20_000_000, "string", -1), Detail(b"user:7", 5)])
    live_scan = running(scanned_cache(name="other"), biggest=[["string", "user:alice", 7]])

    seen = (
        page(f"/scans/{scan.pk}/")
        + page(f"/scans/{live_scan.pk}/")
        + page(f"/scans/{scan.pk}/keys/{scan.top_keys.order_by('-size')[0].pk}/")
    )

    assert "alice" not in seen
    assert "user:~" in seen
    assert "alice@example.com" in page(f"/scans/{scan.pk}/", Role.OPERATOR)


def test_the_result_asks_the_database_no_more_for_more_keys(
    cache: Cache, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    scan, client = stored(cache, usual_keys()), client_of(Role.VIEWER)

    with django_assert_max_num_queries(QUERIES):
        client.get(f"/scans/{scan.pk}/")


def test_pages_are_there_in_japanese(cache: Cache) -> None:
    scan = stored(cache, usual_keys())
    client = client_of(Role.VIEWER)

    for address in (
        f"/scans/{scan.pk}/",
        "/scans/",
        "/caches/game/scans/",
        f"/scans/{running(scanned_cache(name='b')).pk}/",
    ):
        assert client.get(address, headers={"Accept-Language": "ja"}).status_code == 200
    translation.activate("en")


@pytest.mark.parametrize("address", ["/scans/1/", "/scans/1/compare/", "/scans/1/keys/1/", "/caches/none/scans/"])
def test_what_is_not_there_is_not_found(address: str, db: None) -> None:
    assert client_of(Role.VIEWER).get(address).status_code == 404
    assert Client().get(address).status_code == 302


def test_a_treemap_fills_its_box_without_overlap() -> None:
    areas = [1.2, 0.6, 0.4, 0.2, 0.15, 0.05]

    boxes = squarified(areas, ASPECT, 1.0)

    for (x, y, width, height), area in zip(boxes, areas, strict=True):
        assert width * height == pytest.approx(area)
        assert x >= 0
        assert x + width <= ASPECT + 1e-9
        assert y + height <= 1 + 1e-9
    for number, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, high in boxes[number + 1 :]:
            apart = (
                x + width <= left + 1e-9
                or left + wide <= x + 1e-9
                or y + height <= top + 1e-9
                or top + high <= y + 1e-9
            )
            assert apart


def test_a_treemap_of_nothing_is_empty() -> None:
    assert tiles([]) == []
    assert squarified([], 1, 1) == []
