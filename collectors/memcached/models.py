"""What is kept of MySQL's InnoDB memcached plugin."""

from django.db import models

from fleet.models import Cache
from fleet.secrets import SecretField


class MysqlPlugin(models.Model):
    """The MySQL behind a Memcached that is its plugin: how to reach it, and its settings as they were last read."""

    cache = models.OneToOneField(Cache, on_delete=models.CASCADE, primary_key=True, related_name="mysql_plugin")
    # mysqls://user:password@host:port, without TLS mysql://
    dsn = SecretField()
    # Whether the address asks for TLS: it is encrypted itself, and pages tell this without opening it.
    is_encrypted = models.BooleanField(default=False)
    ca_bundle = models.TextField(blank=True, default="")
    check_hostname = models.BooleanField(default=True)
    read_at = models.DateTimeField(null=True)
    # Why the last attempt failed, in MySQL's or the system's words; "" where it did not.
    failed_words = models.CharField(max_length=200, blank=True)
    variables = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.cache}: {self.failed_words or len(self.variables)}"
