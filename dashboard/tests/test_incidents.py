"""The page of an incident: what it tells, and what a person can do."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone, translation
from pytest_django import DjangoAssertNumQueries

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of, person
from alerts import incident_acts, incident_chart
from alerts.alert import Alert
from alerts.decision import Decision
from alerts.models import Attempt, Channel, Incident, Reason, Route, Step
from alerts.remark import Remark
from alerts.silence import Silence
from alerts.tests.cast import channel, states
from collectors.event import Event, Kind
from dashboard import timeline
from dashboard.tests.alert_cast import firing, incident, told

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
QUERIES = 26


def page(role: str = Role.VIEWER) -> str:
    answer = client_of(role).get(incident().get_absolute_url())
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def post(act: str, role: str = Role.OPERATOR, **data: str) -> int:
    return client_of(role).post(f"{incident().get_absolute_url()}{act}/", data).status_code


def words() -> list[str]:
    return [entry.words for entry in timeline.entries(incident(), timeline.alerts_of(incident()))]


def test_it_says_what_where_since_when_and_why() -> None:
    firing(0.95)

    seen = page()

    assert "game: Memory: shard 1, 127.0.0.1:7010 95% (bound 90%)" in seen
    assert "open · critical" in seen
    assert "/caches/game/" in seen
    assert "its condition came true" in seen


def test_it_draws_the_value_against_its_bound() -> None:
    watched = firing(0.5)
    for share in (0.7, 0.85, 0.95):
        watched.poll(share)

    picture = incident_chart.of(incident(), timeline.alerts_of(incident()), timezone.now())

    assert picture is not None
    assert (picture.highest, picture.bound) == ("95%", "90%")
    assert picture.bound_y is not None
    assert 0 < picture.bound_y < picture.height
    assert picture.path.startswith("M")
    assert 'class="bound"' in page()


def test_it_draws_nothing_where_nothing_was_measured() -> None:
    firing(0.95)
    Alert.objects.update(rule=None)

    assert incident_chart.of(incident(), timeline.alerts_of(incident()), timezone.now()) is None
    assert "incident-chart" not in page()


def test_a_line_has_gaps_where_nothing_is_known() -> None:
    assert incident_chart.path([1.0, 2.0, None, 3.0]) == "M0.0 1.0h0L240.0 2.0M720.0 3.0h0"


def test_it_tells_what_changed_at_the_cache_before() -> None:
    watched = firing(0.95)
    for minutes, title in ((30, "Release 4.2"), (90, "Release 4.1")):
        at = watched.at - timedelta(minutes=minutes)
        Event.objects.create(cache=watched.cache, kind=Kind.DEPLOY, source="person", title=title, at=at)

    seen = page()

    assert "Release 4.2" in seen
    assert "Release 4.1" not in seen


def attempt(result: str, **given: Any) -> None:
    delivery = incident().deliveries.get()
    Attempt.objects.create(
        delivery=delivery, channel=delivery.channel, number=1, at=timezone.now(), result=result, **given
    )


def test_it_tells_each_decision_and_answer_in_order() -> None:
    told()
    watched = firing(0.95)
    attempt("accepted")
    incident().deliveries.update(state="accepted")

    found = timeline.entries(incident(), timeline.alerts_of(incident()))

    assert [entry.kind for entry in found] == ["alert", "decision", "delivery"]
    assert [entry.words for entry in found] == [
        "shard 1, 127.0.0.1:7010: firing (critical)",
        "Told of 1 alert, by the route root.",
        "pager accepted the message “trigger” at attempt 1.",
    ]
    assert found[0].detail == "95% (bound 90%)"
    assert found[0].at == watched.at


def test_it_says_why_nobody_was_told() -> None:
    now = timezone.now()
    made = Silence.objects.create(
        matchers=["cache=game"],
        author="ann",
        comment="resharding",
        starts_at=now - timedelta(hours=1),
        ends_at=now + timedelta(hours=1),
    )

    firing(0.95)

    until = f"{made.ends_at:%Y-%m-%d %H:%M} UTC"
    told = f"Not told of shard 1, 127.0.0.1:7010: silence {made.pk} of ann hides it until {until} (resharding)."
    assert told in words()


def test_a_message_that_waits_says_what_for() -> None:
    told()
    firing(0.95)
    until = timezone.now() + timedelta(minutes=2)
    Channel.objects.update(held_until=until)

    assert f"The message “trigger” to pager: waiting. It is tried at {until:%Y-%m-%d %H:%M:%S} UTC." in words()

    Channel.objects.update(broken_at=until, broken_cause="refused", broken_words="")

    assert any(one.startswith("The message “trigger” to pager: waiting. The channel is broken: ") for one in words())


def test_a_fall_back_says_for_whom_it_was_told() -> None:
    told()
    firing(0.95)
    incident().deliveries.update(stands_in_for=channel("second"))
    attempt("accepted")

    assert (
        "pager accepted the message “trigger” at attempt 1. It stands in for second, which did not get it out."
        in words()
    )


def test_a_sleep_ends_by_the_clock_of_the_reader() -> None:
    firing(0.95)
    at = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    incident_acts.snooze(person(Role.OPERATOR), incident(), at + timedelta(hours=1), at)

    with timezone.override(ZoneInfo("Asia/Tokyo")):
        assert "Put it to sleep until 2026-03-01 22:00:00 JST" in words()


def test_a_silence_that_was_noted_by_its_number_alone_is_told_by_it() -> None:
    firing(0.95)
    Decision.objects.update(what=Decision.What.SILENCED, data={"silence": 7})

    assert "Not told of shard 1, 127.0.0.1:7010: silence 7 hides it." in words()


def test_it_says_that_a_route_has_no_channel() -> None:
    firing(0.95)

    assert "Nobody was told: the route root has no channel." in words()


def test_it_says_what_waits_at_a_channel() -> None:
    told()
    firing(0.95)

    assert "The message “trigger” to pager: waiting." in words()


@pytest.mark.parametrize("what", Decision.What.values)
def test_every_decision_has_a_sentence_in_each_language(what: str) -> None:
    firing(0.95)
    Decision.objects.all().delete()
    Decision.objects.create(incident=incident(), at=timezone.now(), what=what)

    for language in ("en", "ja"):
        with translation.override(language):
            assert all(words())


def test_it_tells_why_a_service_refused() -> None:
    told()
    firing(0.95)
    attempt("final", cause="not_allowed", words="403", status=403, answer=HOSTILE)

    seen = page()

    assert "The service did not accept the key or the password (HTTP 403)." in seen
    assert HOSTILE not in seen


def test_an_earlier_incident_tells_only_of_its_own_time() -> None:
    watched = firing(0.95)
    watched.poll(0.1)
    watched.poll(0.97)
    first, second = Incident.objects.order_by("opened_at")

    told_first = timeline.entries(first, timeline.alerts_of(first))
    told_second = timeline.entries(second, timeline.alerts_of(second))

    assert [entry.detail for entry in told_first if entry.kind == "alert"] == ["95% (bound 90%)", "10% (bound 80%)"]
    assert [entry.detail for entry in told_second if entry.kind == "alert"] == ["97% (bound 90%)"]


def test_an_operator_acknowledges_and_those_who_were_told_hear_it() -> None:
    told()
    firing(0.95)

    post("acknowledge")

    found = incident()
    assert (found.acknowledged_by, found.is_open) == ("operator", True)
    assert [kind for kind, _state in states(found)] == ["trigger", "acknowledge"]
    assert AuditEntry.objects.filter(action="incident.acknowledged").exists()
    assert "operator looks after it since" in page()


def test_only_the_first_one_acknowledges() -> None:
    told()
    firing(0.95)

    post("acknowledge")
    post("acknowledge", Role.ADMIN)

    assert incident().acknowledged_by == "operator"
    assert len(states(incident())) == 2


def test_notes_stand_in_the_timeline() -> None:
    firing(0.95)

    post("note", text=f"  moved the keys {HOSTILE} ")

    assert Remark.objects.get().text == f"moved the keys {HOSTILE}"
    assert "moved the keys &lt;script" in page()


@pytest.mark.parametrize("text", ["", "   ", "x" * 2001, "a\u202eb", "a\u2066b", "\ufeffab", "a\x1b[2Jb"])
def test_it_keeps_no_note_without_words_nor_one_without_end_nor_one_that_hides_some(text: str) -> None:
    firing(0.95)

    assert post("note", text=text) == 302
    assert not Remark.objects.exists()


def test_notes_may_have_lines_and_every_script() -> None:
    firing(0.95)

    post("note", text="first\r\n\tsecond 日本語 العربية \U0001f469\u200d\U0001f4bb")

    assert Remark.objects.get().text == "first\r\n\tsecond 日本語 العربية \U0001f469\u200d\U0001f4bb"


def test_a_person_closes_it_and_all_hear_that() -> None:
    told()
    watched = firing(0.95)

    post("close")
    post("close")
    watched.poll(0.96)

    found = incident()
    assert found.end_reason == Reason.CLOSED_BY_PERSON
    assert [kind for kind, _state in states(found)] == ["trigger", "resolve"]
    assert "closed by a person" in page()


@pytest.mark.parametrize("act", ["acknowledge", "note", "close"])
def test_viewers_only_look(act: str) -> None:
    firing(0.95)

    assert post(act, Role.VIEWER, text="hello") == 403
    assert f"/{act}/" not in page(Role.VIEWER)
    assert incident().is_open


def test_it_outlives_its_cache() -> None:
    watched = firing(0.95)
    watched.cache.delete()

    seen = page()

    assert "game" in seen
    assert "/caches/game/" not in seen


def test_it_refreshes_only_what_changed() -> None:
    watched = firing(0.95)
    client, url = client_of(), incident().get_absolute_url()
    version = client.get(url).context["version"]

    same = client.get(f"{url}?version={version}", headers={"HX-Request": "true"})
    watched.poll(0.85)
    changed = client.get(f"{url}?version={version}", headers={"HX-Request": "true"})

    assert (same.status_code, changed.status_code) == (204, 200)


@pytest.mark.parametrize("pk", [999_999, 0, 2**70])
def test_an_incident_that_is_not_there_is_not_found(pk: int) -> None:
    assert client_of().get(f"/incidents/{pk}/").status_code == 404


@pytest.mark.parametrize("shards", [1, 5])
def test_it_asks_the_database_the_same_however_many_alerts_it_has(
    shards: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    told()
    firing(*[0.95] * shards, shards=shards)
    client, url = client_of(), incident().get_absolute_url()
    client.get(url)

    with django_assert_max_num_queries(QUERIES):
        client.get(url)


def test_it_says_who_is_told_next() -> None:
    told()
    step = Step.objects.create(route=Route.objects.get(), after_seconds=600)
    step.channels.add(channel("second pager"))
    firing()

    assert "told next: second pager" in page()

    Incident.objects.update(acknowledged_at=timezone.now())
    assert "told next" not in page()


def test_an_operator_hands_it_over_and_lets_it_sleep() -> None:
    told()
    firing()

    assert post("assign", to="operator") == 302
    assert post("snooze", length="1h") == 302

    seen = page(Role.OPERATOR)
    assert "operator is to look after it" in seen
    assert "sleeps until" in seen
    assert {"Gave it to operator"} <= set(words())


@pytest.mark.parametrize(("act", "given"), [("assign", {"to": HOSTILE}), ("snooze", {"length": "99y"}), ("snooze", {})])
def test_what_makes_no_sense_is_said_and_changes_nothing(act: str, given: dict[str, str]) -> None:
    firing()

    assert post(act, **given) == 302

    assert (incident().assigned_to, incident().snoozed_until) == ("", None)


def test_viewers_hand_nothing_over() -> None:
    firing()

    assert (post("assign", Role.VIEWER, to="x"), post("snooze", Role.VIEWER, length="1h")) == (403, 403)
    assert "Hand it over" not in page()


def test_of_one_that_is_over_it_says_who_acknowledged_not_who_looks_after_it() -> None:
    watched = firing(0.95)
    incident_acts.acknowledge(person(Role.OPERATOR, "ann"), incident(), watched.at)
    assert "ann looks after it since" in page()

    watched.poll(0.1)

    seen = page()
    assert f"Acknowledged by ann at {watched.at - timedelta(seconds=watched.every):%Y-%m-%d %H:%M:%S} UTC." in seen
    assert "looks after it" not in seen
