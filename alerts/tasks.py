"""Doors from Celery into the outbox."""

from celery import shared_task

from alerts import sender


@shared_task
def send_due() -> None:
    sender.send_due()
