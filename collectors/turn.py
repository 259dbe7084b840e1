"""Whose turn it is to look at a cache beside its polls: one at a time, and not again at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

# A cache is not looked at again so soon, however often somebody asks.
PAUSE = timedelta(seconds=10)


class Turn(models.Model):
    """When somebody last began to look: claimed by a conditional UPDATE. Its key is the cache."""

    cache_id: int
    begun_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.cache_id} since {self.begun_at:%H:%M:%S}"

    @classmethod
    @contextmanager
    def taken(cls, cache_id: int, seconds: float) -> Iterator[bool]:
        """Hold the turn while the block runs; yield False where another has it, or just had.

        Whoever does not end within twice the `seconds` that a look may take is lost.
        """
        if not cls._begin(cache_id, seconds):
            yield False
            return
        try:
            yield True
        finally:
            cls._default_manager.filter(pk=cache_id).update(ended_at=timezone.now())

    @classmethod
    def _begin(cls, cache_id: int, seconds: float) -> bool:
        now, turns = timezone.now(), cls._default_manager
        _turn, is_first = turns.get_or_create(pk=cache_id, defaults={"begun_at": now})
        is_over = Q(ended_at__gte=F("begun_at"), begun_at__lt=now - PAUSE)
        is_lost = Q(begun_at__lt=now - 2 * timedelta(seconds=seconds))
        free = turns.filter(is_over | is_lost, pk=cache_id)
        return is_first or free.update(begun_at=now, ended_at=None) == 1
