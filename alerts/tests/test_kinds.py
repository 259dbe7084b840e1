"""What is particular to one kind of channel."""

import base64
import hashlib
import hmac
import time
from dataclasses import replace
from typing import Any

import orjson
import pytest
from django.core import mail
from pytest_django.fixtures import Settings

from alerts import wording
from alerts.channel import Accepted, ChannelKind, Final, RetryAt, Unknown
from alerts.channels import KINDS, alertmanager, email, google_chat, own_json, pagerduty, slack, teams, webhook
from alerts.channels.email import Email
from alerts.channels.pagerduty import PagerDuty
from alerts.channels.slack import SlackBot
from alerts.channels.teams import Teams
from alerts.channels.webhook import Webhook
from alerts.message import Fact
from alerts.models import Kind
from alerts.tests.cast import AT, KEY, sending
from alerts.tests.conftest import StartService
from alerts.tests.peers import Service, says

BOT = {"token": "xoxb-0000-0000000000", "channel": "C024BE91L"}
POSTED = {"ok": True, "channel": "C024BE91L", "ts": "17.3"}


def test_pagerduty_triggers_with_all_that_is_known(pagerduty: Service) -> None:
    PagerDuty().deliver({"routing_key": KEY}, sending())

    assert pagerduty.seen[0].path == "/v2/enqueue"
    assert pagerduty.seen[0].json == {
        "routing_key": KEY,
        "event_action": "trigger",
        "dedup_key": "shardwatch-abc",
        "client": "Shardwatch",
        "client_url": "https://watch.example.org/incidents/1/",
        "links": [
            {"href": "https://watch.example.org/incidents/1/", "text": "Shardwatch"},
            {"href": "https://runbooks.example.org/down", "text": "Run book"},
        ],
        "payload": {
            "summary": "game-cache: node-1 does not answer",
            "source": "game-cache",
            "severity": "critical",
            "timestamp": AT.isoformat(),
            "custom_details": {"text": "No answer since 12:00.", "Node": "10.0.0.1:6379", "Value": "0 of 1"},
        },
    }


@pytest.mark.parametrize("kind", [Kind.ACKNOWLEDGE, Kind.RESOLVE])
def test_pagerduty_needs_only_the_key_for_what_follows(kind: Kind) -> None:
    assert pagerduty.event(KEY, sending(kind)) == {
        "routing_key": KEY,
        "event_action": str(kind),
        "dedup_key": "shardwatch-abc",
    }


def test_pagerduty_gets_an_update_as_a_trigger_of_the_same_key() -> None:
    event = pagerduty.event(KEY, sending(Kind.UPDATE))

    assert (event["event_action"], event["dedup_key"]) == ("trigger", "shardwatch-abc")


def test_pagerduty_summaries_keep_to_the_limit() -> None:
    summary = pagerduty.event(KEY, sending(title="日" * 2_000))["payload"]["summary"]

    assert len(summary) == 1_024
    assert summary.endswith("…")


@pytest.mark.parametrize(
    ("key", "is_valid"), [(KEY, True), (KEY.upper(), True), (KEY[:-1], False), (KEY + "0", False), ("x y" * 11, False)]
)
def test_pagerduty_keys_have_32_characters(key: str, is_valid: bool) -> None:
    assert pagerduty.PagerDutyForm({"routing_key": key}).is_valid() is is_valid


def test_slack_mentions_nobody() -> None:
    text = str(slack.body(sending(title="<!channel> & <@U1>", text="<!here>")))

    assert "<!" not in text
    assert "<@" not in text
    assert "&lt;!channel&gt; &amp;" in text


@pytest.mark.parametrize(
    ("kind", "colour"), [(Kind.TRIGGER, "#c0392b"), (Kind.UPDATE, "#c0392b"), (Kind.RESOLVE, "#1e8449")]
)
def test_slack_shows_how_bad_it_is_by_colour(kind: Kind, colour: str) -> None:
    assert slack.body(sending(kind))["attachments"][0]["color"] == colour


def test_slack_keeps_to_the_limits_of_blocks() -> None:
    facts = tuple(Fact("n" * 500, "&" * 5_000) for _ in range(40))

    blocks = slack.body(sending(text="&" * 9_000, facts=facts))["attachments"][0]["blocks"]

    texts = [block["text"]["text"] for block in blocks if "text" in block]
    fields = [field["text"] for block in blocks for field in block.get("fields", [])]
    assert max(map(len, texts)) <= 3_000
    assert len(fields) <= 10
    assert max(map(len, fields)) <= 2_000


