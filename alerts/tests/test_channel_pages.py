import re

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import AuditEntry, Role
from accounts.tests.cast import client_of
from alerts import channel_changes, sender
from alerts.models import Channel, Delivery, Incident, Route
from alerts.tests.cast import KEY, channel, closed, opened, states
from alerts.tests.conftest import StartService
from alerts.tests.peers import Service, says

pytestmark = pytest.mark.django_db
OTHER_KEY = "f" * 32


def stored(name: str = "on-call") -> dict[str, object]:
    return channel_changes.stored_settings(Channel.objects.get(name=name))


def page(client: Client, address: str = "/channels/") -> str:
    return client.get(address).content.decode()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_channels_are_for_administrators(role: Role) -> None:
    made, client = channel(), client_of(role)

    addresses = ["/channels/", f"/channels/{made.pk}/", f"/channels/{made.pk}/edit/", "/channels/new/slack/"]
    assert {client.get(address).status_code for address in addresses} == {403}
    acts = ("test", "mend", "delete")
    assert {client.post(f"/channels/{made.pk}/{act}/").status_code for act in acts} == {403}


def test_it_says_that_nobody_is_told_without_a_channel() -> None:
    assert "nobody is told" in page(client_of(Role.ADMIN))


@pytest.mark.parametrize("path", ["/channels/", "/channels/new/slack/", "/channels/{pk}/edit/"])
@pytest.mark.parametrize(("address", "is_told"), [("", True), ("https://watch.example.org", False)])
def test_it_says_that_messages_have_no_links(path: str, address: str, is_told: bool, settings: Settings) -> None:
    settings.PUBLIC_URL = address

    seen = page(client_of(Role.ADMIN), path.format(pk=channel().pk))

    assert ("SHARDWATCH_PUBLIC_URL is not set" in seen) == is_told
    assert ("(here: http://testserver)" in seen) == is_told


def test_what_has_just_begun_to_wait_waits_for_seconds() -> None:
    waiting = channel()
    opened(waiting)

    for seen in (page(client_of(Role.ADMIN)), page(client_of(Role.ADMIN), f"/channels/{waiting.pk}/")):
        assert re.search(r"1 <span class=\"soft\">for <time [^>]+>\d+ s</time>", seen)
        assert "0\xa0minutes" not in seen


def test_it_adds_a_channel_and_notes_it() -> None:
    client = client_of(Role.ADMIN)

    answer = client.post("/channels/new/pagerduty/", {"name": "on-call", "routing_key": KEY}, follow=True)

    assert answer.status_code == 200
    assert stored() == {"routing_key": KEY, "changes": [], "webhook_secret": ""}
    assert AuditEntry.objects.get(action="channel.add").detail == {"kind": "pagerduty"}


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("pagerduty", {"name": "x", "routing_key": "short"}, "32 letters and digits"),
        ("pagerduty", {"name": "", "routing_key": KEY}, "required"),
        ("pagerduty", {"name": "taken", "routing_key": KEY}, "already exists"),
        ("slack", {"name": "x", "url": "ftp://x"}, "begins with https://"),
        ("slack", {"name": "x", "url": "https://u:p@x/"}, "Leave user and password out"),
        ("slack_bot", {"name": "x", "token": "nonsense", "channel": "C024BE91L"}, "valid value"),
        ("email", {"name": "x", "to": "nobody"}, "valid email"),
        ("webhook", {"name": "x", "url": "https://x", "format": "other"}, "valid choice"),
        ("webhook", {"name": "x", "url": "https://x", "format": "shardwatch", "secret": "short"}, "at least 16"),
    ],
)
def test_it_says_what_is_wrong(kind: str, given: dict[str, str], words: str) -> None:
    channel("taken")

    answer = client_of(Role.ADMIN).post(f"/channels/new/{kind}/", given)

    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert Channel.objects.count() == 1


