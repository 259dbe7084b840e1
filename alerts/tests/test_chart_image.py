"""The chart of an incident in its mails."""

import math
from email.message import Message

import pytest
from django.core import mail

from alerts import chart_image, sender
from alerts.alert import Alert
from alerts.channels import KINDS, email
from alerts.models import Incident
from alerts.png import SIGNATURE
from alerts.route import Route
from alerts.tests.cast import channel, opened, sending
from alerts.tests.judged import Fleet, fleet, rule
from alerts.tests.test_png import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def watched(db: None) -> Fleet:
    """A cache whose memory rose above its bound, told by mail."""
    rule()
    Route.objects.create(name="root").channels.add(channel("mail", "email", to=["a@example.org"]))
    made = fleet()
    for share in (0.5, 0.7, 0.95):
        made.poll(share)
    return made


def parts() -> dict[str, Message]:
    """Return the parts of the one mail that was sent, by their type."""
    (sent,) = mail.outbox
    return {part.get_content_type(): part for part in sent.message().walk()}


def test_a_mail_shows_the_chart_within_its_text(watched: Fleet) -> None:
    sender.drain()

    found = parts()
    image = found["image/png"]
    assert list(found) == ["multipart/related", "multipart/alternative", "text/plain", "text/html", "image/png"]
    assert (image["Content-ID"], image.get_content_disposition()) == (f"<{email.CHART}>", "inline")
    assert f"cid:{email.CHART}".encode() in bytes(found["text/html"].get_payload(decode=True))
    assert bytes(image.get_payload(decode=True)).startswith(SIGNATURE)


def test_the_text_says_what_the_chart_shows(watched: Fleet) -> None:
    sender.drain()

    said = bytes(parts()["text/plain"].get_payload(decode=True)).decode()
    assert "Memory (shard 1, 127.0.0.1:7010)" in said
    assert "from 50% to 95%, bound 90%" in said


def test_the_image_has_the_line_its_bound_and_when_it_began(watched: Fleet) -> None:
    chart = chart_image.of(Incident.objects.get(), "en")

    assert chart is not None
    colours = set("".join(rows(chart.png)))
    assert colours == {"0", "1", "2", "3", "4"}
    assert len(chart.png) < 20_000


def test_a_line_has_gaps_where_nothing_is_known(watched: Fleet) -> None:
    watched.poll(None)
    watched.poll(0.95)

    assert chart_image.of(Incident.objects.get(), "en") is not None


def test_what_was_not_measured_has_no_chart(watched: Fleet) -> None:
    Alert.objects.update(rule=None)

    sender.drain()

    assert "image/png" not in parts()
    assert "cid:" not in bytes(parts()["text/html"].get_payload(decode=True)).decode()


def test_a_chart_that_cannot_be_drawn_keeps_no_mail_back(watched: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    Alert.objects.update(bound=math.inf)

    sender.drain()

    assert "image/png" not in parts()
    assert "could not be drawn" in caplog.text


def test_a_test_needs_none() -> None:
    opened(channel("mail", "email", to=["a@example.org"]))

    sender.drain()

    assert "image/png" not in parts()


def test_only_mails_show_charts() -> None:
    assert [name for name, kind in KINDS.items() if kind.shows_chart] == ["email"]


@pytest.mark.parametrize(("language", "words"), [("en", "bound 90%"), ("ja", "しきい値 90%")])
def test_it_speaks_the_language_of_the_channel(watched: Fleet, language: str, words: str) -> None:
    chart = chart_image.of(Incident.objects.get(), language)

    assert chart is not None
    assert words in chart.words


def test_a_mail_without_a_chart_is_text_and_html_alone() -> None:
    letter = email.letter(["a@example.org"], sending()).message()

    assert letter.get_content_type() == "multipart/alternative"
