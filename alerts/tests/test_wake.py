"""The sender is woken by Celery, and needs none of it."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from celery import current_app
from django.db import connection, transaction

from alerts import outbox, sender, tasks
from alerts.models import Delivery, Kind
from alerts.outbox import QUEUE
from alerts.tests import peers
from alerts.tests.cast import channel, closed, message, opened, states
from alerts.tests.peers import Service
from config.celery import app
from launcher import processes
from launcher.checkout import ROOT


def test_a_process_takes_what_is_woken() -> None:
    beat = app.conf.beat_schedule["send-due"]

    assert beat["task"] == tasks.send_due.name
    assert beat["options"]["queue"] == QUEUE
    assert f"-Q {QUEUE} " in processes.COMMANDS["sender"]


def test_a_broker_that_is_away_is_no_error() -> None:
    env = {**os.environ, "CELERY_BROKER_URL": f"redis://127.0.0.1:{peers.closed_port()}", "PYTHONPATH": str(ROOT)}
    script = "import django; django.setup(); from alerts import outbox; outbox.wake(); print('went on')"
    env["DJANGO_SETTINGS_MODULE"] = "config.settings"

    done = subprocess.run([sys.executable, "-P", "-c", script], env=env, capture_output=True, text=True, timeout=120)

    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert "The broker is away" in done.stderr


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_lost_its_wake_ups_loses_no_page(pagerduty: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "QUEUE", "flushed")
    incident = opened(channel())

    with current_app.connection_for_write() as broker, broker.SimpleQueue("flushed") as waiting:
        assert waiting.clear() == 1
    # What beat does before long.
    tasks.send_due()

    assert states(incident) == [("trigger", "accepted")]


@pytest.mark.django_db(transaction=True)
def test_what_is_not_committed_is_not_sent(pagerduty: Service) -> None:
    pager = channel()
    with transaction.atomic():
        opened(pager)
        with ThreadPoolExecutor(1) as other:
            made = other.submit(drained).result()

    assert made == 0
    assert drained() == 1


@pytest.mark.django_db(transaction=True)
def test_senders_at_once_send_everything_once(pagerduty: Service) -> None:
    pager = channel()
    found = [closed(opened(pager, subject=f"{number}")) for number in range(20)]
    together = threading.Barrier(4)

    def act() -> int:
        together.wait()
        return drained()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: act(), range(4)))
    drained()

    sent = [(seen.json["dedup_key"], seen.json["event_action"]) for seen in pagerduty.seen]
    assert sorted(sent) == sorted((one.dedup_key, act) for one in found for act in ("trigger", "resolve"))
    for one in found:
        assert sent.index((one.dedup_key, "trigger")) < sent.index((one.dedup_key, "resolve"))


@pytest.mark.django_db(transaction=True)
def test_two_senders_want_one_row_and_one_gets_it() -> None:
    opened(channel())
    together = threading.Barrier(2)

    def act() -> int:
        together.wait()
        try:
            return len(outbox.claim(8))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        got = list(pool.map(lambda _: act(), range(2)))

    assert sorted(got) == [0, 1]
    assert Delivery.objects.get().attempts == 1


@pytest.mark.django_db(transaction=True)
def test_messages_of_one_incident_are_numbered_in_the_order_of_their_commits() -> None:
    pager = channel()
    incident = opened(pager)

    def add(_: int) -> int:
        try:
            return outbox.enqueue(incident, Kind.ACKNOWLEDGE, message())
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(add, range(12)))

    assert sorted(numbers) == list(range(2, 14))


def drained() -> int:
    """Drain on a connection of this thread's own."""
    try:
        return sender.drain()
    finally:
        if threading.current_thread() is not threading.main_thread():
            connection.close()
