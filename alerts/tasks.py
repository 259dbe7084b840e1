"""Doors from Celery into the judging of rules and the outbox."""

from celery import shared_task

from alerts import change_events, database_clock, guards, retention, sender, telling
from alerts import evaluate as judging
from alerts import heartbeat as pulse
from alerts import self_tests as synthetic


@shared_task
def evaluate(cache_ids: list[int], tick: int) -> None:
    judging.evaluate(cache_ids, tick)


@shared_task
def sweep() -> None:
    telling.sweep(database_clock.now())


@shared_task
def watch_switches() -> None:
    guards.watch(database_clock.now())


@shared_task
def self_tests() -> None:
    synthetic.run(database_clock.now())


@shared_task
def heartbeat() -> None:
    pulse.beat()


@shared_task
def tell_changes() -> None:
    change_events.tell(database_clock.now())


@shared_task
def send_due() -> None:
    sender.send_due()


@shared_task
def forget_old() -> None:
    retention.forget_old(database_clock.now())
