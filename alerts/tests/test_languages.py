"""Messages in the language of their channel, and titles in that of the reader."""

import orjson
import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone, translation

from accounts.models import Role
from accounts.tests.cast import client_of, person
from alerts import channel_changes, decision_words, escalation, incident_acts, languages, outbox, self_tests, sender
from alerts.acknowledge_links import Link
from alerts.decision import Decision
from alerts.message import Fact, Message, Words
from alerts.models import Channel, Delivery, Incident
from alerts.remark import person_words
from alerts.route import Route
from alerts.tests.cast import AT, KEY, channel, message, opened
from alerts.tests.judged import Fleet, fleet, rule
from alerts.tests.peers import Service
from dashboard import timeline

pytestmark = pytest.mark.django_db
JAPANESE = "game: メモリが上限に近い: シャード 1、127.0.0.1:7010 95%（しきい値 90%）"
ENGLISH = "game: Memory near its limit: shard 1, 127.0.0.1:7010 95% (bound 90%)"


def told(*languages: str) -> list[Channel]:
    """Make a channel of each language, and the route to them."""
    root = Route.objects.create(name="root")
    made = [channel(f"pager {language}") for language in languages]
    for one, language in zip(made, languages, strict=True):
        Channel.objects.filter(pk=one.pk).update(language=language)
    root.channels.set(made)
    return made


def firing(share: float = 0.95) -> Fleet:
    rule(title="Memory near its limit")
    watched = fleet()
    watched.poll(share)
    return watched


def incident() -> Incident:
    return Incident.objects.get()


@languages.in_every_language
def greeting(name: str) -> Message:
    return message(translation.gettext("Acknowledged"), text=name, facts=())


def test_a_message_is_the_site_s_and_holds_the_words_of_others() -> None:
    with translation.override("ja"):
        made = greeting("you")

    assert (made.title, made.others) == ("Acknowledged", {"ja": Words("確認済み", "you")})


def test_words_that_are_the_same_are_kept_once() -> None:
    assert languages.in_every_language(message)("game: Memory").others == {}


def test_it_is_spoken_in_one_language() -> None:
    made = greeting("you")

    assert [made.spoken(code).title for code in ("ja", "en", "fr")] == ["確認済み", "Acknowledged", "Acknowledged"]
    assert made.spoken("ja").others == {}


def test_a_change_is_made_in_each_language() -> None:
    made = languages.changed(greeting("you"), lambda one: message(one.title + translation.gettext("Critical")))

    assert (made.title, made.others["ja"].title) == ("AcknowledgedCritical", "確認済み重大")


def test_it_survives_the_outbox() -> None:
    made = languages.in_every_language(lambda: message(facts=(Fact(translation.gettext("Critical"), "1"),)))()

    stored = orjson.loads(orjson.dumps(made.as_json()))

    assert Message.from_json(stored) == made


def test_one_that_an_older_version_wrote_is_read() -> None:
    stored = message().as_json()
    del stored["others"]

    assert Message.from_json(stored).spoken("ja") == message()


def test_the_title_of_an_incident_is_that_of_the_reader() -> None:
    firing()

    with translation.override("ja"):
        assert incident().heading == JAPANESE
    assert incident().heading == incident().title == ENGLISH


def test_one_that_was_told_before_titles_had_languages_keeps_its_own() -> None:
    opened()

    with translation.override("ja"):
        assert incident().heading == incident().title


@pytest.mark.parametrize("path", ["/alerts/", "/alerts/history/", "/incidents/{}/"])
def test_pages_show_it_in_the_language_of_the_reader(path: str) -> None:
    firing()
    client = client_of(Role.VIEWER)
    client.cookies["django_language"] = "ja"

    seen = client.get(path.format(incident().pk)).content.decode()

    assert JAPANESE in seen
    assert ENGLISH not in seen


def test_history_is_searched_in_the_language_of_the_reader() -> None:
    firing()
    client = client_of(Role.VIEWER)
    client.cookies["django_language"] = "ja"

    for path in ("/alerts/", "/alerts/history/"):
        assert JAPANESE in client.get(path, {"q": "上限に近い"}).content.decode()


def test_each_channel_is_told_in_its_language(pagerduty: Service) -> None:
    told("en", "ja")
    firing()

    sender.drain()

    summaries = {one.json["payload"]["summary"] for one in pagerduty.seen}
    links = {link["text"] for one in pagerduty.seen for link in one.json["links"]}
    assert summaries == {ENGLISH, JAPANESE}
    assert links <= {"Open in Shardwatch", "Shardwatch で開く", "Acknowledge", "確認する"}