def test_a_slack_bot_writes_one_message_and_changes_it(service: StartService, settings: Settings) -> None:
    peer = service(says(200, POSTED))
    settings.SLACK_URL = peer.url

    first = SlackBot().deliver(BOT, sending())
    assert isinstance(first, Accepted)
    SlackBot().deliver(BOT, sending(Kind.RESOLVE, handle=first.handle))

    assert [seen.path for seen in peer.seen] == ["/chat.postMessage", "/chat.update"]
    assert (peer.seen[1].json["channel"], peer.seen[1].json["ts"]) == ("C024BE91L", "17.3")
    assert peer.seen[0].headers["authorization"] == f"Bearer {BOT['token']}"


@pytest.mark.parametrize("error", ["message_not_found", "cant_update_message", "edit_window_closed"])
def test_a_slack_bot_begins_anew_where_its_message_is_gone(
    error: str, service: StartService, settings: Settings
) -> None:
    settings.SLACK_URL = service(says(200, {"ok": False, "error": error})).url

    outcome = SlackBot().deliver(BOT, sending(Kind.UPDATE, handle="C024BE91L/17.3"))

    assert isinstance(outcome, RetryAt)
    assert (outcome.forgets, outcome.seconds) == (True, 0)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("invalid_auth", Final),
        ("token_revoked", Final),
        ("channel_not_found", Final),
        ("not_in_channel", Final),
        ("something_new", Final),
        ("ratelimited", RetryAt),
        ("service_unavailable", RetryAt),
        ("internal_error", Unknown),
        ("fatal_error", Unknown),
    ],
)
def test_errors_of_slacks_api(error: str, expected: type, service: StartService, settings: Settings) -> None:
    settings.SLACK_URL = service(says(200, {"ok": False, "error": error})).url

    assert isinstance(SlackBot().deliver(BOT, sending()), expected)


def test_google_chat_keeps_an_incident_in_one_thread(service: StartService) -> None:
    peer = service(says(200, {"name": "spaces/A/messages/B"}))
    kind = google_chat.GoogleChat()

    for message in (Kind.TRIGGER, Kind.RESOLVE):
        kind.deliver({"url": f"{peer.url}/v1/spaces/A/messages?key=k&token=t"}, sending(message))

    assert {seen.json["thread"]["threadKey"] for seen in peer.seen} == {"shardwatch-abc"}
    assert "messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD" in peer.seen[0].path
    assert "requestId=shardwatch-abc-1" in peer.seen[0].path
    assert "key=k&token=t" in peer.seen[0].path


def test_google_chat_can_be_made_to_mention_nobody() -> None:
    request = google_chat.GoogleChat().request({"url": "https://x/?a=b"}, sending(title="<users/all> down"))

    assert b"<users" not in request.content


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("1", Accepted),
        ("", Accepted),
        ("Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 x", RetryAt),
        ("Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 502 x", Unknown),
        ("Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 403 x", Final),
        ("Summary or Text is required.", Final),
    ],
)
def test_teams_hides_errors_in_a_200(said: str, expected: type, service: StartService) -> None:
    assert isinstance(Teams().deliver({"url": service(says(200, said)).url}, sending()), expected)


def test_teams_gets_a_card_with_links() -> None:
    card = teams.card(sending())

    assert card["type"] == "AdaptiveCard"
    assert [action["url"] for action in card["actions"]] == [
        "https://watch.example.org/incidents/1/",
        "https://runbooks.example.org/down",
    ]
    assert card["body"][0]["style"] == "attention"


def hook(**given: Any) -> dict[str, Any]:
    return {"url": "https://example.org/", "format": "shardwatch", "secret": "", "authorization": "", **given}


def test_a_webhook_is_signed_with_the_time(service: StartService) -> None:
    peer, secret = service(says(200)), "a-secret-of-16-characters"

    Webhook().deliver(hook(url=peer.url, secret=secret), sending())

    seen = peer.seen[0]
    at, identity = seen.headers["webhook-timestamp"], seen.headers["webhook-id"]
    mac = hmac.new(secret.encode(), f"{identity}.{at}.".encode() + seen.body, hashlib.sha256).digest()
    assert seen.headers["webhook-signature"] == f"v1,{base64.b64encode(mac).decode()}"
    assert abs(time.time() - int(at)) < 60