def test_an_unknown_kind_is_not_there() -> None:
    assert client_of(Role.ADMIN).get("/channels/new/pigeon/").status_code == 404


def test_secrets_are_never_shown() -> None:
    made = channel(
        "hook", "webhook", url="https://x.example.org", format="shardwatch", secret="s" * 20, authorization=KEY
    )
    client = client_of(Role.ADMIN)

    for address in ("/channels/", f"/channels/{made.pk}/", f"/channels/{made.pk}/edit/"):
        shown = page(client, address)
        assert "s" * 20 not in shown
        assert KEY not in shown
    assert "https://x.example.org" in page(client, f"/channels/{made.pk}/")


def test_a_secret_that_is_wrong_does_not_come_back() -> None:
    answer = client_of(Role.ADMIN).post("/channels/new/pagerduty/", {"name": "x", "routing_key": "verysecretkey"})

    assert "verysecretkey" not in answer.content.decode()


def test_an_empty_secret_keeps_the_stored_one() -> None:
    made = channel("on-call")

    client_of(Role.ADMIN).post(f"/channels/{made.pk}/edit/", {"name": "on-call", "routing_key": "", "revision": 1})

    assert stored() == {"routing_key": KEY, "changes": [], "webhook_secret": ""}


def test_a_change_names_settings_but_no_values() -> None:
    made = channel("on-call")

    client_of(Role.ADMIN).post(
        f"/channels/{made.pk}/edit/", {"name": "on-call", "routing_key": OTHER_KEY, "revision": 1}
    )

    assert stored() == {"routing_key": OTHER_KEY, "changes": [], "webhook_secret": ""}
    assert AuditEntry.objects.get(action="channel.change").detail == {"settings": "routing_key"}


def test_two_people_do_not_overwrite_each_other() -> None:
    made, client = channel("on-call"), client_of(Role.ADMIN)
    form = {"name": "on-call", "routing_key": "", "revision": 1}
    client.post(f"/channels/{made.pk}/edit/", {**form, "name": "first"})

    answer = client.post(f"/channels/{made.pk}/edit/", {**form, "name": "second"})

    assert answer.status_code == 400
    assert Channel.objects.get().name == "first"


def test_a_channel_does_not_stand_in_for_itself() -> None:
    made = channel("on-call")

    answer = client_of(Role.ADMIN).post(
        f"/channels/{made.pk}/edit/", {"name": "on-call", "fallback": made.pk, "revision": 1}
    )

    assert answer.status_code == 400


def test_a_test_takes_the_road_of_real_pages(pagerduty: Service) -> None:
    made, client = channel("on-call"), client_of(Role.ADMIN)

    client.post(f"/channels/{made.pk}/test/")
    sender.drain()

    assert [seen.json["event_action"] for seen in pagerduty.seen] == ["trigger", "resolve"]
    assert "Test of the channel on-call" in pagerduty.seen[0].json["payload"]["summary"]
    shown = page(client, f"/channels/{made.pk}/")
    assert "works" in shown
    assert "HTTP 202" in shown


def test_a_test_tells_what_the_service_said(service: StartService) -> None:
    made = channel("hook", "webhook", url=service(says(403, "wrong key")).url, format="shardwatch")
    client = client_of(Role.ADMIN)

    client.post(f"/channels/{made.pk}/test/")
    sender.drain()

    shown = page(client, f"/channels/{made.pk}/")
    assert "broken" in shown
    assert "did not accept the key" in shown
    assert "wrong key" in shown


def test_a_channel_that_never_worked_says_why(service: StartService) -> None:
    made = channel("hook", "webhook", url=service(says(503)).url, format="shardwatch")

    opened(made)
    sender.drain()

    shown = page(client_of(Role.ADMIN))
    assert "not proven" in shown
    assert "not available at the moment (HTTP 503)" in shown


def test_channels_are_listed_by_name() -> None:
    for name in ("b", "a", "c"):
        channel(name)

    shown = page(client_of(Role.ADMIN))

    assert shown.index(">a</a>") < shown.index(">b</a>") < shown.index(">c</a>")


