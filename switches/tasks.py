"""Doors from Celery into what switches need beside requests."""

from celery import shared_task
from django.utils import timezone

from switches import admission, looks, schedules
from switches.models import Instance

LOOK_SECONDS = 5.0


@shared_task
def keep() -> None:
    schedules.keep(timezone.now())
    admission.keep(timezone.now())
    Instance.objects.forget(timezone.now())


@shared_task
def look_at_drained() -> None:
    for switch_id in looks.due(timezone.now()):
        look_at.apply_async((switch_id,), expires=LOOK_SECONDS)


@shared_task
def look_at(switch_id: int) -> None:
    looks.look(switch_id)