def test_a_webhook_without_a_secret_is_not_signed() -> None:
    headers = Webhook().request(hook(), sending()).headers

    assert "webhook-signature" not in headers
    assert headers["webhook-id"] == "shardwatch-abc-1"


def test_a_webhook_tells_its_version_and_everything_else() -> None:
    body = webhook.own_body(sending(Kind.RESOLVE))

    assert (body["version"], body["kind"], body["incident"]["key"]) == (1, "resolve", "shardwatch-abc")
    assert list(body["message"]["facts"]) == [
        {"name": "Node", "value": "10.0.0.1:6379"},
        {"name": "Value", "value": "0 of 1"},
    ]


@pytest.mark.parametrize(
    ("kind", "status", "end"),
    [(Kind.TRIGGER, "firing", "0001-01-01T00:00:00Z"), (Kind.RESOLVE, "resolved", AT.isoformat())],
)
def test_a_webhook_can_speak_as_alertmanager_does(kind: Kind, status: str, end: str) -> None:
    body = webhook.alertmanager_body(sending(kind, labels={"alertname": "NodeDown", "env": "prod"}))

    alert = body["alerts"][0]
    assert (body["version"], body["status"], alert["status"], alert["endsAt"]) == ("4", status, status, end)
    assert alert["labels"]["alertname"] == "NodeDown"
    assert alert["labels"]["env"] == "prod"
    assert set(body) == {
        "version",
        "groupKey",
        "truncatedAlerts",
        "status",
        "receiver",
        "groupLabels",
        "commonLabels",
        "commonAnnotations",
        "externalURL",
        "alerts",
    }


def test_alertmanager_sees_one_alert_from_first_to_last() -> None:
    first = alertmanager.alert(sending(labels={"env": "prod"}))
    handle = alertmanager.remembered(first["labels"])

    last = alertmanager.alert(sending(Kind.RESOLVE, handle=handle, severity="warning", labels={"env": "other"}))

    assert first["labels"] == last["labels"]
    assert first["startsAt"] == last["startsAt"]
    assert last["endsAt"] == AT.isoformat()


def test_alertmanager_does_not_take_a_long_incident_for_over() -> None:
    assert alertmanager.alert(sending())["endsAt"] > "2027-02"


@pytest.mark.parametrize(
    ("name", "cleaned"), [("env", "env"), ("my.label-x", "my_label_x"), ("7z", "_7z"), ("日本", "__"), ("", "_")]
)
def test_alertmanager_gets_names_that_it_allows(name: str, cleaned: str) -> None:
    assert alertmanager.clean(name) == cleaned


def test_labels_that_are_too_many_are_left_out_of_alertmanager() -> None:
    labels = alertmanager.identity(sending(labels={f"label{number}": "x" * 50 for number in range(50)}))

    assert set(labels) == {"alertname", "incident", "severity"}


def test_mails_of_one_incident_are_one_thread() -> None:
    last = replace(sending(Kind.RESOLVE), id="shardwatch-abc-2", sequence=2)

    first, second = (email.letter(["a@example.org"], one).message() for one in (sending(), last))

    assert first["Message-ID"] == second["References"] == second["In-Reply-To"] == "<shardwatch-abc@shardwatch>"
    assert second["Message-ID"] == "<shardwatch-abc-2@shardwatch>"
    assert first["Subject"] == second["Subject"]


def test_a_mail_has_text_and_html() -> None:
    outcome = Email().deliver({"to": ["a@example.org", "b@example.org"]}, sending(text="1 < 2 & <b>日本</b>"))

    (sent,) = mail.outbox
    _whole, text, html = sent.message().walk()
    assert isinstance(outcome, Accepted)
    assert sent.to == ["a@example.org", "b@example.org"]
    assert b"1 < 2 & <b>" in bytes(text.get_payload(decode=True))
    assert "1 &lt; 2 &amp; &lt;b&gt;日本&lt;/b&gt;".encode() in bytes(html.get_payload(decode=True))


