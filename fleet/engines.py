"""Server kinds and what each can do; templates and rules ask for abilities, never for a name."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Engine(models.TextChoices):
    UNKNOWN = "", _("not known yet")
    REDIS = "redis", "Redis"
    VALKEY = "valkey", "Valkey"
    MEMCACHED = "memcached", "Memcached"


def supports_replication(engine: str) -> bool:
    return engine != Engine.MEMCACHED
