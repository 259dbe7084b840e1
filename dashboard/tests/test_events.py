"""Pages of events: lists, the form for notes, the story of one."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Role
from accounts.tests.cast import client_of
from collectors import samples, tallies
from collectors.event import NOTE_KINDS, Event, Kind
from collectors.models import NodeStatus
from collectors.tallies import ERROR, NodeTallies, Tally
from collectors.tests.cast import cache_with_nodes, noon, reading
from dashboard import event_words, failover_story
from dashboard.event_words import sentence
from dashboard.tests.test_fleet import sampled
from fleet.models import Cache

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
ONE = {"id": 1, "address": "10.0.0.1:7001", "shard": 1, "role": "primary", "answers": True}
TWO = {"id": 2, "address": "10.0.0.1:7002", "shard": 1, "role": "replica", "answers": True}
THREE = {"id": 3, "address": "10.0.0.1:7003", "shard": 2, "role": "primary", "answers": True}

CHANGED: dict[str, Any] = {"from": "primary", "to": "replica"}


def page(path: str, role: str = Role.VIEWER) -> str:
    answer = client_of(role).get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def seen(kind: Kind, count: int = 1, seconds: float | None = None, **data: Any) -> Event:
    at = noon()
    until = None if seconds is None else at + timedelta(seconds=seconds)
    return Event(kind=kind, at=at, until=until, count=count, data={"nodes": [ONE], **data})


def told_failover(cache: Cache, **data: Any) -> Event:
    old, new = ({**node, "id": row.pk} for node, row in zip((ONE, TWO), cache.nodes.order_by("pk"), strict=True))
    after = [{**new, "role": "primary"}, {**old, "role": "", "answers": False}]
    known = {"shard": 1, "from": old, "to": new, "before": [old, new], "after": after, "is_forced": True}
    known |= {"nodes": [new], "old_answered_at": noon(-20).timestamp()}
    return Event.objects.create(cache=cache, kind=Kind.FAILOVER, at=noon(), data={**known, **data})


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (seen(Kind.RESTART), "10.0.0.1:7001 restarted"),
        (seen(Kind.RESTART, 3, 40, nodes=[{**ONE, "times": 3}]), "10.0.0.1:7001 restarted, 3 times"),
        (seen(Kind.RESTART, 1, nodes=[ONE, TWO, THREE]), "3 nodes restarted"),
        (seen(Kind.UNREACHABLE), "10.0.0.1:7001 does not answer"),
        (seen(Kind.UNREACHABLE, 1, 90), "10.0.0.1:7001 did not answer for 1 min"),
        (seen(Kind.UNREACHABLE, nodes=[ONE, TWO]), "10.0.0.1:7001, 10.0.0.1:7002 do not answer"),
        (
            seen(Kind.UNREACHABLE, 1, 90, stale_possible=True),
            "10.0.0.1:7001 did not answer for 1 min, was only cut off and may have served stale data",
        ),
        (
            seen(Kind.SCALING, shards_before=3, shards_after=4, nodes_before=6, nodes_after=8, slots=4096),
            "Scaling: 3 to 4 shards, 6 to 8 nodes, 4\u202f096 slots moved",
        ),
        (
            seen(Kind.SCALING, shards_before=3, shards_after=1, nodes_before=2, nodes_after=1),
            "Scaling: 3 to 1 shard, 2 to 1 node",
        ),
        (seen(Kind.SCALING, nodes_before=6, nodes_after=6), "Scaling: nodes replaced"),
        (seen(Kind.SLOTS, slots=3, ways={"1 4": 3}), "Slots moved: 3 from shard 1 to 4"),
        (seen(Kind.SLOTS, slots=6, ways={"1 4": 2, "2 4": 2, "3 4": 2}), "6 slots moved between shards"),
        (seen(Kind.MOVED, nodes=[{**ONE, "before": "a:1"}]), "a:1 moved to 10.0.0.1:7001"),
        (seen(Kind.JOINED), "10.0.0.1:7001 joined"),
        (seen(Kind.LEFT, nodes=[ONE, TWO]), "10.0.0.1:7001, 10.0.0.1:7002 left"),
        (
            seen(Kind.CONFIG, changes={"maxmemory": [2**20, 0], "maxclients": [10, 20]}),
            "10.0.0.1:7001: maxmemory from 1\u00a0MiB to no limit, maxclients from 10 to 20",
        ),
        (
            seen(Kind.VERSION, changes={"version": ["Valkey 9.0.0", "Valkey 9.1.0"]}),
            "10.0.0.1:7001: from Valkey 9.0.0 to Valkey 9.1.0",
        ),
        (seen(Kind.ROLE, **CHANGED), "10.0.0.1:7001 changed from primary to replica"),
        (seen(Kind.EVICTION), "10.0.0.1:7001 evicts keys to make room"),
        (seen(Kind.EVICTION, nodes=[ONE, TWO]), "10.0.0.1:7001, 10.0.0.1:7002 evict keys to make room"),
        (seen(Kind.EVICTION, 1, 300), "10.0.0.1:7001 evicted keys for 5 min to make room"),
        (seen(Kind.EVICTION, 1, 0), "10.0.0.1:7001 evicted keys to make room"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_says_what_happened(event: Event, words: str) -> None:
    assert sentence(event) == words


def test_every_kind_has_a_mark_and_words() -> None:
    assert set(event_words.MARKS) == set(Kind.values)
    assert set(event_words.SENTENCES) == set(Kind.values) - set(NOTE_KINDS)
    assert len({mark.letter for mark in event_words.MARKS.values()}) == len(Kind)


def test_it_lists_a_story_with_its_parts() -> None:
    story = told_failover(cache_with_nodes(1, 1))
    Event.objects.create(
        cache=story.cache, kind=Kind.UNREACHABLE, at=noon(-15), story=story, data={"nodes": [ONE]}, until=noon(60)
    )

    html = page("/caches/game/events/?span=all")

    assert html.index("took over from 10.0.0.1:7001, which had stopped answering") < html.index("did not answer for")
    assert "is-part" in html


def test_it_filters_by_kind_and_time() -> None:
    cache = cache_with_nodes()
    Event.objects.create(cache=cache, kind=Kind.DEPLOY, source="person", title="Release", at=timezone.now())
    Event.objects.create(
        cache=cache, kind=Kind.OTHER, source="person", title="Old", at=timezone.now() - timedelta(days=20)
    )

    assert "Old" not in page("/caches/game/events/")
    assert "Old" in page("/caches/game/events/?span=30d")
    assert "Release" not in page("/caches/game/events/?span=30d&kind=other")
    assert "Release" in page("/events/?kind=nonsense&span=nonsense&page=99")


def test_it_asks_the_database_no_more_often_for_more_events(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    cache = cache_with_nodes()
    for _ in range(60):
        Event.objects.create(cache=cache, kind=Kind.DEPLOY, source="person", title="x")
    client = client_of()

    with django_assert_max_num_queries(7):
        client.get("/events/")


def test_a_note_is_added_by_hand() -> None:
    cache_with_nodes()
    client = client_of(Role.OPERATOR)
    given = {"kind": "load-test", "title": HOSTILE, "at": "2026-05-04T12:00", "until": "2026-05-04T13:00:00", "url": ""}

    answer = client.post("/caches/game/events/add/", given, follow=True)

    note = Event.objects.get()
    assert (note.author, note.source, note.at.hour, note.until and note.until.hour) == ("operator", "person", 12, 13)
    assert answer.redirect_chain == [("/caches/game/events/", 302)]
    html = page(f"/events/{note.pk}/") + page("/caches/game/events/?span=all")
    assert HOSTILE not in html
    assert "&lt;script&gt;" in html


def test_a_note_for_the_whole_fleet_is_on_every_cache() -> None:
    cache_with_nodes()
    client_of(Role.OPERATOR).post("/events/add/", {"kind": "deploy", "title": "Release for all"})

    assert "Release for all" in page("/caches/game/events/")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"kind": "failover", "title": "x"},
        {"kind": "deploy", "title": "x", "at": "soon"},
        {"kind": "deploy", "title": "x", "until": "2001-01-01T00:00"},
        {"kind": "deploy", "title": "x", "url": "javascript:alert(1)"},
        {"kind": "deploy", "title": "x", "at": "0001-01-01T00:00"},
        {"kind": "deploy", "title": "x" * 301},
    ],
)
def test_it_shows_again_what_cannot_be_kept(given: dict[str, str]) -> None:
    cache_with_nodes()

    answer = client_of(Role.OPERATOR).post("/caches/game/events/add/", given)

    assert answer.status_code == 400
    assert b"errorlist" in answer.content
    assert not Event.objects.exists()


def test_viewers_read_only() -> None:
    cache_with_nodes()
    note = Event.objects.create(kind=Kind.DEPLOY, source="person", title="Release", author="op")

    assert "Add a note" not in page("/caches/game/events/")
    for path in ("/caches/game/events/add/", "/events/add/", f"/events/{note.pk}/end/"):
        assert client_of().post(path, {"kind": "deploy", "title": "x"}).status_code == 403


def test_a_note_is_ended_with_a_button() -> None:
    note = Event.objects.create(kind=Kind.LOAD_TEST, source="person", title="Load", author="op")

    client_of(Role.OPERATOR).post(f"/events/{note.pk}/end/")

    note.refresh_from_db()
    assert note.until
    assert client_of(Role.OPERATOR).post(f"/events/{note.pk}/end/").status_code == 404


def test_a_failover_reads_as_a_story() -> None:
    cache = cache_with_nodes(1, 1)
    primary, replica = cache.nodes.order_by("pk")
    for step in range(-20, 21):
        seconds = step * 15
        is_down = -1 <= step < 1
        known = {"cluster_state_ok": not is_down, "cluster_slots_ok": 0 if is_down else 16384, "total_error_replies": 0}
        known["total_commands_processed"] = (step + 20) * (150 if step < 0 else 300)
        if step < 0:
            samples.write([reading(primary, seconds, **known, sync_full=4)])
        samples.write([reading(replica, seconds, **known, sync_full=0 if step < 4 else 1)])
    story = told_failover(cache)

    html = page(f"/events/{story.pk}/")

    assert "Shard 1 before and after" in html
    assert "former primary" in html
    assert "<dd>30 s</dd>" in html
    assert "at most 20 s" in html
    assert "yes, 1" in html
    assert html.count("/s</td>") >= 3


def test_a_failover_without_samples_says_what_is_not_known() -> None:
    story = told_failover(cache_with_nodes(1, 1), is_forced=False, old_answered_at=None)

    html = page(f"/events/{story.pk}/")

    assert "not reported" in html
    assert "no gap seen" in html


def failed_over_lately(cache: Cache, minutes: int = 2) -> Event:
    at = timezone.now() - timedelta(minutes=minutes)
    story = told_failover(cache, old_answered_at=None)
    Event.objects.filter(pk=story.pk).update(at=at)
    return story


def test_a_story_names_the_errors_that_clients_got() -> None:
    cache = cache_with_nodes(1, 1)
    story, node = failed_over_lately(cache, 10), cache.nodes.order_by("pk")[0]
    for minutes, count in ((12, 6), (8, 600)):
        at = timezone.now().replace(microsecond=0) - timedelta(minutes=minutes)
        tallies.write([NodeTallies(node.pk, at, 60, ERROR, {"READONLY": Tally(count), "MOVED": Tally(count // 6)})])

    html = page(f"/events/{story.pk}/")

    assert html.index("<code>READONLY</code>") < html.index("<code>MOVED</code>")
    assert "Writes were sent to a replica." in html
    assert re.search(r'<td class="num">0.10/s</td><td class="num">10/s</td>', html)


def test_a_story_without_errors_says_so() -> None:
    assert "None was counted." in page(f"/events/{failed_over_lately(cache_with_nodes(1, 1)).pk}/")


def test_a_story_does_not_take_an_unmeasured_time_for_a_quiet_one() -> None:
    cache = cache_with_nodes(1, 1)
    story = failed_over_lately(cache)
    at = timezone.now().replace(microsecond=0) - timedelta(minutes=1)
    tallies.write([NodeTallies(cache.nodes.order_by("pk")[0].pk, at, 60, ERROR, {"OOM": Tally(60)})])

    (seen,) = failover_story.tell(Event.objects.get(pk=story.pk), timezone.now()).errors

    assert (seen.name, seen.before, seen.since) == ("OOM", None, 1.0)


def test_a_story_ends_with_the_shard_as_it_is_now() -> None:
    cache = cache_with_nodes(1, 1)
    sampled(cache, master_link_up=True, replication_lag_seconds=3)
    story = failed_over_lately(cache)

    html = page(f"/events/{story.pk}/")

    assert "The shard now" in html
    assert re.search(r"linked, 3\s+s behind", html)

    NodeStatus.objects.create(node=cache.nodes.get(role="replica"), failing_since=timezone.now(), failed_step="ping")
    present = failover_story.tell(Event.objects.get(pk=story.pk), timezone.now()).present

    assert [(node.role, node.answers) for node in present] == [("primary", True), ("replica", False)]


def test_a_story_says_that_a_replica_lost_its_primary_again() -> None:
    cache = cache_with_nodes(1, 1)
    sampled(cache, master_link_up=False)

    assert "link to its primary is down" in page(f"/events/{failed_over_lately(cache).pk}/")


def test_a_young_story_says_that_it_goes_on() -> None:
    cache = cache_with_nodes(1, 1)

    assert "since then, so far" in page(f"/events/{failed_over_lately(cache, 2).pk}/")
    assert "since then, so far" not in page(f"/events/{failed_over_lately(cache, 6).pk}/")


def test_an_old_story_says_nothing_of_the_shard_of_today() -> None:
    cache = cache_with_nodes(1, 1)

    assert "The shard now" in page(f"/events/{failed_over_lately(cache, 1_439).pk}/")
    assert "The shard now" not in page(f"/events/{failed_over_lately(cache, 1_441).pk}/")


def test_a_scaling_says_what_it_came_to() -> None:
    data = {"errors": 12, "rejected": 0, "spread": 0.2, "even_at": noon(120).timestamp(), "nodes_before": 3}
    event = Event.objects.create(
        cache=cache_with_nodes(), kind=Kind.SCALING, at=noon(), until=noon(60), data={**data, "nodes_after": 4}
    )

    html = page(f"/events/{event.pk}/")

    assert "after 2 min" in html
    assert "<dd>12</dd>" in html


def test_it_answers_404_for_an_event_that_is_not_there() -> None:
    assert client_of().get("/events/99/").status_code == 404
    assert client_of().get("/caches/nowhere/events/").status_code == 404