def test_what_follows_is_told_in_it_too(pagerduty: Service) -> None:
    told("ja")
    watched = firing()
    incident_acts.acknowledge(person(Role.OPERATOR), incident(), timezone.now())
    watched.poll(0.1)

    texts = [outbox.Claim(row, 0).message() for row in Delivery.objects.select_related("incident", "channel")]

    assert [one.title for one in texts] == [JAPANESE, JAPANESE, f"終了: {JAPANESE}"]
    assert "が対応中です" in texts[1].text


def test_the_next_in_line_hears_why_in_its_language() -> None:
    told("ja")
    firing()
    made = incident()
    made.paged_at = AT

    worded = escalation.worded(greeting("you"), made, AT)

    assert worded.text == "Nobody has acknowledged it for 0 s.\nyou"
    assert worded.spoken("ja").text.endswith("誰も確認していません。\nyou")


def test_a_test_and_a_self_test_speak_it() -> None:
    made = told("ja")[0]

    self_tests.begin([made], timezone.now())
    channel_changes.send_test(person(Role.ADMIN), made)

    titles = [outbox.Claim(row, 0).message().title for row in Delivery.objects.select_related("incident", "channel")]
    assert "チャンネル pager ja のセルフテスト" in titles


def test_whoever_followed_a_link_is_named_in_the_language_of_the_reader() -> None:
    told("ja")
    firing()
    incident_acts.acknowledge_by_link(Link(incident(), "pager"), timezone.now())
    text = outbox.Claim(Delivery.objects.get(kind="acknowledge"), 0).message().text

    with translation.override("ja"):
        assert (incident().looked_after_by, text) == ("pager のリンク", "pager のリンク が対応中です。")
        assert "pager のリンク" in [entry.author for entry in timeline.entries(incident(), [])]
    assert incident().looked_after_by == incident().acknowledged_by == "link in pager"


@pytest.mark.parametrize(
    ("name", "words"),
    [("ann", "ann"), ("link in a in b", "a in b のリンク"), ("Kim Lee in pager", "pager の Kim Lee"), ("", "")],
)
def test_people_of_services_are_named_with_their_service(name: str, words: str) -> None:
    with translation.override("ja"):
        assert person_words(name) == words


def test_a_decision_names_the_incident_that_hides_in_the_language_of_the_reader() -> None:
    data = {"behind": ENGLISH, "titles": {"ja": JAPANESE}}
    row = Decision(what=Decision.What.HIDDEN, data=data, at=AT, incident=opened())

    with translation.override("ja"):
        assert JAPANESE in decision_words.sentence(row)
    assert ENGLISH in decision_words.sentence(row)


def test_a_storm_names_its_rule_in_the_language_of_the_reader() -> None:
    data = {"rule": "Memory near its limit", "count": 10}
    row = Decision(what=Decision.What.STORM, data=data, at=AT, incident=opened())

    with translation.override("ja"):
        assert "メモリが上限に近い" in decision_words.sentence(row)


def test_a_channel_speaks_what_its_form_says() -> None:
    client, given = client_of(Role.ADMIN), {"name": "on-call", "routing_key": KEY}
    client.post("/channels/new/pagerduty/", {**given, "language": "ja"})
    made = Channel.objects.get()
    assert made.language == "ja"
    assert "Japanese" in client.get(f"/channels/{made.pk}/").content.decode()

    client.post(f"/channels/{made.pk}/edit/", {**given, "routing_key": ""})
    assert Channel.objects.get().language == "ja"
    client.post(f"/channels/{made.pk}/edit/", {**given, "language": "en"})
    assert Channel.objects.get().language == "en"


def test_without_a_word_it_speaks_the_language_of_the_site() -> None:
    client_of(Role.ADMIN).post("/channels/new/pagerduty/", {"name": "on-call", "routing_key": KEY})

    assert Channel.objects.get().language == "en"


def test_a_language_that_is_none_is_refused() -> None:
    given = {"name": "on-call", "routing_key": KEY, "language": "xx"}

    assert client_of(Role.ADMIN).post("/channels/new/pagerduty/", given).status_code == 400
    with pytest.raises(ValidationError):
        channel_changes.add(person(Role.ADMIN, "ann"), "pagerduty", "other", {"routing_key": KEY}, None, "xx")