def test_no_text_breaks_out_of_the_subject() -> None:
    Email().deliver({"to": ["a@example.org"]}, sending(title="down\r\nBcc: evil@example.org"))

    assert mail.outbox[0].message()["Bcc"] is None
    assert "\n" not in mail.outbox[0].subject


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("a@example.org", ["a@example.org"]),
        ("a@example.org, b@example.org;c@example.org", ["a@example.org", "b@example.org", "c@example.org"]),
        ("a@example.org\na@example.org,", ["a@example.org"]),
    ],
)
def test_recipients_may_be_written_in_many_ways(given: str, found: list[str]) -> None:
    form = email.EmailForm({"to": given})

    assert form.is_valid()
    assert form.cleaned_data["to"] == found


@pytest.mark.parametrize("given", ["", "nobody", "a@example.org b", ",".join(f"a{n}@example.org" for n in range(21))])
def test_what_is_no_recipient_is_refused(given: str) -> None:
    assert not email.EmailForm({"to": given}).is_valid()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kind.TRIGGER, "Critical: x"),
        (Kind.UPDATE, "Update: x"),
        (Kind.ACKNOWLEDGE, "Acknowledged: x"),
        (Kind.RESOLVE, "Resolved: x"),
    ],
)
def test_headlines_say_how_it_stands(kind: Kind, words: str) -> None:
    assert wording.headline(sending(kind, title="x")) == words


def test_a_plain_text_has_all_parts() -> None:
    text = wording.plain(sending())

    assert text.splitlines() == [
        "Critical: game-cache: node-1 does not answer",
        "",
        "No answer since 12:00.",
        "",
        "Node: 10.0.0.1:6379",
        "Value: 0 of 1",
        "",
        "Open in Shardwatch: https://watch.example.org/incidents/1/",
        "Run book: https://runbooks.example.org/down",
    ]


TRICKY = 'say "no"}, {title} \\ \n{'


def own(body: str, **given: Any) -> Any:
    settings = {"url": "https://example.org/", "body": body, "authorization": ""}
    return orjson.loads(own_json.OwnJson().request(settings, sending(**given)).content)


def test_a_body_of_ones_own_is_filled_in_at_every_depth() -> None:
    assert own('{"a": [{"b": "{headline} / {kind}"}, 7, null], "severity": "{severity}"}') == {
        "a": [{"b": "Critical: game-cache: node-1 does not answer / trigger"}, 7, None],
        "severity": "critical",
    }


def test_what_is_filled_in_stays_text() -> None:
    assert own('{"text": "{title}: {text}"}', title=TRICKY, text=TRICKY) == {"text": f"{TRICKY}: {TRICKY}"}


def test_every_place_is_filled_in() -> None:
    said = own(orjson.dumps([f"{{{name}}}" for name in own_json.PLACES]).decode())

    assert not [text for text in said if text.startswith("{")]
    assert "shardwatch-abc" in said


def test_what_is_filled_in_is_cut() -> None:
    assert len(own('{"text": "{all}"}', text="日" * 9_000)["text"]) == own_json.LONG


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("text", "This is no JSON"),
        ('{"text": {all}}', "This is no JSON"),
        ('"{all}"', "Give an object"),
        ('{"text": "{everything}"}', "There is no place everything"),
        ("", "required"),
        ('{"text": "' + "x" * 4_000 + '"}', "at most 4000"),
        ("[" * 300 + "]" * 300, "This is no JSON"),
    ],
    ids=["words", "no quotes", "a text", "unknown place", "nothing", "too long", "too deep"],
)
def test_a_body_that_cannot_be_sent_is_refused(body: str, words: str) -> None:
    form = own_json.OwnJsonForm({"url": "https://example.org/", "body": body})

    assert words in str(form.errors["body"])


@pytest.mark.parametrize("kind", [webhook.Webhook, own_json.OwnJson, alertmanager.Alertmanager])
def test_a_header_is_one_line(kind: type[ChannelKind]) -> None:
    assert "authorization" in kind.form({"authorization": "Bearer a\r\nX-Other: b"}).errors
    assert "authorization" not in kind.form({"authorization": "Bearer a.b+c/d=="}).errors


def test_the_long_tail_is_not_for_paging() -> None:
    assert [name for name, kind in KINDS.items() if not kind.can_page] == ["own_json", "apprise"]
