"""Pages of silences: the list, the form, what it would hide, ending one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from alerts import matchers, silence_changes, telling
from alerts.alert import Alert, Transition
from alerts.models import Delivery
from alerts.silence import Silence
from alerts.tests.cast import AT
from collectors.event import Event, Kind
from dashboard.silence_form import proposal
from dashboard.tests.alert_cast import firing, incident, told

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
GIVEN = {"matchers": "cache=game", "comment": "planned", "length": "1h", "ends_at": ""}


def page(path: str = "/silences/", role: str = Role.OPERATOR) -> str:
    answer = client_of(role).get(path)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def preview(line: str) -> str:
    return page(f"/silences/preview/?matchers={line}")


def add(role: str = Role.OPERATOR, **changes: str) -> int:
    return client_of(role).post("/silences/add/", GIVEN | changes).status_code


def test_an_operator_silences_for_a_time() -> None:
    assert add(matchers=" cache=game \n\nseverity!=critical", length="4h") == 302

    made = Silence.objects.get()
    assert made.matchers == ["cache=game", "severity!=critical"]
    assert (made.author, made.comment) == ("operator", "planned")
    assert abs(made.ends_at - timezone.now() - timedelta(hours=4)) < timedelta(minutes=1)
    assert AuditEntry.objects.get(action="silence.add").target == "cache=game, severity!=critical"
    assert "in force" in page()


def test_an_exact_end_counts_before_the_length() -> None:
    end = timezone.now() + timedelta(days=3)

    add(ends_at=end.strftime("%Y-%m-%dT%H:%M"))

    assert abs(Silence.objects.get().ends_at - end) <= timedelta(minutes=1)


def note(hours: int | None = 2, **fields: Any) -> Event:
    until = None if hours is None else timezone.now() + timedelta(hours=hours)
    usual: dict[str, Any] = {"kind": Kind.LOAD_TEST, "title": "load test of the shop", "source": Event.Source.API}
    return Event.objects.create(until=until, **usual | fields)


def test_it_may_end_with_an_event() -> None:
    made = note()

    assert add(event=str(made.pk)) == 302

    assert Silence.objects.get().event == made
    assert "or the end of" in page()
    assert "load test of the shop</a>" in page()


def test_it_offers_notes_that_have_not_ended() -> None:
    for hours, title in ((2, "planned"), (None, "without an end"), (-1, "over")):
        note(hours, title=title)
    note(source=Event.Source.DETECTED, title="seen")

    seen = page(f"/silences/?event={Event.objects.get(title='planned').pk}")

    assert " selected>planned</option>" in seen
    assert ">without an end</option>" in seen
    assert ">over</option>" not in seen
    assert ">seen</option>" not in seen


def test_the_end_of_its_event_ends_it(db: None) -> None:
    told()
    made = note(None)
    watched = firing(0.1)
    add(event=str(made.pk))
    Silence.objects.update(starts_at=timezone.now() - timedelta(hours=1))
    watched.poll(0.95)
    assert not Delivery.objects.exists()

    Event.objects.filter(pk=made.pk).update(until=timezone.now() - timedelta(hours=1))
    telling.sweep(timezone.now())

    assert Delivery.objects.count() == 1


@pytest.mark.parametrize("event", ["7", "x", "-1"])
def test_an_event_that_is_not_there_is_refused(event: str) -> None:
    assert add(event=event) == 400
    assert page(f"/silences/?event={event}")


def test_it_may_begin_later() -> None:
    start = timezone.now().replace(second=0, microsecond=0) + timedelta(days=2)

    add(starts_at=start.strftime("%Y-%m-%dT%H:%M"), length="4h")

    made = Silence.objects.get()
    assert (made.starts_at, made.ends_at) == (start, start + timedelta(hours=4))
    assert "to come" in page()


def test_a_proposal_fills_the_form_in_for_a_person_to_confirm() -> None:
    start, end = datetime(2030, 1, 2, 3, tzinfo=UTC), datetime(2030, 1, 2, 4, tzinfo=UTC)

    html = page(proposal("cache=game", "Planned <b>", start, end))

    assert 'value="2030-01-02T03:00"' in html
    assert 'value="2030-01-02T04:00"' in html
    assert 'value="Planned &lt;b&gt;"' in html
    assert ">\ncache=game</textarea>" in html
    assert not Silence.objects.exists()


@pytest.mark.parametrize(
    "time", ["", "soon", "2030-01-02", "2030-01-02T03:00", "2030-13-02T03:00Z", "0001-01-01T00:00Z", "9" * 5_000]
)
def test_a_proposal_without_a_time_leaves_it_open(time: str) -> None:
    assert 'value="2030' not in page(f"/silences/?matchers=cache=game&starts_at={time}&ends_at={time}")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"matchers": ""}, "required"),
        ({"matchers": "cache"}, "cannot be read"),
        ({"matchers": "cache=~("}, "no regular expression"),
        ({"matchers": "cache=~(a+)+"}, "repeats a group"),
        ({"matchers": "\n".join(f"l{number}=x" for number in range(21))}, "at most 20"),
        ({"comment": ""}, "required"),
        ({"comment": "  "}, "required"),
        ({"comment": "a\u202eb"}, "printable characters"),
        ({"ends_at": "2020-01-01T00:00"}, "must lie ahead"),
        ({"ends_at": "2099-01-01T00:00"}, "lasts a year at most"),
        ({"length": "ever"}, "valid choice"),
    ],
)
def test_it_refuses_what_cannot_be_kept_beside_its_field(changes: dict[str, str], words: str) -> None:
    answer = client_of(Role.OPERATOR).post("/silences/add/", GIVEN | changes)

    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert not Silence.objects.exists()


def test_the_preview_counts_what_is_hidden_now() -> None:
    firing(0.95, 0.85, 0.1, shards=3)

    assert "It hides 2 alerts" in page("/silences/preview/?matchers=cache%3Dgame")
    assert "It hides 1 alert that" in page("/silences/preview/?matchers=severity%3Dcritical")
    assert "It hides 0 alerts" in page("/silences/preview/?matchers=cache%3Dshop")


@pytest.mark.parametrize("lines", ["", "nonsense", "a=~(", HOSTILE])
def test_the_preview_says_what_cannot_be_read(lines: str) -> None:
    seen = page(f"/silences/preview/?matchers={lines}")

    assert "It hides" not in seen
    assert HOSTILE not in seen


def test_what_it_hides_is_not_told_until_it_ends() -> None:
    told()
    add()
    Silence.objects.update(starts_at=timezone.now() - timedelta(hours=1))

    firing(0.95)
    before = Delivery.objects.count()
    made = Silence.objects.get()
    client_of(Role.OPERATOR).post(f"/silences/{made.pk}/end/")
    telling.sweep(timezone.now())

    assert (before, Delivery.objects.count()) == (0, 1)
    assert "End now" not in page()


def test_one_that_is_over_cannot_be_ended_again() -> None:
    add()
    made = Silence.objects.get()
    path = f"/silences/{made.pk}/end/"
    client_of(Role.OPERATOR).post(path)
    ended_at = Silence.objects.get().ends_at

    client_of(Role.OPERATOR).post(path)

    assert Silence.objects.get().ends_at == ended_at
    assert AuditEntry.objects.filter(action="silence.end").count() == 1


def test_an_incident_leads_to_a_form_that_is_filled() -> None:
    firing(0.95)

    seen = client_of(Role.OPERATOR).get(incident().get_absolute_url())

    query = seen.context["silence_query"]
    assert f"/silences/?{query}" in seen.content.decode().replace("&amp;", "&")
    assert "rule=memory\ncache=game\nnode=127.0.0.1:7010" in page(f"/silences/?{query}")


def test_viewers_only_look() -> None:
    add()
    made = Silence.objects.get()

    assert add(Role.VIEWER) == 403
    assert client_of(Role.VIEWER).post(f"/silences/{made.pk}/end/").status_code == 403
    assert "New silence" not in page(role=Role.VIEWER)


def test_where_there_is_none_it_says_what_to_do() -> None:
    assert "make a silence below" in page()


def test_it_shows_hostile_words_as_text() -> None:
    add(comment=HOSTILE)

    assert HOSTILE not in page()


@pytest.mark.parametrize("count", [1, 30])
def test_it_asks_the_database_the_same_however_many_there_are(
    count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _number in range(count):
        add()
    client = client_of(Role.OPERATOR)

    with django_assert_max_num_queries(8):
        client.get("/silences/")


def test_the_preview_counts_what_it_would_have_hidden_lately() -> None:
    watched = firing()
    for share in (0.5, 0.85):
        watched.poll(share)
    Transition.objects.filter(severity="critical", state="firing").update(at=watched.at - timedelta(days=8))

    assert "would have hidden 1 alert that" in preview("cache%3Dgame")
    assert "would have hidden 0 alerts" in preview("cache%3Dshop")
    assert "would have hidden 0 alerts" in preview("severity%3Dcritical")
    assert "would have hidden 1 alert that" in preview("severity%3Dwarning")


def began(days: float, state: str = "firing", was: str = "", severity: str = "critical") -> None:
    """Write down of the only alert that it changed so many days ago."""
    at, alert = timezone.now() - timedelta(days=days), Alert.objects.get()
    Transition.objects.create(alert=alert, at=at, state=state, was=was, severity=severity, reason="threshold")


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("cache=game", 5),
        ("cache=g*", 5),
        ("severity=critical", 3),
        ("severity=warning", 2),
        ("cache!=game", 0),
        ("node=~127.*", 5),
        ("rule=memory", 5),
        ("rule=other", 0),
    ],
)
def test_the_figure_of_the_week_is_what_a_person_would_count(line: str, count: int) -> None:
    firing()
    Transition.objects.all().delete()
    # Five that began to fire in the week ...
    for days, severity in ((0, "critical"), (1, "critical"), (3, "warning"), (6.5, "critical"), (6.99, "warning")):
        began(days, severity=severity)
    # ... and what is no beginning, or too old.
    began(7.01)
    began(2, state="pending")
    began(2, state="resolved", was="firing")
    began(2, state="recovering", was="firing")
    began(2, state="firing", was="recovering")
    began(2, state="flapping", was="firing")

    assert silence_changes.hidden_lately(matchers.parse([line]), timezone.now()) == count


def test_what_fits_now_is_counted_pending_or_firing() -> None:
    firing()
    given = {"rule_key": "soon", "target": "c1", "cache_name": "game", "labels": {"cache": "game"}}
    for state in ("pending", "resolved"):
        Alert.objects.create(**given | {"target": state}, state=state, began_at=AT, judged_at=AT)

    assert len(silence_changes.hidden_now(matchers.parse(["cache=game"]))) == 2
    assert len(silence_changes.hidden_now(matchers.parse(["rule=soon"]))) == 1