def test_it_names_the_routes_that_lead_here_or_says_that_there_is_none() -> None:
    made, client = channel(), client_of(Role.ADMIN)
    address = f"/channels/{made.pk}/"

    assert "no alert goes to this channel" in page(client, address)

    Route.objects.create(name="night shift").channels.add(made)

    assert "night shift" in page(client, address)
    assert "no alert goes to this channel" not in page(client, address)


def test_a_choice_among_the_settings_is_told_by_its_name() -> None:
    made = channel(kind="webhook", url="https://hooks.example.org/x", format="shardwatch")

    seen = page(client_of(Role.ADMIN), f"/channels/{made.pk}/")

    assert "Shardwatch&#x27;s own JSON" in seen


def test_it_follows_the_messages_by_itself() -> None:
    made = channel()

    seen = page(client_of(Role.ADMIN), f"/channels/{made.pk}/")

    assert f'hx-get="/channels/{made.pk}/"' in seen
    assert 'hx-select="#live"' in seen


def test_a_second_test_ends_the_first() -> None:
    made, client = channel("on-call"), client_of(Role.ADMIN)

    client.post(f"/channels/{made.pk}/test/")
    client.post(f"/channels/{made.pk}/test/")

    assert (Incident.objects.count(), Incident.objects.open().count()) == (2, 0)


def test_the_answer_of_a_service_is_shown_as_text(service: StartService) -> None:
    made = channel("hook", "webhook", url=service(says(400, "<script>alert(1)</script>")).url, format="shardwatch")

    opened(made)
    sender.drain()

    shown = page(client_of(Role.ADMIN), f"/channels/{made.pk}/")
    assert "<script>alert(1)" not in shown
    assert "&lt;script&gt;" in shown


def broken(made: Channel) -> Channel:
    Channel.objects.filter(pk=made.pk).update(broken_at=timezone.now(), broken_cause="gone", broken_words="404")
    return made


def test_a_mended_channel_tells_what_is_still_true(pagerduty: Service) -> None:
    made = broken(channel("on-call"))
    over, going_on = closed(opened(made, subject="a")), opened(made, subject="b")

    client_of(Role.ADMIN).post(f"/channels/{made.pk}/mend/")
    sender.drain()

    assert states(over) == [("trigger", "superseded"), ("resolve", "superseded")]
    assert states(going_on) == [("trigger", "accepted")]
    assert not Channel.objects.get().is_broken


def test_a_mended_channel_ends_what_it_began(pagerduty: Service) -> None:
    made = channel("on-call")
    incident = opened(made)
    sender.drain()
    broken(made)
    closed(incident)

    client_of(Role.ADMIN).post(f"/channels/{made.pk}/mend/")
    sender.drain()

    assert states(incident) == [("trigger", "accepted"), ("resolve", "accepted")]


def test_new_settings_mend_a_channel() -> None:
    made = broken(channel("on-call"))

    client_of(Role.ADMIN).post(
        f"/channels/{made.pk}/edit/", {"name": "on-call", "routing_key": OTHER_KEY, "revision": 1}
    )

    assert not Channel.objects.get().is_broken


def test_it_removes_a_channel_with_its_messages() -> None:
    made = channel("on-call")
    opened(made)

    client_of(Role.ADMIN).post(f"/channels/{made.pk}/delete/")

    assert (Channel.objects.count(), Delivery.objects.count(), Incident.objects.count()) == (0, 0, 1)
    assert AuditEntry.objects.get(action="channel.delete").target == "on-call"


def test_the_list_costs_the_same_for_any_number(django_assert_max_num_queries: object) -> None:
    client = client_of(Role.ADMIN)
    for number in range(10):
        opened(channel(f"c{number}"), subject=f"{number}")

    with django_assert_max_num_queries(8):  # type: ignore[operator]
        client.get("/channels/")
