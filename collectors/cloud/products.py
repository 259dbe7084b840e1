from django.db import models
from django.utils.translation import gettext_lazy as _


class Product(models.TextChoices):
    """A managed cache service of Google Cloud: resource names of several products have the same shape, so this is part
    of every key."""

    REDIS = "redis", _("Memorystore for Redis")
    REDIS_CLUSTER = "redis-cluster", _("Memorystore for Redis Cluster")
    VALKEY = "valkey", _("Memorystore for Valkey")
    MEMCACHED = "memcached", _("Memorystore for Memcached")
