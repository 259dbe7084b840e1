"""Telling others that samples have landed, without knowing who they are.

Whoever judges samples names its task in settings; the message says only which caches have news and of which
tick. Where the broker is away nobody is told: the next poll tells again, and a sweep finds what was missed.
"""

import logging
from collections.abc import Collection

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)


def announce(cache_ids: Collection[int], tick: int) -> None:
    """Say that caches have news of a tick: answers, or nodes that did not answer."""
    if not (cache_ids and settings.LANDED_TASK):
        return
    arguments = (sorted(cache_ids), tick)
    try:
        current_app.send_task(
            settings.LANDED_TASK,
            arguments,
            queue=settings.LANDED_QUEUE,
            expires=settings.POLL_INTERVAL_SECONDS * 4,
            ignore_result=True,
            retry=False,
        )
    except OperationalError as error:
        logger.warning("The broker is away; nobody hears of the samples of tick %d: %s", tick, type(error).__name__)
